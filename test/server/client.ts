/** A small LSP client over in-process streams, with the files and settings of an editor that tests can set. */
import { PassThrough } from "node:stream";
import {
  type ClientCapabilities,
  createConnection,
  createProtocolConnection,
  type Diagnostic,
  type InitializeResult,
  type LogMessageParams,
  MessageType,
  type ProtocolConnection,
  type PublishDiagnosticsParams,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver/node";
import { programOf } from "../../src/server/apart/errands";
import { NO_FILES } from "../../src/server/files";
import { type InitializationOptions, METHODS, type StatusParams } from "../../src/server/protocol";
import { type Platform, startServer } from "../../src/server/server";
import { WELL_FORMED } from "../../src/server/well-formed";
import { type FakeControl, fakeAnalyzer } from "./fake";

/** What VS Code's client announces, as far as the server looks at it. */
export const VSCODE: ClientCapabilities = {
  workspace: {
    configuration: true,
    workspaceFolders: true,
    didChangeConfiguration: { dynamicRegistration: true },
    didChangeWatchedFiles: { dynamicRegistration: true, relativePatternSupport: true },
    diagnostics: { refreshSupport: true },
    inlayHint: { refreshSupport: true },
    codeLens: { refreshSupport: true },
    workspaceEdit: { documentChanges: true, changeAnnotationSupport: { groupsOnLabel: true } },
  },
  textDocument: {
    hover: { contentFormat: ["markdown", "plaintext"] },
    publishDiagnostics: { relatedInformation: true, codeDescriptionSupport: true, tagSupport: { valueSet: [1, 2] } },
    diagnostic: { relatedDocumentSupport: false },
  },
};

/** An editor without pull diagnostics, configuration requests or Markdown. */
export const PLAIN: ClientCapabilities = {};

/** Values that arrive, and waiting for the next that satisfies a condition. */
export class Arrivals<T> {
  readonly all: T[] = [];
  private readonly waiters: { test: (value: T) => boolean; resolve: (value: T) => void }[] = [];

  push(value: T): void {
    this.all.push(value);
    for (const waiter of this.waiters.filter(({ test }) => test(value))) {
      this.waiters.splice(this.waiters.indexOf(waiter), 1);
      waiter.resolve(value);
    }
  }

  /** The first that satisfies the condition, from the past or the future. */
  async find(test: (value: T) => boolean): Promise<T> {
    return this.all.find(test) ?? this.next(test);
  }

  /** The next to arrive that satisfies the condition. */
  next(test: (value: T) => boolean = () => true): Promise<T> {
    return new Promise((resolve) => this.waiters.push({ test, resolve }));
  }
}

export interface TestClient {
  readonly rpc: ProtocolConnection;
  readonly control: FakeControl;
  readonly initialized: InitializeResult;
  readonly published: Arrivals<PublishDiagnosticsParams>;
  readonly statuses: Arrivals<StatusParams>;
  readonly refreshes: Arrivals<string>;
  readonly log: Arrivals<string>;
  /** Options of the capabilities that the server registered. */
  readonly registered: Arrivals<unknown>;
  /** Answers to `workspace/configuration`; change it, then call `configured`. */
  settings: Record<string, unknown>;
  /** Files the client reads for the server (fileRequests). */
  readonly files: Map<string, string>;
  open(uri: string, text: string, languageId?: string): Promise<void>;
  /** Replaces the whole text. */
  change(uri: string, text: string, version: number): Promise<void>;
  close(uri: string): Promise<void>;
  configured(): Promise<void>;
  pull(uri: string, previousResultId?: string): Promise<{ kind: string; resultId?: string; items?: Diagnostic[] }>;
  dispose(): void;
}

export async function connect(
  capabilities: ClientCapabilities,
  options: InitializationOptions = {},
  platform: Partial<Platform> = {},
): Promise<TestClient> {
  const up = new PassThrough();
  const down = new PassThrough();
  const control: FakeControl = { analysed: [], options: [], gate: undefined };
  const server = createConnection(new StreamMessageReader(up), new StreamMessageWriter(down), WELL_FORMED);
  startServer(server, {
    runtime: { files: NO_FILES, readModelData: async () => undefined, hubCaches: [], workspaceFolders: [] },
    reads: () => false,
    createAnalyzer: programOf(fakeAnalyzer(control)),
    version: "0.0.0-test",
    debounceMs: 0,
    ...platform,
  });
  server.listen();

  const rpc = createProtocolConnection(new StreamMessageReader(down), new StreamMessageWriter(up));
  const published = new Arrivals<PublishDiagnosticsParams>();
  const statuses = new Arrivals<StatusParams>();
  const refreshes = new Arrivals<string>();
  const log = new Arrivals<string>();
  const registered = new Arrivals<unknown>();
  const files = new Map<string, string>();
  rpc.onNotification("textDocument/publishDiagnostics", (params: PublishDiagnosticsParams) => published.push(params));
  rpc.onNotification(METHODS.status, (params: StatusParams) => statuses.push(params));
  // What is told at the editor's own level of logs; more is for who asks for it.
  rpc.onNotification("window/logMessage", ({ type, message }: LogMessageParams) => {
    if (type !== MessageType.Debug) log.push(message);
  });
  rpc.onRequest(
    "client/registerCapability",
    ({ registrations }: { registrations: { registerOptions?: unknown }[] }) => {
      for (const { registerOptions } of registrations) registered.push(registerOptions);
      return null;
    },
  );
  for (const method of ["diagnostic", "inlayHint", "codeLens"]) {
    rpc.onRequest(`workspace/${method}/refresh`, () => {
      refreshes.push(method);
      return null;
    });
  }
  rpc.onRequest("workspace/configuration", (params: { items: unknown[] }) => params.items.map(() => client.settings));
  rpc.onRequest(METHODS.readText, ({ uri }: { uri: string }) => ({ text: files.get(uri) ?? null }));
  rpc.onRequest(METHODS.stat, ({ uri }: { uri: string }) => ({
    stat: files.has(uri) ? { type: "file", size: files.get(uri)?.length ?? 0, mtime: 1 } : null,
  }));
  rpc.onRequest(METHODS.list, () => ({ entries: [] }));
  rpc.listen();

  const initialized = await rpc.sendRequest<InitializeResult>("initialize", {
    processId: null,
    rootUri: null,
    capabilities,
    workspaceFolders: [{ uri: "file:///w", name: "w" }],
    initializationOptions: options,
  });
  await rpc.sendNotification("initialized", {});

  const client: TestClient = {
    rpc,
    control,
    initialized,
    published,
    statuses,
    refreshes,
    log,
    registered,
    files,
    settings: {},
    open: (uri, text, languageId = "yaml") =>
      rpc.sendNotification("textDocument/didOpen", { textDocument: { uri, languageId, version: 1, text } }),
    change: (uri, text, version) =>
      rpc.sendNotification("textDocument/didChange", {
        textDocument: { uri, version },
        contentChanges: [{ text }],
      }),
    close: (uri) => rpc.sendNotification("textDocument/didClose", { textDocument: { uri } }),
    configured: () => rpc.sendNotification("workspace/didChangeConfiguration", { settings: null }),
    pull: (uri, previousResultId) =>
      rpc.sendRequest("textDocument/diagnostic", {
        textDocument: { uri },
        ...(previousResultId === undefined ? {} : { previousResultId }),
      }),
    dispose: () => {
      rpc.dispose();
      server.dispose();
    },
  };
  return client;
}
