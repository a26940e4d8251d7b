/**
 * The language server over an injected runtime: the same code in a Node process, in a Web Worker and in tests.
 *
 * Everything but the panel works by standard LSP. Every handler is cancel-safe and stale-safe: it answers from a
 * current analysis or not at all, and a failure is a log line and an empty answer.
 */
import {
  CodeActionKind,
  type Connection,
  DidChangeConfigurationNotification,
  DidChangeWatchedFilesNotification,
  type InitializeParams,
  type InitializeResult,
  TextDocumentSyncKind,
  TextDocuments,
  type WorkspaceFoldersChangeEvent,
} from "vscode-languageserver";
import { TextDocument } from "vscode-languageserver-textdocument";
import { type Reach, withinReach } from "../analysis/documents/reach";
import type { Runtime } from "../analysis/runtime";
import { bytesOf } from "../terms/base64";
import { Analyses } from "./analyses";
import type { AnalysisProgram } from "./apart/errands";
import { readClient } from "./client";
import { COMPLETION_TRIGGERS } from "./completion";
import { Current } from "./current";
import { registerFeatures } from "./features";
import { clientFiles, NO_FILES, overlay, routed } from "./files";
import { NOTEBOOK_SYNC, Notebooks } from "./notebooks";
import { normalise, OpenDocuments } from "./openDocuments";
import { OutsideWatcher } from "./outsideWatcher";
import { registerPanelRequests } from "./panelRequests";
import {
  FIX_ALL_KIND,
  type InitializationOptions,
  METHODS,
  type ModelDataResult,
  type ThemeParams,
  type TrustParams,
} from "./protocol";
import { Publisher } from "./publisher";
import { QuietTimes } from "./quiet";
import { describeError } from "./safely";
import { Session } from "./session";
import { SettingsCache } from "./settings";
import { changedBy, WATCHED } from "./watched";
import { refuseMalformed } from "./well-formed";

/** What differs between the places the server runs in. */
export interface Platform {
  readonly runtime: Runtime;
  /** Whether `runtime.files` can read a URI scheme; other schemes are asked of the client. */
  readonly reads: (scheme: string) => boolean;
  /** May be made on a thread of its own; `log` is the connection's. */
  readonly createAnalyzer: (runtime: Runtime, log: (message: string) => void, program?: string) => AnalysisProgram;
  /** Product version, reported to the client. */
  readonly version: string;
  /** Quiet time after a change before results are shown, in milliseconds. */
  readonly debounceMs: number;
}

/** Quiet time after a keystroke: long enough not to flash half-typed states, short enough to feel immediate. */
export const DEBOUNCE_MS = 150;

/** Wires the server to a connection; the caller then calls `connection.listen()`. */
export function startServer(connection: Connection, platform: Platform): void {
  new Server(connection, platform).register();
}

function packed({ base64 }: ModelDataResult): Uint8Array | undefined {
  return base64 === null ? undefined : bytesOf(base64);
}

class Server {
  private readonly documents = new TextDocuments(TextDocument);
  private readonly notebooks = new Notebooks();
  private readonly open = new OpenDocuments(this.documents, this.notebooks);
  private readonly session: Session;
  private readonly quietTimes: QuietTimes;
  private readonly current: Current;
  private readonly publisher: Publisher;
  /** Settings as the client sent them, for those it does not answer for. */
  private fallbackSettings: unknown;

  constructor(
    private readonly connection: Connection,
    private readonly platform: Platform,
  ) {
    const { documents, notebooks, open } = this;
    const session = new Session(
      new SettingsCache((uri) =>
        session.client?.configuration === true
          ? connection.workspace.getConfiguration({ scopeUri: uri, section: "vramlens" })
          : Promise.resolve(this.fallbackSettings),
      ),
    );
    const outside = new OutsideWatcher(connection, (uri) =>
      [...session.workspaceFolders, ...platform.runtime.hubCaches].some((folder) => uri.startsWith(folder)),
    );
    const quietTimes = new QuietTimes(platform.debounceMs);
    const current = new Current(session, open, notebooks, quietTimes);
    this.session = session;
    this.quietTimes = quietTimes;
    this.current = current;
    this.publisher = new Publisher({
      connection,
      documents,
      notebooks,
      open,
      session,
      current,
      quietTimes,
      outside,
    });
  }

  register(): void {
    const { connection, documents } = this;
    refuseMalformed(connection);
    connection.onInitialize((params) => this.initialize(params));
    connection.onInitialized(() => this.initialized());
    connection.onShutdown(() => {
      this.quietTimes.stopAll();
      this.session.analyzer?.dispose?.();
    });

    documents.onDidChangeContent(({ document }) => this.changed([document.uri]));
    documents.onDidClose(({ document }) => this.closed(document.uri));
    connection.onDidChangeWatchedFiles(({ changes }) => {
      const changed = new Set(changes.flatMap(({ uri }) => changedBy(normalise(uri))));
      // The text of an open document is what counts, not its file.
      for (const uri of this.open.uris()) changed.delete(normalise(uri));
      this.changedAt(changed);
    });
    connection.onDidChangeConfiguration(({ settings }) => {
      if (this.session.client?.configuration !== true) this.fallbackSettings = vramlensSection(settings);
      this.session.settings.clear();
      this.everythingChanged();
    });

    registerFeatures(connection, documents, this.notebooks, this.session, this.current);
    this.publisher.register();
    this.registerCustomRequests();
    documents.listen(connection);
    this.notebooks.listen(
      connection,
      (uri) => this.changed([uri]),
      (uri, cells) => this.closed(uri, cells),
    );
  }

  private registerCustomRequests(): void {
    registerPanelRequests(this.connection, {
      locale: () => this.session.client?.locale ?? "en",
      analyzer: () => this.session.analyzer,
      workspaceFolders: () => this.session.workspaceFolders,
      settings: (uri) => this.session.settings.get(uri),
      options: (settings) => this.session.options(settings),
      analysis: (uri, plans, token) => this.current.analysis(uri, plans, token),
      idle: (uri, token) => this.current.idle(uri, token),
      versionOf: (uri) => this.current.versionOf(uri),
      inEditor: (value) => this.notebooks.inCells(value),
    });
  }

  private initialize(params: InitializeParams): InitializeResult {
    const options: InitializationOptions = params.initializationOptions ?? {};
    this.connection.onNotification(METHODS.trust, ({ trusted }: TrustParams) => {
      if (trusted === this.session.trusted) return;
      this.session.trusted = trusted;
      // What could not be read before may be there now: nothing that was read is kept.
      this.startAnalyzer(options);
      this.everythingChanged();
    });
    this.fallbackSettings = options.settings;
    this.session.client = readClient(params, options);
    const root = params.rootUri ?? undefined;
    this.session.workspaceFolders =
      params.workspaceFolders?.map(({ uri }) => uri) ?? (root === undefined ? [] : [root]);
    this.session.trusted = options.trusted !== false;
    this.session.pictures = options.pictures;
    this.connection.onNotification(METHODS.theme, ({ theme }: ThemeParams) => {
      if (this.session.pictures !== undefined) this.session.pictures = theme;
    });
    this.startAnalyzer(options);
    return {
      serverInfo: { name: "VRAM Lens", version: this.platform.version },
      capabilities: {
        textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental },
        notebookDocumentSync: NOTEBOOK_SYNC,
        hoverProvider: true,
        completionProvider: { triggerCharacters: [...COMPLETION_TRIGGERS] },
        codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix, FIX_ALL_KIND] },
        documentLinkProvider: {},
        inlayHintProvider: true,
        codeLensProvider: {},
        ...(this.session.client.pull
          ? {
              diagnosticProvider: { identifier: "vramlens", interFileDependencies: true, workspaceDiagnostics: false },
            }
          : {}),
        workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
      },
    };
  }

  private startAnalyzer(options: InitializationOptions): void {
    this.session.analyzer?.dispose?.();
    const log = (message: string): void => this.connection.console.warn(message);
    this.session.analyzer = this.platform.createAnalyzer(this.runtime(options), log, options.analysisProgram);
    this.session.analyses = new Analyses(this.session.analyzer, (uri) => this.session.optionsFor(uri));
  }

  private async initialized(): Promise<void> {
    const { connection } = this;
    try {
      if (this.session.known.registerConfiguration) {
        await connection.client.register(DidChangeConfigurationNotification.type, { section: "vramlens" });
      }
      if (this.session.known.watchFiles) {
        await connection.client.register(DidChangeWatchedFilesNotification.type, {
          watchers: WATCHED.map((globPattern) => ({ globPattern })),
        });
      }
      if (this.session.known.workspaceFolders) {
        connection.workspace.onDidChangeWorkspaceFolders((event?: Partial<WorkspaceFoldersChangeEvent>) => {
          const { added = [], removed = [] } = event ?? {};
          const gone = new Set(removed.map(({ uri }) => uri));
          this.session.workspaceFolders = [
            ...this.session.workspaceFolders.filter((uri) => !gone.has(uri)),
            ...added.map(({ uri }) => uri),
          ];
          this.session.settings.clear();
          this.everythingChanged();
        });
      }
    } catch (error) {
      connection.console.error(`registration failed: ${describeError(error)}`);
    }
  }

  private runtime(options: InitializationOptions): Runtime {
    const { runtime } = this.platform;
    const send = <R>(method: string, params: object) => this.connection.sendRequest<R>(method, params);
    const folders = () => this.session.workspaceFolders;
    const isTrusted = () => this.session.trusted;
    const below = routed(
      this.platform.reads,
      runtime.files,
      options.fileRequests === true ? clientFiles(send) : NO_FILES,
    );
    const reach = (): Reach => ({
      folders: [...folders(), ...runtime.hubCaches].map(normalise),
      named: this.open.uris(),
      trusted: isTrusted(),
    });
    // What is open was given by the editor: it needs no reading.
    this.session.files = overlay((uri) => this.open.get(uri), withinReach(below, reach));
    return {
      files: this.session.files,
      readModelData: runtime.readModelData,
      ...(options.modelDataRequests === true
        ? { readModelArchive: () => send<ModelDataResult>(METHODS.modelData, {}).then(packed, () => undefined) }
        : runtime.readModelArchive && { readModelArchive: runtime.readModelArchive }),
      hubCaches: runtime.hubCaches,
      get workspaceFolders() {
        return folders();
      },
      get trusted() {
        return isTrusted();
      },
    };
  }

  private changed(uris: readonly string[]): void {
    this.changedAt(new Set(uris.map(normalise)));
  }

  /** @param changed in the one spelling: thousands of files may change at once, and each is looked at once */
  private changedAt(changed: ReadonlySet<string>): void {
    if (changed.size === 0 || this.session.analyses === undefined) return;
    const dropped = this.session.analyses.invalidate(changed);
    const open = this.open.uris().filter((uri) => dropped.has(normalise(uri)));
    for (const uri of open) this.publisher.schedule(uri);
    // The client asks again for the document it changed itself; about others it has to be told.
    // A notebook's other cells are such others.
    const others = (uri: string) => !changed.has(normalise(uri)) || this.notebooks.get(uri) !== undefined;
    if (open.some(others)) this.publisher.refreshClient();
  }

  private everythingChanged(): void {
    this.session.analyses?.clear();
    for (const uri of this.open.uris()) this.publisher.schedule(uri);
    this.publisher.refreshClient();
  }

  private closed(uri: string, shown: readonly string[] = [uri]): void {
    this.quietTimes.stop(uri);
    this.publisher.forget(uri, shown);
    this.session.settings.delete(uri);
    this.session.analyses?.delete(normalise(uri));
    // Unsaved text is gone: those who read it see the file again.
    this.changed([uri]);
  }
}

/** The section of a `workspace/didChangeConfiguration` payload, which clients send with or without its name. */
function vramlensSection(settings: unknown): unknown {
  if (typeof settings === "object" && settings !== null && "vramlens" in settings) return settings.vramlens;
  return settings;
}
