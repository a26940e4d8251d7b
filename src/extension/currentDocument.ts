/**
 * The document the person is working on. While the panel, the output or a quick pick has the focus the editor has no
 * active text editor of its own; the document then stays the last one, as long as it can be seen.
 */
import * as vscode from "vscode";
import { configUri } from "./documents";
import { PREVIEW_SCHEME } from "./preview";

export class CurrentDocument implements vscode.Disposable {
  private last: vscode.Uri | undefined;
  private readonly emitter = new vscode.EventEmitter<vscode.Uri | undefined>();
  private readonly subscriptions: vscode.Disposable;

  /** Another document, or none. */
  readonly onDidChange = this.emitter.event;

  constructor() {
    this.last = active();
    this.subscriptions = vscode.Disposable.from(
      vscode.window.onDidChangeActiveTextEditor(() => this.update()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.update()),
      vscode.window.onDidChangeActiveNotebookEditor(() => this.update()),
      vscode.window.onDidChangeVisibleNotebookEditors(() => this.update()),
    );
  }

  get uri(): vscode.Uri | undefined {
    return this.last;
  }

  dispose(): void {
    this.subscriptions.dispose();
    this.emitter.dispose();
  }

  private update(): void {
    const next = active() ?? this.stillVisible();
    // From one cell of a notebook to another nothing changes.
    if (next?.toString() === this.last?.toString()) return;
    this.last = next;
    this.emitter.fire(next);
  }

  private stillVisible(): vscode.Uri | undefined {
    const { visibleTextEditors, visibleNotebookEditors } = vscode.window;
    const seen = [
      ...visibleTextEditors.map(({ document }) => configUri(document.uri)),
      ...visibleNotebookEditors.map(({ notebook }) => notebook.uri),
    ];
    return seen.some((uri) => uri.toString() === this.last?.toString()) ? this.last : undefined;
  }
}

/**
 * The config that is worked on. A cell's editor belongs to no editor group (its `viewColumn` is undefined), so a notebook is
 * asked for before text editors are.
 */
function active(): vscode.Uri | undefined {
  const editor = vscode.window.activeTextEditor;
  const notebook = vscode.window.activeNotebookEditor?.notebook.uri;
  if (notebook !== undefined && (editor === undefined || editor.viewColumn === undefined)) return notebook;
  return uriOf(editor);
}

/**
 * The document of an editor in an editor group; output, debug console and comment inputs belong to none. The changed
 * side of a preview stands for the document it is a preview of.
 */
function uriOf(editor: vscode.TextEditor | undefined): vscode.Uri | undefined {
  if (editor?.viewColumn === undefined || editor.document.uri.scheme === PREVIEW_SCHEME) return undefined;
  return configUri(editor.document.uri);
}
