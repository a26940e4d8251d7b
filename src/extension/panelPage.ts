/** The page that the panel shows, with where its files are. */
import * as vscode from "vscode";
import { makeNonce, panelHtml } from "./panelHtml";

export function page(webview: vscode.Webview, context: vscode.ExtensionContext): string {
  const resource = (name: string) =>
    webview.asWebviewUri(vscode.Uri.joinPath(context.extensionUri, "dist", name)).toString();
  return panelHtml({
    cspSource: webview.cspSource,
    scriptUri: resource("webview.js"),
    styleUri: resource("webview.css"),
    nonce: makeNonce(),
    language: vscode.env.language,
    title: "VRAM Lens",
  });
}

export function pageOptions(context: vscode.ExtensionContext): vscode.WebviewOptions & vscode.WebviewPanelOptions {
  return {
    enableScripts: true,
    enableFindWidget: true,
    localResourceRoots: [vscode.Uri.joinPath(context.extensionUri, "dist")],
  };
}
