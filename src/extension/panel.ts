/** The panel: hosts the page, feeds it reports of the document it shows, and does what the page asks for. */
import * as vscode from "vscode";
import type { HostToPage, PageAction, PageState, PageToHost } from "../server/panelProtocol";
import {
  CLIENT_COMMANDS,
  type CompareResult,
  type GuideResult,
  METHODS,
  type ReportParams,
  type ReportResult,
  type RunParams,
  type SweepResult,
  type WhatIfParams,
  type WhatIfResult,
} from "../server/protocol";
import { chooseAgainst } from "./against";
import type { Outcome } from "./applyEdits";
import type { CurrentDocument } from "./currentDocument";
import { chooseDevice } from "./devicePick";
import { configUri, labelOf } from "./documents";
import type { LocalCards } from "./localCard";
import { chooseModel, pointToModel } from "./modelPick";
import { saveReport, writePin, writePlan, writeTried } from "./panelEdits";
import { page, pageOptions } from "./panelPage";
import type { PreviewHost } from "./preview";
import { reveal } from "./reveal";
import type { Session } from "./session";
import { t } from "./words";

const VIEW_TYPE = "vramlens.panel";

/** Quiet time before the panel follows a change of editor, so that flicking through tabs does not make it jump. */
const FOLLOW_MS = 150;

/** Owns the one panel of the window. */
export class PanelHost implements vscode.Disposable {
  private panel: Panel | undefined;
  private readonly subscriptions: vscode.Disposable[] = [];

  constructor(
    readonly context: vscode.ExtensionContext,
    readonly session: Session,
    readonly current: CurrentDocument,
    readonly previews: PreviewHost,
    readonly localCards: LocalCards | undefined,
  ) {
    this.subscriptions.push(
      vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, {
        deserializeWebviewPanel: async (view, state: PageState | undefined) => {
          const uri = state?.uri === undefined ? undefined : vscode.Uri.parse(state.uri);
          this.adopt(view, uri, state);
        },
      }),
    );
  }

  /** Opens the panel beside the document, or brings it to front, and shows the document. */
  show(uri: vscode.Uri | undefined): void {
    if (this.panel !== undefined) {
      this.panel.show(uri);
      return;
    }
    const view = vscode.window.createWebviewPanel(
      VIEW_TYPE,
      "VRAM Lens",
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      pageOptions(this.context),
    );
    this.adopt(view, uri, undefined);
  }

  dispose(): void {
    this.panel?.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private adopt(view: vscode.WebviewPanel, uri: vscode.Uri | undefined, state: PageState | undefined): void {
    this.panel?.dispose();
    view.webview.options = pageOptions(this.context);
    view.iconPath = vscode.Uri.joinPath(this.context.extensionUri, "images", "icon.png");
    const panel = new Panel(view, this, uri, state);
    this.panel = panel;
    view.onDidDispose(() => {
      panel.dispose();
      if (this.panel === panel) this.panel = undefined;
    });
  }
}

/** What the panel asks for: the window's, not its own. */
type Services = Pick<PanelHost, "context" | "session" | "current" | "previews" | "localCards">;

class Panel {
  private readonly subscriptions: vscode.Disposable[] = [];
  private runId: string | null;
  private follow: boolean;
  private isReady = false;
  /** Document whose report the page shows. */
  private shown: string | undefined;
  private isDisposed = false;
  private followTimer: ReturnType<typeof setTimeout> | undefined;
  /** Document that the page itself asked to show: opening it must not make the panel follow. */
  private revealed: string | undefined;
  private refreshing = new vscode.CancellationTokenSource();
  private asking = new vscode.CancellationTokenSource();

  constructor(
    private readonly view: vscode.WebviewPanel,
    private readonly host: Services,
    private uri: vscode.Uri | undefined,
    state: PageState | undefined,
  ) {
    const { context, session } = host;
    this.runId = state?.runId ?? null;
    this.follow = state?.follow ?? true;
    this.uri ??= this.currentConfig();
    this.subscriptions.push(
      view.webview.onDidReceiveMessage((message: PageToHost) => this.receive(message)),
      session.onStatus((status) => {
        const about = vscode.Uri.parse(status.uri).toString();
        if (this.uri?.toString() === about) {
          // What is shown stays in sight until there is something newer, also while the file is half typed.
          if (status.state === "broken") this.stay(status.because);
          else {
            this.post({ type: "busy" });
            this.refresh();
          }
        }
        // A document that was just opened counts as a config only now.
        else if (about === this.host.current.uri?.toString()) this.followActive();
      }),
      session.onState(() => this.refresh()),
      host.current.onDidChange(() => this.followActive()),
    );
    view.webview.html = page(view.webview, context);
  }

  show(uri: vscode.Uri | undefined): void {
    this.view.reveal(undefined, true);
    const target = uri ?? this.currentConfig();
    if (target !== undefined) this.turnTo(target);
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    clearTimeout(this.followTimer);
    this.refreshing.cancel();
    this.asking.cancel();
    for (const subscription of this.subscriptions) subscription.dispose();
    this.view.dispose();
  }

  // ---- Which document ----

  private currentConfig(): vscode.Uri | undefined {
    const { uri } = this.host.current;
    return uri !== undefined && this.host.session.status(uri)?.state === "ready" ? uri : undefined;
  }

  private followActive(): void {
    clearTimeout(this.followTimer);
    if (!this.follow) return;
    this.followTimer = setTimeout(() => {
      const uri = this.currentConfig();
      const isOurs = uri !== undefined && uri.toString() === this.revealed;
      this.revealed = undefined;
      if (uri !== undefined && !isOurs) this.turnTo(uri);
    }, FOLLOW_MS);
  }

  private turnTo(uri: vscode.Uri): void {
    if (this.uri?.toString() !== uri.toString()) this.runId = null;
    this.uri = uri;
    this.refresh();
  }

  // ---- Host to page ----

  private post(message: HostToPage): void {
    if (message.type === "report") this.shown = message.uri;
    else if (message.type === "empty") this.shown = undefined;
    if (!this.isDisposed) void this.view.webview.postMessage(message);
  }

  /** Leaves the last good report in sight; one of the broken text that is still under way is dropped. */
  private stay(because: string): void {
    this.refreshing.cancel();
    this.refreshing = new vscode.CancellationTokenSource();
    this.post({ type: "broken", because });
  }

  /** Sends the newest report; an older one still under way is dropped. */
  private refresh(): void {
    this.refreshing.cancel();
    this.refreshing = new vscode.CancellationTokenSource();
    if (!this.isReady) return;
    const { token } = this.refreshing;
    this.snapshot(token).then(
      (message) => {
        if (!token.isCancellationRequested) this.post(message);
      },
      (error) => {
        if (!token.isCancellationRequested) this.post(this.empty("failed", String(error)));
      },
    );
  }

  private async snapshot(token: vscode.CancellationToken): Promise<HostToPage> {
    const { uri } = this;
    if (uri === undefined) return this.empty("no-document", "");
    if (!vscode.workspace.getConfiguration("vramlens", uri).get<boolean>("enable", true)) {
      return this.empty("off", t("switchedOffHint"));
    }
    if (this.host.session.state === "starting") this.post(this.empty("starting", t("startingAnalyzer")));
    const params: ReportParams = { uri: uri.toString() };
    const result = await this.host.session.request<ReportResult | null>(METHODS.report, params, token);
    if (result === null) return this.empty("failed", t("reportFailed"));
    if (result.recognised === null) {
      return this.empty("not-recognised", t("notRead", labelOf(uri)));
    }
    if (result.broken !== null && this.shown === uri.toString()) return { type: "broken", because: result.broken };
    const runs = result.report.runs;
    const picked = runs.find(({ id }) => id === this.runId);
    this.view.title = `${labelOf(uri).split("/").at(-1)} · VRAM Lens`;
    return {
      type: "report",
      uri: uri.toString(),
      label: labelOf(uri),
      report: result.report,
      runId: picked?.id ?? result.runId,
      locale: result.locale,
      reserve: result.reserve,
      follow: this.follow,
      because: result.recognised.because,
      localCards: this.host.localCards !== undefined,
      editor: true,
      runsCode: vscode.workspace.isTrusted && uri.scheme === "file",
    };
  }

  private empty(reason: Extract<HostToPage, { type: "empty" }>["reason"], message: string): HostToPage {
    const workspace = (vscode.workspace.workspaceFolders ?? []).length > 0;
    return { type: "empty", reason, message, locale: vscode.env.language, workspace };
  }

  // ---- Page to host ----

  private receive(message: PageToHost): void {
    switch (message.type) {
      case "ready":
        this.isReady = true;
        // A page that starts shows nothing yet.
        this.shown = undefined;
        this.refresh();
        break;
      case "whatIf":
        this.whatIf(message);
        break;
      case "guide":
      case "compare":
      case "sweep":
        this.ask(message.type, message.runId);
        break;
      case "against":
        void this.against(message.runId);
        break;
      case "applyPlan":
        this.act("applyPlan", writePlan(this.host, this.uri, message, false));
        break;
      case "previewPlan":
        this.act("previewPlan", writePlan(this.host, this.uri, message, true));
        break;
      case "applyWhatIf":
        this.act("applyWhatIf", writeTried(this.host, this.uri, message, false));
        break;
      case "previewWhatIf":
        this.act("previewWhatIf", writeTried(this.host, this.uri, message, true));
        break;
      case "localCards":
        this.showLocalCards();
        break;
      case "pickDevice":
        void chooseDevice(this.host.session, this.host.context.globalState, this.uri, message.device);
        break;
      case "pickModel":
        void (message.from === "folder" ? pointToModel : chooseModel)(this.host.session, this.uri);
        break;
      case "checkAll":
        void vscode.commands.executeCommand("vramlens.checkAll");
        break;
      case "trace":
        void vscode.commands.executeCommand(CLIENT_COMMANDS.traceModel, this.uri);
        break;
      case "reveal":
        this.revealed = configUri(vscode.Uri.parse(message.uri)).toString();
        void reveal(vscode.Uri.parse(message.uri), message.range, this.view.viewColumn);
        break;
      case "settle":
        this.act("settle", writePin(this.host, this.uri, message));
        break;
      case "export":
        this.act("export", saveReport(this.uri, message));
        break;
      case "selectRun":
        this.runId = message.runId;
        break;
      case "follow":
        this.follow = message.follow;
        if (message.follow) this.followActive();
        break;
    }
  }

  private act(action: PageAction, outcome: Promise<Outcome | undefined>): void {
    outcome.then(
      (result) => {
        if (result !== undefined) this.post({ type: "outcome", action, ...result });
      },
      (error) => this.post({ type: "outcome", action, ok: false, message: String(error) }),
    );
  }

  private whatIf(message: Extract<PageToHost, { type: "whatIf" }>): void {
    this.asking.cancel();
    this.asking = new vscode.CancellationTokenSource();
    const { uri } = this;
    if (uri === undefined) return;
    const { id, runId, set } = message;
    const { token } = this.asking;
    const params: WhatIfParams = { uri: uri.toString(), runId, set };
    this.host.session.request<WhatIfResult>(METHODS.whatIf, params, token).then(
      ({ run }) => {
        if (!token.isCancellationRequested) this.post({ type: "whatIfResult", id, runId, run });
      },
      () => {
        if (!token.isCancellationRequested) this.post({ type: "whatIfResult", id, runId, run: null });
      },
    );
  }

  /** Answers that belong to the report shown: a newer report makes them pointless. */
  private ask(question: "guide" | "compare" | "sweep", runId: string): void {
    const { uri } = this;
    if (uri === undefined) return;
    const { token } = this.refreshing;
    const params: RunParams = { uri: uri.toString(), runId };
    const { session } = this.host;
    const asked: Readonly<Record<typeof question, () => Promise<HostToPage>>> = {
      guide: async () => {
        const { guide } = await session.request<GuideResult>(METHODS.guide, params, token);
        return { type: "guide", runId, guide };
      },
      compare: async () => {
        const { lines } = await session.request<CompareResult>(METHODS.compare, params, token);
        return { type: "compare", runId, lines };
      },
      sweep: async () => {
        const { sweep } = await session.request<SweepResult>(METHODS.sweep, params, token);
        return { type: "sweep", runId, sweep };
      },
    };
    const none: Readonly<Record<typeof question, HostToPage>> = {
      guide: { type: "guide", runId, guide: null },
      compare: { type: "compare", runId, lines: null },
      sweep: { type: "sweep", runId, sweep: null },
    };
    asked[question]()
      .catch(() => none[question])
      .then((message) => {
        if (!token.isCancellationRequested) this.post(message);
      });
  }

  /** Puts another run beside the shown one: of another file, of the last commit, or of a plan. */
  private async against(runId: string): Promise<void> {
    const { uri } = this;
    if (uri === undefined) return;
    const found = await chooseAgainst(this.host.session, uri, runId);
    if (found === undefined || this.uri?.toString() !== uri.toString()) return;
    if ("message" in found) void vscode.window.showWarningMessage(found.message);
    else this.post({ type: "against", runId, ...found });
  }

  private showLocalCards(): void {
    this.host.localCards?.().then(
      (cards) => this.post({ type: "localCards", cards }),
      () => this.post({ type: "localCards", cards: [] }),
    );
  }
}
