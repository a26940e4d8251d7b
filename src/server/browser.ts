/** The language server in a Web Worker (vscode.dev): it has no files of its own and asks the client for all of them. */
import { BrowserMessageReader, BrowserMessageWriter, createConnection } from "vscode-languageserver/browser";
import { RemoteAnalyzer } from "./apart/remote";
import { webThreads } from "./apart/web-threads";
import { NO_FILES } from "./files";
import { DEBOUNCE_MS, startServer } from "./server";
import { WELL_FORMED } from "./well-formed";

/** The worker's global scope is its message port. */
type WorkerScope = ConstructorParameters<typeof BrowserMessageReader>[0];

const scope = globalThis as unknown as WorkerScope;
const connection = createConnection(new BrowserMessageReader(scope), new BrowserMessageWriter(scope), WELL_FORMED);
startServer(connection, {
  runtime: { files: NO_FILES, readModelData: async () => undefined, hubCaches: [], workspaceFolders: [] },
  reads: () => false,
  createAnalyzer: (runtime, log, program) =>
    new RemoteAnalyzer(
      webThreads(() => program, log),
      runtime,
    ),
  version: process.env["VRAM_LENS_VERSION"] ?? "development",
  debounceMs: DEBOUNCE_MS,
});
connection.listen();
