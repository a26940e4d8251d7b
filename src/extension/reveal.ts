/** Shows a place of a document, beside what asks for it. */
import * as vscode from "vscode";
import type { Range } from "../core/report/schema";
import { configUri } from "./documents";

/** @param asking the column that the document is not to cover */
export async function reveal(uri: vscode.Uri, range: Range, asking: vscode.ViewColumn | undefined): Promise<void> {
  const selection = new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character);
  const visible = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri.toString());
  const other = vscode.window.visibleTextEditors.find(({ viewColumn }) => viewColumn !== asking);
  const viewColumn = visible?.viewColumn ?? other?.viewColumn ?? vscode.ViewColumn.One;
  // A cell is shown in its notebook, which only this command knows.
  if (configUri(uri) === uri) await vscode.window.showTextDocument(uri, { selection, viewColumn });
  else await vscode.commands.executeCommand("vscode.open", uri, { selection, viewColumn });
}
