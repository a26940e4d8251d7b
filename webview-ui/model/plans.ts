/** Plans as cards: fitting ones first in the engine's order, each keeping the index the host knows it by. */
import type { ReportPlan, ReportRun } from "../../src/core/report/schema";

/** A plan's title without its peak, which the card shows beside it; menus have no other place for the figure. */
export function bareTitle(title: string): string {
  return title.replace(/(?:: |：)[\d.,]+ GiB$/, "");
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
