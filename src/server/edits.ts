/** The analysis's edits as LSP workspace edits: versioned, and annotated where a person should look first. */
import type { ChangeAnnotation, TextDocumentEdit, TextEdit, WorkspaceEdit } from "vscode-languageserver";
import type { ReportEdit } from "../core/report/schema";
import { type Locale, text } from "./text";

/** What the client can do with workspace edits. */
export interface EditSupport {
  readonly documentChanges: boolean;
  readonly changeAnnotations: boolean;
}

export interface EditContext {
  /** The document the person is in; edits elsewhere ask for confirmation. */
  readonly uri: string;
  readonly label: string;
  /** Whether the optimisation stays what it is; otherwise the edit asks for confirmation. */
  readonly safe: boolean;
  /** Version of an open document, null when it is not open. */
  readonly versionOf: (uri: string) => number | null;
  readonly support: EditSupport;
  readonly locale: Locale;
}

/** One workspace edit over all documents, in a stable order: the person's own document first. */
export function workspaceEdit(edits: readonly ReportEdit[], context: EditContext): WorkspaceEdit {
  const byUri = new Map<string, ReportEdit[]>([[context.uri, []]]);
  for (const edit of edits) byUri.set(edit.uri, [...(byUri.get(edit.uri) ?? []), edit]);
  const documents = [...byUri].filter(([, own]) => own.length > 0);
  if (!context.support.documentChanges) {
    return { changes: Object.fromEntries(documents.map(([uri, own]) => [uri, own.map(plainEdit)])) };
  }
  const annotations = new Map<string, ChangeAnnotation>();
  const documentChanges = documents.map(([uri, own]): TextDocumentEdit => {
    const annotationId = context.support.changeAnnotations ? annotate(annotations, uri, context) : undefined;
    return {
      textDocument: { uri, version: context.versionOf(uri) },
      edits: own.map((edit) => (annotationId === undefined ? plainEdit(edit) : { ...plainEdit(edit), annotationId })),
    };
  });
  return {
    documentChanges,
    ...(annotations.size > 0 ? { changeAnnotations: Object.fromEntries(annotations) } : {}),
  };
}

function annotate(annotations: Map<string, ChangeAnnotation>, uri: string, context: EditContext): string | undefined {
  const elsewhere = uri !== context.uri;
  if (context.safe && !elsewhere) return undefined;
  const id = elsewhere ? "other-file" : "changes-result";
  annotations.set(id, {
    label: text(context.locale, elsewhere ? "otherFile" : "changesResult"),
    description: context.label,
    needsConfirmation: true,
  });
  return id;
}

function plainEdit(edit: ReportEdit): TextEdit {
  return { range: edit.range, newText: edit.newText };
}

/** Order of two places in a text. */
export function comparePositions(
  a: { readonly line: number; readonly character: number },
  b: { readonly line: number; readonly character: number },
): number {
  return a.line - b.line || a.character - b.character;
}

/** Whether two edits of one document touch each other's text (two insertions at one place do). */
export function overlaps(a: ReportEdit, b: ReportEdit): boolean {
  if (a.uri !== b.uri) return false;
  if (comparePositions(a.range.start, b.range.start) === 0) return true;
  return comparePositions(a.range.start, b.range.end) < 0 && comparePositions(b.range.start, a.range.end) < 0;
}
