/** Choosing a plan from a list: apply it, or look at its changes first. */
import * as vscode from "vscode";
import type { ReportPlan, ReportRun } from "../core/report/schema";
import {
  type EditsResult,
  METHODS,
  type PlanEditsParams,
  type ReportParams,
  type ReportResult,
  type WhatIfParams,
} from "../server/protocol";
import { gib } from "../terms/sizes";
import { printable } from "../words/printable";
import { applyEdits, type Outcome } from "./applyEdits";
import { labelOf } from "./documents";
import type { PreviewHost } from "./preview";
import type { Session } from "./session";
import { t } from "./words";

interface PlanItem extends vscode.QuickPickItem {
  readonly run: ReportRun;
  readonly index: number;
}

/** Shows the plans of a document; the list's button previews, accepting applies. */
export async function applyPlan(
  session: Session,
  previews: PreviewHost,
  uri: vscode.Uri,
  preview: boolean,
): Promise<void> {
  const params: ReportParams = { uri: uri.toString() };
  const result = await session.request<ReportResult | null>(METHODS.report, params);
  const items = (result?.report.runs ?? []).flatMap((run) =>
    run.plans.map((plan, index) => planItem(run, plan, index)),
  );
  if (items.length === 0) {
    tellNoPlan(uri, result);
    return;
  }
  const picked = await pick(items, preview);
  if (picked === undefined) return;
  const { run, index } = picked.item;
  const plan = run.plans[index];
  if (plan === undefined) return;
  const asked: PlanEditsParams = { uri: uri.toString(), runId: run.id, planIndex: index, title: plan.title };
  const edits = await session.request<EditsResult>(METHODS.planEdits, asked);
  const outcome = await (picked.preview ? previews.show(edits) : applyEdits(edits));
  if (!outcome.ok) void vscode.window.showWarningMessage(outcome.message);
}

/** The peak at the end of a plan's title. */
const SIZE = /(?:: |：)[\d.,]+ GiB$/;

function planItem(run: ReportRun, plan: ReportPlan, index: number): PlanItem {
  return {
    run,
    index,
    label: plan.title.replace(SIZE, ""),
    // A line of its own: behind a long title the figures would be cut off.
    detail: `${gib(plan.usedPeakBytes)} GiB · ${plan.says}`,
    buttons: [{ iconPath: new vscode.ThemeIcon("open-preview"), tooltip: t("previewChanges") }],
  };
}

function pick(
  items: readonly PlanItem[],
  preview: boolean,
): Promise<{ readonly item: PlanItem; readonly preview: boolean } | undefined> {
  const list = vscode.window.createQuickPick<PlanItem>();
  list.items = items;
  list.title = preview ? t("planPreview") : t("planApply");
  list.matchOnDetail = true;
  return new Promise((resolve) => {
    const done = (choice: { item: PlanItem; preview: boolean } | undefined) => {
      resolve(choice);
      list.dispose();
    };
    list.onDidAccept(() => {
      const item = list.selectedItems[0];
      done(item === undefined ? undefined : { item, preview });
    });
    list.onDidTriggerItemButton(({ item }) => done({ item, preview: true }));
    list.onDidHide(() => done(undefined));
    list.show();
  });
}

/** Applies the first plan of a document's run, from a link in its hover; one that changes results is shown first. */
export async function applyBest(session: Session, previews: PreviewHost, uri: vscode.Uri | undefined): Promise<void> {
  if (uri === undefined) return;
  const params: ReportParams = { uri: uri.toString() };
  const result = await session.request<ReportResult | null>(METHODS.report, params);
  const run = result?.report.runs.find(({ plans }) => plans.length > 0);
  const [plan] = run?.plans ?? [];
  if (run === undefined || plan === undefined) {
    tellNoPlan(uri, result);
    return;
  }
  const asked: PlanEditsParams = { uri: uri.toString(), runId: run.id, planIndex: 0, title: plan.title };
  const edits = await session.request<EditsResult>(METHODS.planEdits, asked);
  tell(await (plan.changes === "nothing" ? applyEdits(edits) : previews.show(edits)), plan);
}

/** Writes values into the files, from a link in a hover. */
export async function applyValues(
  session: Session,
  uri: vscode.Uri | undefined,
  runId: unknown,
  set: unknown,
): Promise<void> {
  if (uri === undefined || typeof runId !== "string" || typeof set !== "object" || set === null) return;
  const values = Object.fromEntries(Object.entries(set).map(([name, value]) => [name, String(value)]));
  const params: WhatIfParams = { uri: uri.toString(), runId, set: values };
  tell(await applyEdits(await session.request<EditsResult>(METHODS.whatIfEdits, params)));
}

/** Why there is no plan: the run's verdict, or that the file is no run. */
function tellNoPlan(uri: vscode.Uri, result: ReportResult | null): void {
  const { verdict = "", detail = "" } = result?.report.runs[0]?.statement ?? {};
  const said = [verdict, detail].filter((part) => part !== "").join(" · ");
  void vscode.window.showInformationMessage(said === "" ? t("notRead", labelOf(uri)) : t("noPlan", printable(said)));
}

function tell({ ok, message }: Outcome, plan?: ReportPlan): void {
  if (!ok) void vscode.window.showWarningMessage(message);
  else vscode.window.setStatusBarMessage(plan === undefined ? message : `${message} · ${plan.says}`, 5000);
}
