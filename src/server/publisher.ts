/** Tells the client of results: diagnostics, asked for or pushed, and the status of each document. */
import {
  type Connection,
  type Diagnostic,
  type DocumentDiagnosticReport,
  DocumentDiagnosticReportKind,
  type TextDocuments,
} from "vscode-languageserver";
import type { TextDocument } from "vscode-languageserver-textdocument";
import { type Cancellation, NEVER } from "./analyses";
import type { Current } from "./current";
import { lookUpDevice } from "./devices";
import { diagnosticsOf } from "./diagnostics";
import type { Notebooks } from "./notebooks";
import type { OpenDocuments } from "./openDocuments";
import type { OutsideWatcher } from "./outsideWatcher";
import { METHODS, type StatusParams, type StatusRun } from "./protocol";
import type { QuietTimes } from "./quiet";
import { describeError, safely } from "./safely";
import type { Session } from "./session";
import { statusOf } from "./status";
import { text } from "./text";

/** What is published from, and where to. */
export interface Published {
  readonly connection: Connection;
  readonly documents: TextDocuments<TextDocument>;
  readonly notebooks: Notebooks;
  readonly open: OpenDocuments;
  readonly session: Session;
  readonly current: Current;
  readonly quietTimes: QuietTimes;
  readonly outside: OutsideWatcher;
}

/** What was analysed, how long that took, and why a file was not: one line for the log. */
function logLine({ uri, state, because, run }: StatusParams, milliseconds: number): string {
  const took = `${Math.round(milliseconds)} ms`;
  if (state !== "ready") return `${uri}: ${state} (${because}), ${took}`;
  const said = run === null ? "no run" : `${run.id}: ${run.statement.short} ${run.statement.verdict}`.trimEnd();
  return `${uri}: ${said} (${because}), ${took}`;
}

export class Publisher {
  private readonly resultIds = new Map<string, { readonly id: string; readonly json: string }>();
  private resultCount = 0;
  /** What the client was told last of each document. */
  private readonly announced = new Map<string, StatusParams["state"]>();
  /** Last run of each open document, to show while it is broken. */
  private readonly lastRuns = new Map<string, StatusRun>();

  constructor(private readonly of: Published) {}

  /** Answers clients that ask for diagnostics. */
  register(): void {
    const { connection } = this.of;
    connection.languages.diagnostics.on(async (params, token) => {
      const empty: DocumentDiagnosticReport = { kind: DocumentDiagnosticReportKind.Full, items: [] };
      // Never an error: a failed pull would leave the document without diagnostics for good in some clients.
      const report = await safely<DocumentDiagnosticReport>(connection.console, "diagnostics", token, empty, () =>
        this.pullDiagnostics(params.textDocument.uri, params.previousResultId, token),
      );
      return report instanceof Error ? empty : report;
    });
  }

  /** The one function behind push and pull. */
  private async validate(uri: string, token: Cancellation): Promise<Diagnostic[]> {
    if (!(await this.of.session.settings.get(uri)).diagnostics) return [];
    const analysis = await this.of.current.get(uri, false, token);
    const { diagnostics, locale } = this.of.session.known;
    const wasConfig = this.lastRuns.has(this.of.current.owner(uri));
    return analysis === undefined ? [] : diagnosticsOf(analysis, { ...diagnostics, wasConfig }, locale);
  }

  private async pullDiagnostics(
    uri: string,
    previous: string | undefined,
    token: Cancellation,
  ): Promise<DocumentDiagnosticReport> {
    await this.of.quietTimes.quiet(this.of.current.owner(uri));
    const items = await this.validate(uri, token);
    const json = JSON.stringify(items);
    const last = this.resultIds.get(uri);
    if (last !== undefined && last.json === json && last.id === previous) {
      return { kind: DocumentDiagnosticReportKind.Unchanged, resultId: last.id };
    }
    this.resultCount += 1;
    const resultId = String(this.resultCount);
    if (this.of.documents.get(uri) !== undefined || this.of.notebooks.cell(uri) !== undefined)
      this.resultIds.set(uri, { id: resultId, json });
    return { kind: DocumentDiagnosticReportKind.Full, resultId, items };
  }

  /**
   * Brings what the client was told of a document up to date, once its typing has settled. Until then, and until there is a
   * result, what it was told last does not stand as if it were current.
   */
  schedule(uri: string): void {
    const last = this.lastRuns.get(uri);
    if (last !== undefined && this.announced.get(uri) !== "computing")
      this.sendStatus({ uri, state: "computing", because: "", run: last });
    this.of.quietTimes.schedule(uri, () => {
      this.refresh(uri).catch((error) => {
        this.of.connection.console.error(`refresh of ${uri} failed: ${describeError(error)}`);
        this.sendStatus({ uri, state: "failed", because: String(error), run: null });
      });
    });
  }

  /** Brings status and pushed diagnostics of an open document up to date. */
  private async refresh(uri: string): Promise<void> {
    const started = performance.now();
    const version = this.of.open.get(uri)?.version;
    const isStale = () => this.of.open.get(uri)?.version !== version;
    if (!this.announced.has(uri) && (await this.of.current.isRelevant(uri)) && !isStale())
      this.sendStatus({ uri, state: "computing", because: "", run: null });
    const cells = this.of.notebooks.get(uri)?.cells.map(({ document }) => document.uri);
    for (const shown of cells ?? [uri]) {
      const diagnostics = await this.validate(shown, NEVER);
      if (isStale()) return;
      if (this.of.session.client?.pull !== false) continue;
      const shownVersion = this.of.current.versionOf(shown);
      await this.of.connection.sendDiagnostics({
        uri: shown,
        diagnostics,
        ...(shownVersion === undefined ? {} : { version: shownVersion }),
      });
    }
    const status = await this.status(uri);
    const { console } = this.of.connection;
    const line = logLine(status, performance.now() - started);
    // Why a file was not analysed is said once, not at every key typed into a script that trains nothing.
    if (status.state === "ready" || this.announced.get(uri) !== status.state) console.info(line);
    else console.debug(line);
    if (!isStale()) this.sendStatus(status);
  }

  private async status(uri: string): Promise<StatusParams> {
    const { locale } = this.of.session.known;
    if (!(await this.of.session.settings.get(uri)).enable)
      return { uri, state: "off", because: text(locale, "off"), run: null };
    const analysis = await this.of.current.get(uri, false, NEVER);
    if (analysis === undefined) {
      return { uri, state: "not-recognised", because: text(locale, "notRecognised"), run: null };
    }
    if (this.of.session.known.watchFiles && this.of.session.known.watchFolders)
      await this.of.outside.add(analysis.dependencies);
    const status = statusOf(uri, analysis, this.lastRuns.get(uri) ?? null, locale);
    if (status.run !== null) this.lastRuns.set(uri, status.run);
    const { device } = await this.of.session.settings.get(uri);
    if (device !== undefined && status.run?.deviceName === null && lookUpDevice(device).device === null) {
      return { ...status, notice: text(locale, "unknownDevice", device) };
    }
    if (status.state === "not-recognised") {
      this.lastRuns.delete(uri);
      this.of.open.forget(uri);
    }
    return status;
  }

  private sendStatus(status: StatusParams): void {
    this.announced.set(status.uri, status.state);
    if (this.of.session.client?.status === true) void this.of.connection.sendNotification(METHODS.status, status);
  }

  /** Makes the client ask again. A client that is shutting down may not answer; nothing is lost then. */
  refreshClient(): void {
    const { connection } = this.of;
    const { client } = this.of.session;
    if (client?.pull === true && client.refreshDiagnostics) connection.languages.diagnostics.refresh();
    if (client?.refreshHints === true) connection.languages.inlayHint.refresh().catch(() => {});
    if (client?.refreshLenses === true) connection.sendRequest("workspace/codeLens/refresh").catch(() => {});
  }

  /** Forgets a document that was closed, and what was shown of it. */
  forget(uri: string, shown: readonly string[]): void {
    for (const one of shown) this.resultIds.delete(one);
    this.announced.delete(uri);
    this.lastRuns.delete(uri);
    if (this.of.session.client?.pull !== false) return;
    for (const one of shown) void this.of.connection.sendDiagnostics({ uri: one, diagnostics: [] });
  }
}
