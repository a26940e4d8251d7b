/** The largest micro-batch that fits, and the accumulation that keeps the global batch. */
import { largestFitting } from "../../core/advise/inverse";
import type { RunAnalysis } from "../estimate/run-analysis";

export interface BatchChoice {
  readonly batch: number;
  readonly steps: number;
  /** Samples per optimizer step over all GPUs after the change. */
  readonly global: number;
  /** The global batch stays what it was. */
  readonly exact: boolean;
}

/** Batches looked at below the largest that fits. */
const MOST_TRIED = 4096;

function withBatch(batch: number, steps: number): Readonly<Record<string, string>> {
  return { micro_batch_size: String(batch), gradient_accumulation_steps: String(steps) };
}

function fitsWith(analysis: RunAnalysis, set: Readonly<Record<string, string>>): boolean {
  const most = analysis.base.usable ?? Number.POSITIVE_INFINITY;
  const { estimate, usable } = analysis.vary(set, "peaks", false, (bytes) => bytes > most);
  return estimate !== undefined && usable !== null && estimate.usedPeakBytes <= usable;
}

/** The largest micro-batch below the present one that fits with the same global batch. */
export function largestBatch(analysis: RunAnalysis): BatchChoice | undefined {
  const { run } = analysis.base.resolution;
  if (run === null) return undefined;
  const product = run.microBatchSize * run.gradientAccumulationSteps;
  // What does not fit by itself does not with more accumulation.
  const most = largestBatchAlone(analysis)?.batch ?? 0;
  for (let batch = most; batch >= Math.max(1, most - MOST_TRIED); batch--) {
    if (product % batch !== 0 || !fitsWith(analysis, withBatch(batch, product / batch))) continue;
    return { batch, steps: product / batch, global: product * run.parallel.worldSize, exact: true };
  }
  return undefined;
}

/** The largest micro-batch below the present one that fits with everything else as it is. */
export function largestBatchAlone(analysis: RunAnalysis): BatchChoice | undefined {
  const { run } = analysis.base.resolution;
  if (run === null || run.microBatchSize <= 1) return undefined;
  const steps = run.gradientAccumulationSteps;
  const batch = largestBelow(analysis, run.microBatchSize, (candidate) => withBatch(candidate, steps));
  return batch === undefined
    ? undefined
    : { batch, steps, global: batch * steps * run.parallel.worldSize, exact: false };
}

/** The largest evaluation batch below the present one with which the whole run fits. */
export function largestEvaluationBatch(analysis: RunAnalysis): number | undefined {
  const present = analysis.base.resolution.run?.evaluation?.batchSize ?? 1;
  return largestBelow(analysis, present, (batch) => ({ eval_batch_size: String(batch) }));
}

/** The largest count below `present` that fits, when what fits does so for every smaller count. */
function largestBelow(
  analysis: RunAnalysis,
  present: number,
  settings: (count: number) => Readonly<Record<string, string>>,
): number | undefined {
  const { usable } = analysis.base;
  if (present <= 1 || usable === null) return undefined;
  const tooMuch = (bytes: number): boolean => bytes > usable;
  const usedAt = (count: number): number | null =>
    analysis.vary(settings(count), "peaks", false, tooMuch).estimate?.usedPeakBytes ?? null;
  return largestFitting(usedAt, usable, present - 1, [1, present - 1, 1]) ?? undefined;
}
