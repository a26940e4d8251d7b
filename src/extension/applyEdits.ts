/** The server's edits in the editor, as one undoable change. */
import * as vscode from "vscode";
import type { EditsResult } from "../server/protocol";
import { t } from "./words";

/** What became of it, worded for the person. */
export interface Outcome {
  readonly ok: boolean;
  readonly message: string;
}

/** Applies the edits unless a document changed since they were made. */
export async function applyEdits(result: EditsResult): Promise<Outcome> {
  if (!result.ok) return { ok: false, message: result.message };
  for (const [uri, version] of Object.entries(result.versions)) {
    const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === normal(uri));
    if (open !== undefined && open.version !== version) {
      return { ok: false, message: t("fileChangedMeanwhile") };
    }
  }
  const edit = new vscode.WorkspaceEdit();
  const metadata: vscode.WorkspaceEditEntryMetadata = { label: result.title, needsConfirmation: false };
  for (const uri of result.create) {
    edit.createFile(vscode.Uri.parse(uri), { ignoreIfExists: true, overwrite: false }, metadata);
  }
  for (const { uri, range, newText } of result.edits) {
    const place = new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character);
    edit.replace(vscode.Uri.parse(uri), place, newText, metadata);
  }
  const applied = await vscode.workspace.applyEdit(edit);
  return applied ? { ok: true, message: t("applied", result.title) } : { ok: false, message: t("nothingApplied") };
}

/** Saves the documents that edits touched and that had no unsaved changes before; used for pins files. */
export async function saveEdited(result: EditsResult, dirtyBefore: ReadonlySet<string>): Promise<void> {
  if (!result.ok) return;
  for (const uri of new Set(result.edits.map((edit) => normal(edit.uri)))) {
    if (dirtyBefore.has(uri)) continue;
    const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === uri);
    await document?.save();
  }
}

/** URIs of documents with unsaved changes. */
export function dirtyDocuments(): ReadonlySet<string> {
  return new Set(vscode.workspace.textDocuments.filter(({ isDirty }) => isDirty).map(({ uri }) => uri.toString()));
}

function normal(uri: string): string {
  return vscode.Uri.parse(uri).toString();
}
