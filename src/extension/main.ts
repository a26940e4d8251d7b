/** Entry of every extension host, one program: desktop and remote ones run Node, that of vscode.dev is a Web Worker. */
import * as vscode from "vscode";
import { inNode } from "../terms/place";
import { activateShared, deactivateShared } from "./activate";

export function activate(context: vscode.ExtensionContext): void {
  // The client library is large: it is loaded with the server, not with the extension.
  if (inNode())
    activateShared(
      context,
      async (environment) => (await import("./nodeClient")).createClient(environment),
      async () => {
        const folders = vscode.workspace.workspaceFolders ?? [];
        return (await import("../host/local-cards")).localCards(folders.map(({ uri }) => uri.fsPath));
      },
    );
  else activateShared(context, async (environment) => (await import("./browserClient")).createClient(environment));
}

export const deactivate = deactivateShared;
