/** Documents as the extension looks at them: which are worth analysing, and the selector of the language client. */
import * as vscode from "vscode";
import { HEAD_LINES, LANGUAGES, mayBeConfig } from "./sniff";

/** Schemes that hold documents of their own (not diff sides or output), wherever the editor runs. */
const SCHEMES = ["file", "untitled", "vscode-vfs", "vscode-remote", "vscode-test-web", "vscode-userdata"];

/** Scheme of the cells of a notebook. */
const CELLS = "vscode-notebook-cell";

/** Schemes of this window: the usual ones and those of its workspace folders (any virtual file system). */
function schemes(): readonly string[] {
  const own = vscode.workspace.workspaceFolders?.map(({ uri }) => uri.scheme) ?? [];
  return [...new Set([...SCHEMES, ...own])];
}

/** Selector of the language client. */
export function documentSelector(): { scheme: string; language: string }[] {
  const files = schemes().flatMap((scheme) => LANGUAGES.map((language) => ({ scheme, language })));
  return [...files, { scheme: CELLS, language: "python" }];
}

/** Whether the document may be a training config, by a cheap look. */
export function looksLikeConfig(document: vscode.TextDocument): boolean {
  if (document.uri.scheme !== CELLS && !schemes().includes(document.uri.scheme)) return false;
  return mayBeConfig({
    path: document.uri.path,
    languageId: document.languageId,
    head: () => document.getText(new vscode.Range(0, 0, HEAD_LINES, 0)),
  });
}

/** The document a command acts on: the given one, else the current one. */
export function targetUri(argument: unknown, current: vscode.Uri | undefined): vscode.Uri | undefined {
  if (typeof argument === "string") return configUri(vscode.Uri.parse(argument));
  if (argument instanceof vscode.Uri) return configUri(argument);
  return current;
}

/** What the server calls the config that a document belongs to: the notebook of a cell, else the document. */
export function configUri(uri: vscode.Uri): vscode.Uri {
  if (uri.scheme !== CELLS) return uri;
  const own = (cell: vscode.NotebookCell) => cell.document.uri.toString() === uri.toString();
  return vscode.workspace.notebookDocuments.find((notebook) => notebook.getCells().some(own))?.uri ?? uri;
}

/** Name to show for a document: its path below the workspace folder. */
export function labelOf(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri, (vscode.workspace.workspaceFolders?.length ?? 0) > 1);
}
