/**
 * The language server over an injected runtime: the same code in a Node process, in a Web Worker and in tests.
 *
 * Everything but the panel works by standard LSP. Every handler is cancel-safe and stale-safe: it answers from a
 * current analysis or not at all, and a failure is a log line and an empty answer.
 */
import {
  type CodeActionContext,
  CodeActionKind,
  CodeActionTriggerKind,
  type Connection,
  type Diagnostic,
  DidChangeConfigurationNotification,
  DidChangeWatchedFilesNotification,
  type DocumentDiagnosticReport,
  DocumentDiagnosticReportKind,
  type InitializeParams,
  type InitializeResult,
  TextDocumentSyncKind,
  TextDocuments,
} from "vscode-languageserver";
import { TextDocument } from "vscode-languageserver-textdocument";
import type { AnalysisOptions, Analyzer, CreateAnalyzer, DocumentAnalysis } from "../analysis/analyzer";
import type { FileAccess, Runtime } from "../analysis/runtime";
import { Analyses, type Cancellation, NEVER } from "./analyses";
import { type Client, readClient } from "./client";
import { codeActions } from "./codeActions";
import { COMPLETION_TRIGGERS, toCompletionItems } from "./completion";
import { lookUpDevice } from "./devices";
import { diagnosticsOf, SOURCE } from "./diagnostics";
import { clientFiles, NO_FILES, overlay, routed, schemeOf } from "./files";
import { codeLenses, inlayHints } from "./hints";
import { toHover } from "./hover";
import { cellAnalysis, NOTEBOOK_SYNC, Notebooks } from "./notebooks";
import { normalise, OpenDocuments } from "./openDocuments";
import { OutsideWatcher } from "./outsideWatcher";
import { registerPanelRequests } from "./panelRequests";
import {
  FIX_ALL_KIND,
  type InitializationOptions,
  METHODS,
  type ReadTextResult,
  type StatusParams,
  type StatusRun,
} from "./protocol";
import { QuietTimes } from "./quiet";
import { describeError, safely } from "./safely";
import { type Settings, SettingsCache } from "./settings";
import { mainRun, statusOf } from "./status";
import { text } from "./text";

/** What differs between the places the server runs in. */
export interface Platform {
  readonly runtime: Runtime;
  /** Whether `runtime.files` can read a URI scheme; other schemes are asked of the client. */
  readonly reads: (scheme: string) => boolean;
  readonly createAnalyzer: CreateAnalyzer;
  /** Product version, reported to the client. */
  readonly version: string;
  /** Quiet time after a change before results are shown, in milliseconds. */
  readonly debounceMs: number;
}

/** Quiet time after a keystroke: long enough not to flash half-typed states, short enough to feel immediate. */
export const DEBOUNCE_MS = 150;

/** Files whose change can matter to a run, for the client's watcher. */
const WATCHED = "**/*.{yaml,yml,json,jsonc,json5,hjson,toml,py,sh,ipynb}";

/** Schemes of documents that only mirror others: diff sides, cells of notebooks that are not synced, output. */
const IGNORED_SCHEMES: ReadonlySet<string> = new Set([
  "git",
  "vscode-notebook-cell",
  "output",
  "vscode-scm",
  "review",
  "pr",
]);

/** Wires the server to a connection; the caller then calls `connection.listen()`. */
export function startServer(connection: Connection, platform: Platform): void {
  new Server(connection, platform).register();
}

class Server {
  private readonly documents = new TextDocuments(TextDocument);
  private readonly notebooks = new Notebooks();
  private readonly open = new OpenDocuments(this.documents, this.notebooks);
  private readonly settings: SettingsCache;
  private readonly quietTimes: QuietTimes;
  private readonly outside: OutsideWatcher;
  private readonly resultIds = new Map<string, { readonly id: string; readonly json: string }>();
  private resultCount = 0;
  /** Documents the client has had a status for. */
  private readonly announced = new Set<string>();
  /** Last run of each open document, to show while it is broken. */
  private readonly lastRuns = new Map<string, StatusRun>();
  private workspaceFolders: readonly string[] = [];
  /** What the analysis reads; set on initialize, when the client's abilities are known. */
  private files: FileAccess = NO_FILES;
  private fallbackSettings: unknown;
  private client: Client | undefined;
  private analyzer: Analyzer | undefined;
  private analyses: Analyses | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly platform: Platform,
  ) {
    this.quietTimes = new QuietTimes(platform.debounceMs);
    this.outside = new OutsideWatcher(connection, (uri) =>
      [...this.workspaceFolders, ...platform.runtime.hubCaches].some((folder) => uri.startsWith(folder)),
    );
    this.settings = new SettingsCache((uri) =>
      this.client?.configuration === true
        ? connection.workspace.getConfiguration({ scopeUri: uri, section: "vramlens" })
        : Promise.resolve(this.fallbackSettings),
    );
  }

  register(): void {
    const { connection, documents } = this;
    connection.onInitialize((params) => this.initialize(params));
    connection.onInitialized(() => this.initialized());
    connection.onShutdown(() => this.quietTimes.stopAll());

    documents.onDidChangeContent(({ document }) => this.changed([document.uri]));
    documents.onDidClose(({ document }) => this.closed(document.uri));
    connection.onDidChangeWatchedFiles(({ changes }) => {
      // The text of an open document is what counts, not its file.
      this.changed(changes.map(({ uri }) => uri).filter((uri) => this.open.get(uri) === undefined));
    });
    connection.onDidChangeConfiguration(({ settings }) => {
      if (this.client?.configuration !== true) this.fallbackSettings = vramlensSection(settings);
      this.settings.clear();
      this.everythingChanged();
    });

    connection.onHover((params, token) =>
      safely(connection.console, "hover", token, null, async () => {
        const uri = params.textDocument.uri;
        const settings = await this.settings.get(uri);
        if (!settings.enable || !settings.hover) return null;
        const analysis = await this.current(uri, false, token);
        const content = analysis?.hover(params.position.line, params.position.character) ?? null;
        if (content === null) return null;
        const { commands, markdown, locale } = this.known;
        return toHover(content, { uri: this.owner(uri), commands, markdown, locale });
      }),
    );
    connection.onCompletion((params, token) =>
      safely(connection.console, "completion", token, [], async () => {
        const uri = params.textDocument.uri;
        if (!(await this.settings.get(uri)).enable) return [];
        const analysis = await this.current(uri, false, token);
        const found = analysis?.complete?.(params.position.line, params.position.character) ?? [];
        return toCompletionItems(found, this.known.markdown);
      }),
    );
    connection.onCodeAction((params, token) =>
      safely(connection.console, "code actions", token, [], async () => {
        const document = documents.get(params.textDocument.uri) ?? this.notebooks.cell(params.textDocument.uri);
        // The light bulb asks at every step of the cursor: away from our findings there is nothing to look for.
        if (document === undefined || isIdleLightBulb(params.context)) return [];
        const { only, triggerKind } = params.context;
        const isLightBulb = triggerKind === CodeActionTriggerKind.Automatic && only === undefined;
        if (isLightBulb && !(await this.idle(document.uri, token))) return [];
        const analysis = await this.settled(document.uri, true, token);
        if (analysis === undefined) return [];
        const { commands, edits, locale } = this.known;
        const lineText = (line: number) =>
          document.getText({ start: { line, character: 0 }, end: { line: line + 1, character: 0 } });
        return codeActions(
          { uri: document.uri, languageId: document.languageId, lineCount: document.lineCount, lineText },
          analysis,
          {
            range: params.range,
            diagnostics: params.context.diagnostics,
            only: params.context.only,
            commands,
            versionOf: (uri) => this.versionOf(uri) ?? null,
            support: edits,
            locale,
          },
        );
      }),
    );
    connection.onDocumentLinks((params, token) =>
      safely(connection.console, "document links", token, [], async () => {
        const analysis = await this.settled(params.textDocument.uri, false, token);
        return (analysis?.links() ?? []).map(({ range, target, tooltip }) => ({ range, target, tooltip }));
      }),
    );
    connection.languages.inlayHint.on((params, token) =>
      safely(connection.console, "inlay hints", token, [], async () => {
        const uri = params.textDocument.uri;
        if (!(await this.settings.get(uri)).inlayHints) return [];
        const analysis = await this.settled(uri, false, token);
        return analysis === undefined ? [] : inlayHints(analysis, params.range, this.known.locale);
      }),
    );
    connection.onCodeLens((params, token) =>
      safely(connection.console, "code lens", token, [], async () => {
        const uri = params.textDocument.uri;
        if (!(await this.settings.get(uri)).codeLens) return [];
        const analysis = await this.settled(uri, false, token);
        if (analysis === undefined || !this.isLensCell(uri, analysis)) return [];
        return codeLenses(analysis, this.known.commands, this.known.locale);
      }),
    );
    connection.languages.diagnostics.on(async (params, token) => {
      const empty: DocumentDiagnosticReport = { kind: DocumentDiagnosticReportKind.Full, items: [] };
      // Never an error: a failed pull would leave the document without diagnostics for good in some clients.
      const report = await safely<DocumentDiagnosticReport>(connection.console, "diagnostics", token, empty, () =>
        this.pullDiagnostics(params.textDocument.uri, params.previousResultId, token),
      );
      return report instanceof Error ? empty : report;
    });
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
      locale: () => this.client?.locale ?? "en",
      analyzer: () => this.analyzer,
      files: () => this.files,
      workspaceFolders: () => this.workspaceFolders,
      settings: (uri) => this.settings.get(uri),
      options: (settings) => this.options(settings),
      analysis: (uri, plans, token) => this.analysis(uri, plans, token),
      idle: (uri, token) => this.idle(uri, token),
      versionOf: (uri) => this.versionOf(uri),
      inEditor: (value) => this.notebooks.inCells(value),
    });
  }

  // ---- Life ----

  private initialize(params: InitializeParams): InitializeResult {
    const options: InitializationOptions = params.initializationOptions ?? {};
    this.fallbackSettings = options.settings;
    this.client = readClient(params, options);
    const root = params.rootUri ?? undefined;
    this.workspaceFolders = params.workspaceFolders?.map(({ uri }) => uri) ?? (root === undefined ? [] : [root]);
    this.analyzer = this.platform.createAnalyzer(this.runtime(options));
    this.analyses = new Analyses(this.analyzer, (uri) => this.settings.get(uri).then((s) => this.options(s)));
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
        ...(this.client.pull
          ? {
              diagnosticProvider: { identifier: "vramlens", interFileDependencies: true, workspaceDiagnostics: false },
            }
          : {}),
        workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
      },
    };
  }

  private async initialized(): Promise<void> {
    const { connection } = this;
    try {
      if (this.known.registerConfiguration) {
        await connection.client.register(DidChangeConfigurationNotification.type, { section: "vramlens" });
      }
      if (this.known.watchFiles) {
        await connection.client.register(DidChangeWatchedFilesNotification.type, {
          watchers: [{ globPattern: WATCHED }],
        });
      }
      if (this.known.workspaceFolders) {
        connection.workspace.onDidChangeWorkspaceFolders(({ added, removed }) => {
          const gone = new Set(removed.map(({ uri }) => uri));
          this.workspaceFolders = [
            ...this.workspaceFolders.filter((uri) => !gone.has(uri)),
            ...added.map(({ uri }) => uri),
          ];
          this.settings.clear();
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
    const folders = () => this.workspaceFolders;
    this.files = overlay(
      (uri) => this.open.get(uri),
      routed(this.platform.reads, runtime.files, options.fileRequests === true ? clientFiles(send) : NO_FILES),
    );
    return {
      files: this.files,
      readModelData:
        options.modelDataRequests === true
          ? (path) =>
              send<ReadTextResult>(METHODS.modelData, { path }).then(
                (result) => result.text ?? undefined,
                () => undefined,
              )
          : runtime.readModelData,
      hubCaches: runtime.hubCaches,
      get workspaceFolders() {
        return folders();
      },
    };
  }

  private get known(): Client {
    if (this.client === undefined) throw new Error("a request came before initialize");
    return this.client;
  }

  private options(settings: Settings): AnalysisOptions {
    return {
      defaultDevice: settings.device,
      deviceCount: settings.deviceCount,
      severity: settings.severity,
      reserve: settings.reserve,
      allow: settings.allow,
      locale: this.known.locale,
    };
  }

  // ---- Results ----

  /** The current analysis of a document whatever its settings; undefined when cancelled. */
  private async analysis(uri: string, plans: boolean, token: Cancellation): Promise<DocumentAnalysis | undefined> {
    return this.analyses?.get(normalise(this.owner(uri)), plans, token);
  }

  /** The document that is analysed for a URI: the notebook of a cell, else itself. */
  private owner(uri: string): string {
    return this.notebooks.of(uri)?.uri ?? uri;
  }

  /** Whether the lens of a notebook belongs to this cell: the first that states something. Other documents have one. */
  private isLensCell(uri: string, { runs }: DocumentAnalysis): boolean {
    const cells = this.notebooks.of(uri)?.cells.map(({ document }) => document.uri);
    const stating = mainRun(runs)?.settings.map((setting) => setting.uri) ?? [];
    return cells === undefined || cells.find((cell) => stating.includes(cell)) === uri;
  }

  private versionOf(uri: string): number | undefined {
    return (this.open.get(uri) ?? this.notebooks.cell(uri))?.version;
  }

  /** The current analysis of an open, enabled, recognised document; undefined otherwise. */
  private async current(uri: string, plans: boolean, token: Cancellation): Promise<DocumentAnalysis | undefined> {
    const notebook = this.notebooks.of(uri);
    const owner = notebook?.uri ?? uri;
    if (IGNORED_SCHEMES.has(schemeOf(owner)) || !(await this.settings.get(owner)).enable) return undefined;
    const analysis = this.isRelevant(owner) ? await this.analysis(owner, plans, token) : undefined;
    // The cells may have changed meanwhile: places are those of the text that was analysed, or none.
    if (notebook === undefined || analysis === undefined) return analysis;
    return this.notebooks.of(uri) === notebook ? cellAnalysis(analysis, notebook, uri, this.notebooks) : undefined;
  }

  /** As {@link current}, once the document was left alone for the quiet time: for what editors ask on every change. */
  private async settled(uri: string, plans: boolean, token: Cancellation): Promise<DocumentAnalysis | undefined> {
    await this.quietTimes.quiet(this.owner(uri));
    return this.current(uri, plans, token);
  }

  /**
   * Waits until an open document was left alone for longer than the quiet time. The search for plans is long enough to
   * be felt by who goes on typing.
   *
   * @returns false when cancelled
   */
  private async idle(uri: string, token: Cancellation): Promise<boolean> {
    const owner = this.owner(uri);
    const version = () => this.open.get(owner)?.version;
    while (!token.isCancellationRequested) {
      const before = version();
      if (before === undefined) return true;
      await this.quietTimes.quiet(owner);
      await this.quietTimes.pause();
      if (version() === before) return !token.isCancellationRequested;
    }
    return false;
  }

  private isRelevant(uri: string): boolean {
    return this.analyzer !== undefined && this.open.isRelevant(uri, this.analyzer);
  }

  /** The one function behind push and pull. */
  private async validate(uri: string, token: Cancellation): Promise<Diagnostic[]> {
    if (!(await this.settings.get(uri)).diagnostics) return [];
    const analysis = await this.current(uri, false, token);
    return analysis === undefined ? [] : diagnosticsOf(analysis, this.known.diagnostics, this.known.locale);
  }

  private async pullDiagnostics(
    uri: string,
    previous: string | undefined,
    token: Cancellation,
  ): Promise<DocumentDiagnosticReport> {
    await this.quietTimes.quiet(this.owner(uri));
    const items = await this.validate(uri, token);
    const json = JSON.stringify(items);
    const last = this.resultIds.get(uri);
    if (last !== undefined && last.json === json && last.id === previous) {
      return { kind: DocumentDiagnosticReportKind.Unchanged, resultId: last.id };
    }
    this.resultCount += 1;
    const resultId = String(this.resultCount);
    if (this.documents.get(uri) !== undefined || this.notebooks.cell(uri) !== undefined)
      this.resultIds.set(uri, { id: resultId, json });
    return { kind: DocumentDiagnosticReportKind.Full, resultId, items };
  }

  // ---- Changes ----

  private changed(uris: readonly string[]): void {
    if (uris.length === 0 || this.analyses === undefined) return;
    const changed = new Set(uris.map(normalise));
    const dropped = this.analyses.invalidate(changed);
    const open = this.open.uris().filter((uri) => dropped.has(normalise(uri)));
    for (const uri of open) this.schedule(uri);
    // The client asks again for the document it changed itself; about others it has to be told.
    // A notebook's other cells are such others.
    const others = (uri: string) => !changed.has(normalise(uri)) || this.notebooks.get(uri) !== undefined;
    if (open.some(others)) this.refreshClient();
  }

  private everythingChanged(): void {
    this.analyses?.clear();
    for (const uri of this.open.uris()) this.schedule(uri);
    this.refreshClient();
  }

  /** Makes the client ask again. A client that is shutting down may not answer; nothing is lost then. */
  private refreshClient(): void {
    const { client, connection } = this;
    if (client?.pull === true && client.refreshDiagnostics) connection.languages.diagnostics.refresh();
    if (client?.refreshHints === true) connection.languages.inlayHint.refresh().catch(() => {});
    if (client?.refreshLenses === true) connection.sendRequest("workspace/codeLens/refresh").catch(() => {});
  }

  private closed(uri: string, shown: readonly string[] = [uri]): void {
    this.quietTimes.stop(uri);
    for (const one of shown) this.resultIds.delete(one);
    this.announced.delete(uri);
    this.lastRuns.delete(uri);
    this.settings.delete(uri);
    this.analyses?.delete(normalise(uri));
    if (this.client?.pull === false) {
      for (const one of shown) void this.connection.sendDiagnostics({ uri: one, diagnostics: [] });
    }
    // Unsaved text is gone: those who read it see the file again.
    this.changed([uri]);
  }

  private schedule(uri: string): void {
    this.quietTimes.schedule(uri, () => {
      this.refresh(uri).catch((error) => {
        this.connection.console.error(`refresh of ${uri} failed: ${describeError(error)}`);
        this.sendStatus({ uri, state: "failed", because: String(error), run: null });
      });
    });
  }

  /** Brings status and pushed diagnostics of an open document up to date. */
  private async refresh(uri: string): Promise<void> {
    const version = this.open.get(uri)?.version;
    const isStale = () => this.open.get(uri)?.version !== version;
    if (!this.announced.has(uri) && this.isRelevant(uri)) {
      this.sendStatus({ uri, state: "computing", because: "", run: null });
    }
    const cells = this.notebooks.get(uri)?.cells.map(({ document }) => document.uri);
    for (const shown of cells ?? [uri]) {
      const diagnostics = await this.validate(shown, NEVER);
      if (isStale()) return;
      if (this.client?.pull !== false) continue;
      const shownVersion = this.versionOf(shown);
      await this.connection.sendDiagnostics({
        uri: shown,
        diagnostics,
        ...(shownVersion === undefined ? {} : { version: shownVersion }),
      });
    }
    const status = await this.status(uri);
    if (!isStale()) this.sendStatus(status);
  }

  private async status(uri: string): Promise<StatusParams> {
    const { locale } = this.known;
    if (!(await this.settings.get(uri)).enable) return { uri, state: "off", because: text(locale, "off"), run: null };
    const analysis = await this.current(uri, false, NEVER);
    if (analysis === undefined) {
      return { uri, state: "not-recognised", because: text(locale, "notRecognised"), run: null };
    }
    if (this.known.watchFiles && this.known.watchFolders) await this.outside.add(analysis.dependencies);
    const status = statusOf(uri, analysis, this.lastRuns.get(uri) ?? null, locale);
    if (status.run !== null) this.lastRuns.set(uri, status.run);
    const { device } = await this.settings.get(uri);
    if (device !== undefined && status.run?.deviceName === null && lookUpDevice(device).device === null) {
      return { ...status, notice: text(locale, "unknownDevice", device) };
    }
    if (status.state === "not-recognised") {
      this.lastRuns.delete(uri);
      this.open.forget(uri);
    }
    return status;
  }

  private sendStatus(status: StatusParams): void {
    this.announced.add(status.uri);
    if (this.client?.status === true) void this.connection.sendNotification(METHODS.status, status);
  }
}

/** Whether the client asks on its own, for any kind of action, at a place without a finding of ours. */
function isIdleLightBulb(context: CodeActionContext): boolean {
  return (
    context.triggerKind === CodeActionTriggerKind.Automatic &&
    context.only === undefined &&
    !context.diagnostics.some(({ source }) => source === SOURCE)
  );
}

/** The section of a `workspace/didChangeConfiguration` payload, which clients send with or without its name. */
function vramlensSection(settings: unknown): unknown {
  if (typeof settings === "object" && settings !== null && "vramlens" in settings) return settings.vramlens;
  return settings;
}
