/** The editor of memory snapshots and profiler traces: offered for such files, and only reads. */
import * as vscode from "vscode";
import type { EstimatePoint, HostToEvidence } from "../server/evidenceProtocol";
import { METHODS, type ReportParams, type ReportResult } from "../server/protocol";
import type { CurrentDocument } from "./currentDocument";
import { labelOf } from "./documents";
import { EvidenceView, evidenceOptions, revealSource } from "./evidenceView";
import type { Session } from "./session";
import { t } from "./words";

const VIEW_TYPE = "vramlens.recording";

interface RecordingDocument extends vscode.CustomDocument {
  readonly uri: vscode.Uri;
}

type Estimate = Extract<HostToEvidence, { type: "snapshot" }>["estimate"];

/** The timeline that the estimate of the config at hand has; null where none is known, or nothing was analysed yet. */
async function estimateOf(session: Session, uri: vscode.Uri | undefined): Promise<Estimate> {
  if (uri === undefined || session.state !== "running" || (session.status(uri)?.run ?? null) === null) return null;
  const params: ReportParams = { uri: uri.toString() };
  const result = await session.request<ReportResult | null>(METHODS.report, params).catch(() => null);
  const run = result?.report.runs.find(({ id }) => id === result.runId);
  const points: EstimatePoint[] = (run?.perDevice?.timeline ?? []).map(({ at, phase, allocatedBytes }) => ({
    at,
    phase,
    allocatedBytes,
  }));
  return points.length === 0 ? null : { label: labelOf(uri), points };
}

/** Offers the editor. */
export function registerRecordings(
  context: vscode.ExtensionContext,
  session: Session,
  current: CurrentDocument,
): vscode.Disposable {
  const provider: vscode.CustomReadonlyEditorProvider<RecordingDocument> = {
    openCustomDocument: (uri) => ({ uri, dispose: () => {} }),
    resolveCustomEditor: async ({ uri }, panel) => {
      const config = current.uri;
      const label = labelOf(uri);
      const view = new EvidenceView(context, panel, label, (message) => {
        if (message.type !== "source") return;
        const failed = t("notInWorkspace", message.file);
        revealSource(message.file, message.line).then(
          (shown) => shown || view.show({ type: "outcome", ok: false, message: failed }),
          () => view.show({ type: "outcome", ok: false, message: failed }),
        );
      });
      panel.onDidDispose(() => view.dispose());
      const { webview } = panel;
      const options = evidenceOptions(context);
      // The page reads the file itself: hundreds of megabytes need not go through the extension's process.
      const roots = [...(options.localResourceRoots ?? []), vscode.Uri.joinPath(uri, "..")];
      webview.options = { ...options, localResourceRoots: roots };
      view.show({
        type: "snapshot",
        label,
        file: webview.asWebviewUri(uri).toString(),
        worker: view.urlOf(context, "evidence-worker.js"),
        estimate: await estimateOf(session, config),
        locale: vscode.env.language,
      });
    },
  };
  return vscode.window.registerCustomEditorProvider(VIEW_TYPE, provider, {
    supportsMultipleEditorsPerDocument: true,
    webviewOptions: { retainContextWhenHidden: true },
  });
}
