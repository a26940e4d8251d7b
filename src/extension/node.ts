/** Entry of the desktop and remote extension hosts. */
import * as vscode from "vscode";
import { activateShared, deactivateShared } from "./activate";

export function activate(context: vscode.ExtensionContext): void {
  // The client library is large: it is loaded with the server, not with the extension.
  activateShared(
    context,
    async (environment) => (await import("./nodeClient")).createClient(environment),
    async () => {
      const folders = vscode.workspace.workspaceFolders ?? [];
      return (await import("../host/local-cards")).localCards(folders.map(({ uri }) => uri.fsPath));
    },
  );
}

export const deactivate = deactivateShared;
