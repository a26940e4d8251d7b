/**
 * The document the person is working on. While the panel, the output or a quick pick has the focus the editor has no
 * active text editor of its own; the document then stays the last one, as long as it can be seen.
 */
import * as vscode from "vscode";
import { configUri } from "./documents";
import { PREVIEW_SCHEME } from "./preview";

export class CurrentDocument implements vscode.Disposable {
  private last: vscode.TextDocument | undefined;
  private readonly emitter = new vscode.EventEmitter<vscode.Uri | undefined>();
  private readonly subscriptions: vscode.Disposable;

  /** Another document, or none. */
  readonly onDidChange = this.emitter.event;

  constructor() {
    this.last = documentOf(vscode.window.activeTextEditor);
    this.subscriptions = vscode.Disposable.from(
      vscode.window.onDidChangeActiveTextEditor(() => this.update()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.update()),
    );
  }

  get uri(): vscode.Uri | undefined {
    return this.last === undefined ? undefined : configUri(this.last.uri);
  }

  dispose(): void {
    this.subscriptions.dispose();
    this.emitter.dispose();
  }

  private update(): void {
    const next = documentOf(vscode.window.activeTextEditor) ?? this.stillVisible();
    if (next === this.last) return;
    const before = this.uri?.toString();
    this.last = next;
    // From one cell of a notebook to another nothing changes.
    if (this.uri?.toString() !== before) this.emitter.fire(this.uri);
  }

  private stillVisible(): vscode.TextDocument | undefined {
    return vscode.window.visibleTextEditors.some(({ document }) => document === this.last) ? this.last : undefined;
  }
}

/**
 * The document of an editor in an editor group; output, debug console and comment inputs belong to none. The changed
 * side of a preview stands for the document it is a preview of.
 */
function documentOf(editor: vscode.TextEditor | undefined): vscode.TextDocument | undefined {
  if (editor?.viewColumn === undefined || editor.document.uri.scheme === PREVIEW_SCHEME) return undefined;
  return editor.document;
}
