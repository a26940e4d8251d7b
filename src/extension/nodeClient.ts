/** The language client of a desktop or remote extension host: the server is a process of its own, over IPC. */
import * as vscode from "vscode";
import { type BaseLanguageClient, LanguageClient, TransportKind } from "vscode-languageclient/node";
import { SERVER_ENVIRONMENT } from "../server/environment";
import { type ClientEnvironment, clientOptions, serveFiles } from "./clientOptions";

export function createClient(environment: ClientEnvironment): BaseLanguageClient {
  const { context } = environment;
  const module = vscode.Uri.joinPath(context.extensionUri, "dist", "server.js").fsPath;
  const client = new LanguageClient(
    "vramlens",
    "VRAM Lens",
    {
      run: { module, transport: TransportKind.ipc, options: { env: SERVER_ENVIRONMENT } },
      debug: {
        module,
        transport: TransportKind.ipc,
        options: { env: SERVER_ENVIRONMENT, execArgv: ["--nolazy", "--inspect=6087"] },
      },
    },
    clientOptions(environment, {}),
  );
  serveFiles(client, context);
  return client;
}
