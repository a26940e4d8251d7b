/** The language server in a Web Worker (vscode.dev): it has no files of its own and asks the client for all of them. */
import { BrowserMessageReader, BrowserMessageWriter, createConnection } from "vscode-languageserver/browser";
import { createAnalyzer } from "../analysis";
import { NO_FILES } from "./files";
import { DEBOUNCE_MS, startServer } from "./server";

/** The worker's global scope is its message port. */
type WorkerScope = ConstructorParameters<typeof BrowserMessageReader>[0];

const scope = globalThis as unknown as WorkerScope;
const connection = createConnection(new BrowserMessageReader(scope), new BrowserMessageWriter(scope));
startServer(connection, {
  runtime: { files: NO_FILES, readModelData: async () => undefined, hubCaches: [], workspaceFolders: [] },
  reads: () => false,
  createAnalyzer,
  version: process.env["VRAM_LENS_VERSION"] ?? "development",
  debounceMs: DEBOUNCE_MS,
});
connection.listen();
