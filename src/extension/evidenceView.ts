/** The webview that shows what really happened: made here, filled by whoever owns it. */
import * as vscode from "vscode";
import type { EvidenceToHost, HostToEvidence } from "../server/evidenceProtocol";
import { makeNonce, panelHtml } from "./panelHtml";

/** Where the page's own files lie. */
function dist(context: vscode.ExtensionContext): vscode.Uri {
  return vscode.Uri.joinPath(context.extensionUri, "dist");
}

export function evidenceOptions(context: vscode.ExtensionContext): vscode.WebviewOptions {
  return { enableScripts: true, localResourceRoots: [dist(context)] };
}

/** One page of evidence; it gets the newest message as often as it asks for it. */
export class EvidenceView implements vscode.Disposable {
  private readonly subscription: vscode.Disposable;
  private newest: HostToEvidence | undefined;
  private isReady = false;

  /** @param act does what the page asks for */
  constructor(
    context: vscode.ExtensionContext,
    private readonly view: vscode.WebviewPanel,
    title: string,
    act: (message: EvidenceToHost) => void,
  ) {
    const { webview } = view;
    webview.options = evidenceOptions(context);
    this.subscription = webview.onDidReceiveMessage((message: EvidenceToHost) => {
      if (message.type !== "ready") return act(message);
      this.isReady = true;
      if (this.newest !== undefined) void webview.postMessage(this.newest);
    });
    const at = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(dist(context), name)).toString();
    webview.html = panelHtml({
      cspSource: webview.cspSource,
      scriptUri: at("evidence.js"),
      styleUri: at("evidence.css"),
      nonce: makeNonce(),
      language: vscode.env.language,
      title,
      worker: true,
    });
  }

  /** URL of a file of the page's, to be read by it. */
  urlOf(context: vscode.ExtensionContext, name: string): string {
    return this.view.webview.asWebviewUri(vscode.Uri.joinPath(dist(context), name)).toString();
  }

  show(message: HostToEvidence): void {
    if (message.type !== "outcome") this.newest = message;
    if (this.isReady) void this.view.webview.postMessage(message);
  }

  dispose(): void {
    this.subscription.dispose();
  }
}

/** Most files looked through for a frame's source. */
const MOST_FILES = 20;

/** How many parts two paths share at their ends. */
function sharedEnding(a: string, b: string): number {
  const [left, right] = [a.split("/").reverse(), b.split("/").reverse()];
  let shared = 0;
  while (shared < left.length && left[shared] === right[shared]) shared++;
  return shared;
}

/** Shows a line of a source file: the file itself where it is of the workspace, else the workspace's file of that name. */
export async function revealSource(file: string, line: number): Promise<boolean> {
  const path = file.replaceAll("\\", "/");
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name === "" || /[*?{}[\]]/.test(name)) return false;
  const found = await vscode.workspace.findFiles(`**/${name}`, undefined, MOST_FILES);
  const [best] = [...found].sort((a, b) => sharedEnding(b.path, path) - sharedEnding(a.path, path));
  if (best === undefined) return false;
  const position = new vscode.Position(Math.max(0, line - 1), 0);
  await vscode.window.showTextDocument(best, { selection: new vscode.Range(position, position), preview: true });
  return true;
}
