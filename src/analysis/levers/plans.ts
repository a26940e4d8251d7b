/** Plans that make a run fit: searched by the core, written as edits of the files that are obeyed, and re-checked. */
import { fitsHost, fitsWithin } from "../../core/advise/limits";
import { searchPlans } from "../../core/advise/search";
import type { Plan } from "../../core/advise/types";
import { planTitle, planWhy } from "../../core/advise/words";
import type { ReportPlan } from "../../core/report/schema";
import type { RunAnalysis } from "../estimate/run-analysis";
import { documentProblems } from "../findings/collect";
import { Facts } from "../findings/rule";
import { ruleProblems } from "../findings/run-rules";
import { size, t } from "../messages";
import { planSaid } from "../report/statement";
import { limitsOf, searchOptionsOf } from "./allowed";
import { editsFor } from "./edits";
import { needsOf } from "./needs";

/** Simulations a search may take: enough for every single change and the likely pairs. */
const MOST_ESTIMATES = 48;
/** Simulations after which a search that has plans looks for better ones only where there is promise. */
const ENOUGH_ESTIMATES = 16;
const MOST_PLANS = 12;

/** Plans for a run that does not fit, or hardly; the smallest change first. Empty when none can be written. */
export async function plansOf(analysis: RunAnalysis): Promise<ReportPlan[]> {
  const { base } = analysis;
  const { run } = base.resolution;
  if (run === null || base.usable === null) return [];
  const short = base.estimate !== undefined && !fitsHost(base.estimate, limitsOf(analysis, run, base.usable));
  if (base.verdict !== "does-not-fit" && base.verdict !== "tight" && !short) return [];
  const { plans } = searchPlans(run, (changed, enough) => analysis.estimateOf(changed, enough) ?? null, {
    ...searchOptionsOf(analysis, run, base.usable),
    maxEstimates: MOST_ESTIMATES,
    enoughEstimates: ENOUGH_ESTIMATES,
  });
  const written: ReportPlan[] = [];
  for (const plan of plans) {
    const found = written.length < MOST_PLANS && !analysis.cutShort ? await writtenPlan(analysis, plan) : undefined;
    if (found !== undefined) written.push(found);
  }
  return written;
}

/** What the libraries would stop at: a plan must not bring in anything new. */
function errorsOf({ inputs, base }: RunAnalysis): readonly string[] {
  const problems = [
    ...documentProblems(inputs, base.resolution, base.result),
    ...ruleProblems(new Facts(inputs, base.resolution, base.estimate, base.usable)),
  ];
  return problems.filter(({ severity }) => severity === "error").map(({ code }) => code);
}

/** The plan as edits, with what the engine says of the edited files: what is promised is what the hover says next. */
async function writtenPlan(analysis: RunAnalysis, plan: Plan): Promise<ReportPlan | undefined> {
  const result = editsFor(analysis.inputs, analysis.base.resolution, plan.settings);
  if ("refused" in result || result.edits.length === 0) return undefined;
  const again = await analysis.reread(result.edits);
  const after = again?.base;
  if (again !== undefined) analysis.spend(again);
  const run = after?.resolution.run;
  if (again === undefined || after?.estimate === undefined || after.usable === null || run == null) return undefined;
  if (!fitsWithin(after.estimate, limitsOf(again, run, after.usable, 0))) return undefined;
  if (errorsOf(again).some((code) => !errorsOf(analysis).includes(code))) return undefined;
  const used = after.estimate.usedPeakBytes;
  const cost = {
    usedPeakBytes: used,
    savesBytes: (analysis.base.estimate?.usedPeakBytes ?? used) - used,
    stepTimeFactor: Math.round(100 * plan.stepTimeFactor) / 100,
    changes: plan.effect,
  };
  return {
    ...cost,
    says: planSaid(cost, analysis.locale),
    title: t(analysis.locale, "said.plan", { title: planTitle(plan, analysis.locale), size: size(used) }),
    levers: plan.steps.map((step) => step.lever),
    edits: [...result.edits],
    fits: true,
    needs: needsOf(plan.requires, analysis.locale),
    why: planWhy(plan, analysis.locale),
  };
}
