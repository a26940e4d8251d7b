/** Plans that make a run fit: searched by the core, written as edits of the files that are obeyed, and re-checked. */
import { LEVERS, MICRO_BATCH } from "../../core/advise/levers";
import { searchPlans } from "../../core/advise/search";
import type { LeverId, Plan } from "../../core/advise/types";
import { planTitle, planWhy } from "../../core/advise/words";
import type { ReportPlan } from "../../core/report/schema";
import type { TrainingRun } from "../../core/training/run";
import { size } from "../messages";
import type { RunAnalysis } from "../run-analysis";
import { editsFor } from "./edits";

const DEFAULT_RESERVE = 0.1;
/** Simulations a search may take: enough for every single change and the likely pairs. */
const MOST_ESTIMATES = 48;
const MOST_PLANS = 12;

/** Plans for a run that does not fit, or hardly; the smallest change first. Empty when none can be written. */
export function plansOf(analysis: RunAnalysis): ReportPlan[] {
  const { base, options } = analysis;
  const { run } = base.resolution;
  if (run === null || base.usable === null) return [];
  if (base.verdict !== "does-not-fit" && base.verdict !== "tight") return [];
  const reserve = Math.min(0.9, Math.max(0, options.reserve ?? DEFAULT_RESERVE));
  const { plans } = searchPlans(run, (changed) => analysis.estimateOf(changed) ?? null, {
    limitBytes: Math.floor(base.usable * (1 - reserve)),
    without: unwritable(analysis, run),
    maxEstimates: MOST_ESTIMATES,
  });
  return plans
    .flatMap((plan) => {
      const written = writtenPlan(analysis, plan);
      return written === undefined ? [] : [written];
    })
    .slice(0, MOST_PLANS);
}

/** Levers whose settings no file of the run can hold: LoRA in a config without adapter keys, for example. */
function unwritable(analysis: RunAnalysis, run: TrainingRun): LeverId[] {
  return [...LEVERS, MICRO_BATCH].flatMap((lever) => {
    const option = lever.options(run)[0];
    if (option === undefined) return [];
    const result = editsFor(analysis.inputs, analysis.base.resolution, option.settings);
    return "refused" in result || result.edits.length === 0 ? [lever.id] : [];
  });
}

/** The plan as edits, with the estimate that reading the edited files will give. */
function writtenPlan(analysis: RunAnalysis, plan: Plan): ReportPlan | undefined {
  const result = editsFor(analysis.inputs, analysis.base.resolution, plan.settings);
  if ("refused" in result || result.edits.length === 0) return undefined;
  const set = Object.fromEntries(plan.settings.map(({ name, value }) => [name, String(value)]));
  const after = analysis.vary(set);
  if (after.estimate === undefined || after.usable === null || after.estimate.usedPeakBytes > after.usable)
    return undefined;
  const used = after.estimate.usedPeakBytes;
  return {
    title: `${planTitle(plan, analysis.locale)} (${size(used)})`,
    levers: plan.steps.map((step) => step.lever),
    usedPeakBytes: used,
    savesBytes: (analysis.base.estimate?.usedPeakBytes ?? used) - used,
    stepTimeFactor: Math.round(100 * plan.stepTimeFactor) / 100,
    edits: [...result.edits],
    fits: true,
    changes: plan.effect,
    why: planWhy(plan, analysis.locale),
  };
}
