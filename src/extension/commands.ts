/** The commands of package.json. Each works or says why it cannot. */

import * as vscode from "vscode";
import { METHODS, type ReportParams, type ReportResult } from "../server/protocol";
import { table } from "../terms/table";
import type { CurrentDocument } from "./currentDocument";
import { debugInfo } from "./debugInfo";
import { chooseDevice } from "./devicePick";
import { labelOf, targetUri } from "./documents";
import { explainFailure, type FailureHost } from "./explainFailure";
import { type LocalCards, localCardText } from "./localCard";
import { chooseModel, pinFor, pointToModel } from "./modelPick";
import type { PanelHost } from "./panel";
import { applyBest, applyPlan, applyValues } from "./plans";
import type { PreviewHost } from "./preview";
import { checkScript } from "./python";
import { reportMarkdown } from "./reportText";
import type { Runs } from "./runsTree";
import type { Session } from "./session";
import { traceModel } from "./traceModel";
import { t } from "./words";

interface Parts {
  readonly context: vscode.ExtensionContext;
  readonly session: Session;
  readonly panel: PanelHost;
  readonly channel: vscode.LogOutputChannel;
  readonly current: CurrentDocument;
  readonly previews: PreviewHost;
  readonly failures: FailureHost;
  /** Asks the vendor's tool for the cards of this machine; undefined where no program can be started. */
  readonly localCards: LocalCards | undefined;
  readonly runs: Pick<Runs, "checkAll">;
}

type Command = (parts: Parts, argument: unknown, ...more: readonly unknown[]) => Promise<void> | void;

/** Every command by id. */
export const COMMANDS: Readonly<Record<string, Command>> = table({
  "vramlens.openPanel": ({ panel, current }, argument) => panel.show(targetUri(argument, current.uri)),
  "vramlens.checkAll": ({ runs }) => runs.checkAll(),
  "vramlens.estimateFile": estimateFile,
  "vramlens.chooseDevice": ({ session, context, current }, argument) =>
    chooseDevice(session, context.globalState, targetUri(argument, current.uri)),
  "vramlens.applyPlan": (parts, argument) =>
    withFile(parts, argument, (uri) => applyPlan(parts.session, parts.previews, uri, false)),
  "vramlens.previewPlan": (parts, argument) =>
    withFile(parts, argument, (uri) => applyPlan(parts.session, parts.previews, uri, true)),
  "vramlens.applyPreviewed": applyPreviewed,
  "vramlens.pin": ({ session, current }, argument, key, value) =>
    pinFor(session, targetUri(argument, current.uri), key, value),
  "vramlens.pointToModel": ({ session, current }, argument) => pointToModel(session, targetUri(argument, current.uri)),
  "vramlens.chooseModel": ({ session, current }, argument) => chooseModel(session, targetUri(argument, current.uri)),
  "vramlens.applyBest": ({ session, previews, current }, argument) =>
    applyBest(session, previews, targetUri(argument, current.uri)),
  "vramlens.applyValues": ({ session, current }, argument, runId, set) =>
    applyValues(session, targetUri(argument, current.uri), runId, set),
  "vramlens.showLocalCard": showLocalCard,
  "vramlens.explainFailure": ({ failures }, argument) => explainFailure(failures, argument),
  "vramlens.traceModel": ({ context, session }, argument, name) =>
    withPython(argument, (uri) => traceModel(context, session, uri, typeof name === "string" ? name : undefined)),
  "vramlens.checkAgainstPytorch": ({ context, session }, argument) =>
    withPython(argument, (uri) => checkScript(context, session, uri)),
  "vramlens.copyReport": copyReport,
  "vramlens.toggle": toggle,
  "vramlens.restart": ({ session }) => session.restart(),
  "vramlens.copyDebugInfo": copyDebugInfo,
  "vramlens.showLogs": ({ channel }) => channel.show(),
});

/** Registers all commands; a failing one shows its error with a way to the logs. */
export function registerCommands(parts: Parts): vscode.Disposable {
  return vscode.Disposable.from(
    ...Object.entries(COMMANDS).map(([id, command]) =>
      vscode.commands.registerCommand(id, async (argument: unknown, ...more: unknown[]) => {
        try {
          await command(parts, argument, ...more);
        } catch (error) {
          parts.channel.error(error instanceof Error ? error : String(error));
          const logs = t("showLogs");
          const message = error instanceof Error ? error.message : String(error);
          const choice = await vscode.window.showErrorMessage(t("named", message), logs);
          if (choice === logs) parts.channel.show();
        }
      }),
    ),
  );
}

/** With the Python file that is named, else the one that is open. */
async function withPython(argument: unknown, act: (uri: vscode.Uri) => Promise<void>): Promise<void> {
  const open = vscode.window.activeTextEditor?.document;
  const uri = targetUri(argument, open?.languageId === "python" ? open.uri : undefined);
  if (uri !== undefined) return act(uri);
  void vscode.window.showInformationMessage(t("openPythonFile"));
}

async function withFile({ current }: Parts, argument: unknown, act: (uri: vscode.Uri) => Promise<void>): Promise<void> {
  const uri = targetUri(argument, current.uri);
  if (uri === undefined) {
    void vscode.window.showInformationMessage(t("openConfigFirst"));
    return;
  }
  await act(uri);
}

function report(session: Session, uri: vscode.Uri): Promise<ReportResult | null> {
  const params: ReportParams = { uri: uri.toString() };
  return session.request<ReportResult | null>(METHODS.report, params);
}

/** Estimates a file whether or not it was noticed, and says why when it is no training config. */
function estimateFile(parts: Parts, argument: unknown): Promise<void> {
  return withFile(parts, argument, async (uri) => {
    const result = await report(parts.session, uri);
    if (result !== null && result.recognised !== null) {
      parts.panel.show(uri);
      return;
    }
    const reason = result?.report.errors[0]?.message;
    const name = labelOf(uri);
    void vscode.window.showInformationMessage(
      reason === undefined ? t("notReadNoKeys", name) : t("notReadBecause", name, reason),
    );
  });
}

function copyReport(parts: Parts, argument: unknown): Promise<void> {
  return withFile(parts, argument, async (uri) => {
    const result = await report(parts.session, uri);
    if (result === null || result.report.runs.length === 0) {
      void vscode.window.showInformationMessage(t("noReport", labelOf(uri)));
      return;
    }
    await vscode.env.clipboard.writeText(reportMarkdown(result.report, labelOf(uri), t));
    vscode.window.setStatusBarMessage(t("reportCopied"), 3000);
  });
}

/** Runs the vendor's tool, which nothing but this command does. */
async function showLocalCard({ localCards, session, current }: Parts): Promise<void> {
  if (localCards === undefined) {
    void vscode.window.showInformationMessage(t("noCardInBrowser"));
    return;
  }
  const cards = await localCards();
  const { uri } = current;
  const run = uri === undefined ? null : (session.status(uri)?.run ?? null);
  const need =
    uri === undefined || run === null || run.usedPeakBytes === null
      ? undefined
      : { label: labelOf(uri), usedPeakBytes: run.usedPeakBytes };
  void vscode.window.showInformationMessage(localCardText(cards, need, t));
}

async function applyPreviewed({ previews }: Parts): Promise<void> {
  const outcome = await previews.apply();
  if (!outcome.ok) void vscode.window.showWarningMessage(outcome.message);
}

async function copyDebugInfo({ context, session, current }: Parts, argument: unknown): Promise<void> {
  await vscode.env.clipboard.writeText(debugInfo(context, session, targetUri(argument, current.uri)));
  vscode.window.setStatusBarMessage(t("debugInformationCopied"), 3000);
}

/** Where the master switch may be thrown, narrowest first. */
function switchTargets(uri: vscode.Uri | undefined): readonly { label: string; target: vscode.ConfigurationTarget }[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const folder = uri === undefined ? undefined : vscode.workspace.getWorkspaceFolder(uri);
  const { Global, Workspace, WorkspaceFolder } = vscode.ConfigurationTarget;
  return [
    ...(folders.length > 1 && folder !== undefined
      ? [{ label: t("onlyHere", folder.name), target: WorkspaceFolder }]
      : []),
    ...(folders.length > 0 ? [{ label: t("thisWorkspace"), target: Workspace }] : []),
    { label: t("everywhere"), target: Global },
  ];
}

/** The master switch. Asks where it is thrown, as nobody knows which of a person's projects are meant. */
async function toggle({ current }: Parts, argument: unknown): Promise<void> {
  const uri = targetUri(argument, current.uri);
  const settings = vscode.workspace.getConfiguration("vramlens", uri);
  const isOn = settings.get<boolean>("enable", true);
  const targets = switchTargets(uri);
  const title = isOn ? t("switchAllOff") : t("switchAllOn");
  const picked = targets.length === 1 ? targets[0] : await vscode.window.showQuickPick([...targets], { title });
  if (picked === undefined) return;
  await settings.update("enable", !isOn, picked.target);
  if (!isOn) return;
  const undo = t("switchOn");
  const choice = await vscode.window.showInformationMessage(t("isOff", picked.label), undo);
  if (choice === undo) await vscode.workspace.getConfiguration("vramlens", uri).update("enable", true, picked.target);
}
