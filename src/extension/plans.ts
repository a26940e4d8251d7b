/** Choosing a plan from a list: apply it, or look at its changes first. */
import * as vscode from "vscode";
import type { ReportPlan, ReportRun } from "../core/report/schema";
import {
  type EditsResult,
  METHODS,
  type PlanEditsParams,
  type ReportParams,
  type ReportResult,
} from "../server/protocol";
import { applyEdits } from "./applyEdits";
import type { PreviewHost } from "./preview";
import type { Session } from "./session";
import { gib } from "./statusText";

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
  const { t } = vscode.l10n;
  const params: ReportParams = { uri: uri.toString() };
  const result = await session.request<ReportResult | null>(METHODS.report, params);
  const items = (result?.report.runs ?? []).flatMap((run) =>
    run.plans.map((plan, index) => planItem(run, plan, index)),
  );
  if (items.length === 0) {
    void vscode.window.showInformationMessage(t("There is no plan for this file: it fits, or too little is known."));
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

/** Step times from this factor on are said as one. */
const MANY_TIMES = 2.5;

function planItem(run: ReportRun, plan: ReportPlan, index: number): PlanItem {
  const { t } = vscode.l10n;
  const { stepTimeFactor: factor } = plan;
  const slower = Math.round((factor - 1) * 100);
  const time =
    factor >= MANY_TIMES
      ? t("{0}× slower", Math.round(factor))
      : slower === 0
        ? t("same speed")
        : slower > 0
          ? t("{0} % slower", slower)
          : t("{0} % faster", -slower);
  return {
    run,
    index,
    label: plan.title,
    description: plan.title.includes("GiB") ? time : `${gib(plan.usedPeakBytes)} GiB · ${time}`,
    ...(plan.why === undefined ? {} : { detail: plan.why }),
    buttons: [{ iconPath: new vscode.ThemeIcon("open-preview"), tooltip: t("Preview changes") }],
  };
}

function pick(
  items: readonly PlanItem[],
  preview: boolean,
): Promise<{ readonly item: PlanItem; readonly preview: boolean } | undefined> {
  const { t } = vscode.l10n;
  const list = vscode.window.createQuickPick<PlanItem>();
  list.items = items;
  list.title = preview ? t("Plan to preview") : t("Plan to apply");
  list.matchOnDescription = true;
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
