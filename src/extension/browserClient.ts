/** The language client of a browser: the server is a Web Worker and has no files but those the editor reads for it. */
import * as vscode from "vscode";
import { type BaseLanguageClient, LanguageClient } from "vscode-languageclient/browser";
import { type ClientEnvironment, clientOptions, serveFiles } from "./clientOptions";

/** The worker constructor of the browser; its type comes with the DOM library, which extension code must not use. */
type WorkerConstructor = new (url: string) => ConstructorParameters<typeof LanguageClient>[2];

export function createClient(environment: ClientEnvironment): BaseLanguageClient {
  const { context } = environment;
  const url = vscode.Uri.joinPath(context.extensionUri, "dist", "server.js").toString(true);
  const { Worker } = globalThis as unknown as { readonly Worker: WorkerConstructor };
  const options = clientOptions(environment, {
    modelDataRequests: true,
    analysisProgram: vscode.Uri.joinPath(context.extensionUri, "dist", "analysis.xz").toString(true),
  });
  const client = new LanguageClient("vramlens", "VRAM Lens", new Worker(url), options);
  serveFiles(client, context);
  return client;
}
