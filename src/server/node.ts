/**
 * The language server as a Node process: started by the VS Code client over IPC, or by any other editor over stdio
 * (`node dist/server.js --stdio`, the default when no transport is named).
 */
import { join } from "node:path";
import { createConnection } from "vscode-languageserver/node";
import { alwaysExit } from "../host/deadline";
import { nodeFiles } from "../host/files";
import { createNodeRuntime } from "../host/node";
import { nodeThreads } from "./apart/node-threads";
import { RemoteAnalyzer } from "./apart/remote";
import { DEBOUNCE_MS, startServer } from "./server";
import { WELL_FORMED } from "./well-formed";

/** Arguments that name a transport, as `vscode-languageserver` reads them. */
const TRANSPORT = /^--(stdio|node-ipc|socket|pipe)(=|$)/;

if (!process.argv.some((argument) => TRANSPORT.test(argument))) process.argv.push("--stdio");

alwaysExit();
const connection = createConnection(WELL_FORMED);
startServer(connection, {
  // What may be read is for the server to say: it knows the workspace and whether it is trusted.
  runtime: {
    ...createNodeRuntime({ workspaceFolders: [], packageDirectory: __dirname, env: process.env }),
    files: nodeFiles(),
  },
  reads: (scheme) => scheme === "file",
  createAnalyzer: (runtime, log) => new RemoteAnalyzer(nodeThreads(join(__dirname, "thread.js"), log), runtime),
  version: process.env["VRAM_LENS_VERSION"] ?? "development",
  debounceMs: DEBOUNCE_MS,
});
connection.listen();
