/**
 * The language server as the rest of the extension sees it: started when first needed, restarted on request, and the
 * last status of every document. All mutable state about the server is here.
 */
import * as vscode from "vscode";
import type { BaseLanguageClient } from "vscode-languageclient";
import { METHODS, type StatusParams, type ThemeKind, type ThemeParams, type TrustParams } from "../server/protocol";
import type { ClientEnvironment } from "./clientOptions";
import { CoalescedTask } from "./restartPolicy";
import { t } from "./words";

/** Makes a client that is not started yet. */
export type CreateClient = (environment: ClientEnvironment) => Promise<BaseLanguageClient>;

export type SessionState = "idle" | "starting" | "running" | "failed";

export class Session implements vscode.Disposable {
  private readonly statusEmitter = new vscode.EventEmitter<StatusParams>();
  private readonly stateEmitter = new vscode.EventEmitter<SessionState>();
  private readonly statuses = new Map<string, StatusParams>();
  private starting: Promise<BaseLanguageClient> | undefined;
  private current: SessionState = "idle";
  private readonly restarting = new CoalescedTask(async () => {
    await this.stop();
    await this.client();
  });

  /** A document's answer changed. */
  readonly onStatus = this.statusEmitter.event;
  readonly onState = this.stateEmitter.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly channel: vscode.LogOutputChannel,
    private readonly create: CreateClient,
  ) {}

  get state(): SessionState {
    return this.current;
  }

  /** The last status of a document. */
  status(uri: vscode.Uri): StatusParams | undefined {
    return this.statuses.get(uri.toString());
  }

  /** The running client; starts the server when it is not running. Rejects when it cannot be started. */
  client(): Promise<BaseLanguageClient> {
    this.starting ??= this.start().catch((error) => {
      this.starting = undefined;
      throw error;
    });
    return this.starting;
  }

  /** Starts the server if needed; a failure is shown to the person, not thrown. */
  ensureStarted(): void {
    this.client().catch(() => {});
  }

  /** Sends a request of the protocol; starts the server when needed. */
  async request<R>(method: string, params: object, token?: vscode.CancellationToken): Promise<R> {
    const client = await this.client();
    return token === undefined ? client.sendRequest<R>(method, params) : client.sendRequest<R>(method, params, token);
  }

  /** Tells a running server that the person trusts the workspace now; one that starts later is told then. */
  trusted(): void {
    if (this.current !== "running") return;
    this.client()
      .then((client) => client.sendNotification(METHODS.trust, { trusted: true } satisfies TrustParams))
      .catch((error) => this.channel.warn(String(error)));
  }

  /** Tells a running server what kind of theme the window has now; one that starts later is told then. */
  themed(theme: ThemeKind): void {
    if (this.current !== "running") return;
    this.client()
      .then((client) => client.sendNotification(METHODS.theme, { theme } satisfies ThemeParams))
      .catch((error) => this.channel.warn(String(error)));
  }

  /** Stops and starts the server; requests that come while it restarts lead to one more restart at most. */
  restart(): Promise<void> {
    return this.restarting.request();
  }

  /** Forgets a document that was closed. */
  forget(uri: vscode.Uri): void {
    this.statuses.delete(uri.toString());
  }

  async stop(): Promise<void> {
    const starting = this.starting;
    this.starting = undefined;
    this.statuses.clear();
    this.setState("idle");
    const client = await starting?.catch(() => undefined);
    // A client that failed cannot be stopped; it is let go.
    await client?.dispose().catch((error) => this.channel.warn(`stopping: ${String(error)}`));
  }

  dispose(): void {
    this.statusEmitter.dispose();
    this.stateEmitter.dispose();
  }

  private async start(): Promise<BaseLanguageClient> {
    this.setState("starting");
    try {
      const client = await this.create({
        context: this.context,
        channel: this.channel,
        gaveUp: () => this.fail(t("analyzerStops")),
      });
      client.onNotification(METHODS.status, (status: StatusParams) => {
        const uri = vscode.Uri.parse(status.uri).toString();
        this.statuses.set(uri, status);
        this.statusEmitter.fire(status);
      });
      await client.start();
      // Trust that was given while the server started would be lost.
      await client.sendNotification(METHODS.trust, { trusted: vscode.workspace.isTrusted } satisfies TrustParams);
      this.setState("running");
      return client;
    } catch (error) {
      this.channel.error(error instanceof Error ? error : String(error));
      this.fail(t("analyzerNotStarted"));
      throw error;
    }
  }

  private fail(message: string): void {
    this.setState("failed");
    const logs = t("showLogs");
    const again = t("restart");
    vscode.window.showErrorMessage(message, logs, again).then((choice) => {
      if (choice === logs) this.channel.show();
      if (choice === again) this.restart().catch(() => {});
    });
  }

  private setState(state: SessionState): void {
    if (this.current === state) return;
    this.current = state;
    this.stateEmitter.fire(state);
  }
}
