/** Plans as cards: fitting ones first in the engine's order, each keeping the index the host knows it by. */
import type { ReportPlan, ReportRun } from "../../src/core/report/schema";

/**
 * A plan's title without what the card shows beside it: engines close a title with its figures in parentheses, as menus
 * have no other place for them.
 *
 * @returns the title, and what else the parentheses said
 */
export function splitTitle(title: string): { readonly title: string; readonly note: string } {
  const open = Math.max(title.lastIndexOf("("), title.lastIndexOf("（"));
  const said = title.slice(open + 1, -1);
  const head = title.slice(0, Math.max(0, open)).trimEnd();
  if (head === "" || !/[)）]$/.test(title) || /[)）]/.test(said) || !said.includes("GiB")) return { title, note: "" };
  const rest = said.split(/[,，]\s*/).filter((part) => !part.includes("GiB"));
  return { title: head, note: rest.join(", ") };
}

export interface PlanCard {
  /** Position in `run.plans`, which the host asks for. */
  readonly index: number;
  readonly plan: ReportPlan;
  readonly fits: boolean;
  readonly files: readonly string[];
}

/** How many cards are shown before the rest is asked for. */
export const FIRST_PLANS = 4;

export function plansOf(run: ReportRun): readonly PlanCard[] {
  const usable = run.devices.usableBytes ?? run.devices.memoryBytes;
  const cards = run.plans.map((plan, index) => ({
    index,
    plan,
    fits: plan.fits ?? (usable !== null && plan.usedPeakBytes <= usable),
    files: [...new Set(plan.edits.map((edit) => edit.uri))],
  }));
  return [...cards.filter((card) => card.fits), ...cards.filter((card) => !card.fits)];
}
