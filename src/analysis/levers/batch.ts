/** The largest micro-batch that fits, and the accumulation that keeps the global batch. */
import type { RunAnalysis } from "../run-analysis";

export interface BatchChoice {
  readonly batch: number;
  readonly steps: number;
  /** Samples per optimizer step over all GPUs after the change. */
  readonly global: number;
  /** The global batch stays what it was. */
  readonly exact: boolean;
}

function fits(analysis: RunAnalysis, batch: number, steps: number): boolean {
  const set = { micro_batch_size: String(batch), gradient_accumulation_steps: String(steps) };
  const { estimate, usable } = analysis.vary(set, "peaks");
  return estimate !== undefined && usable !== null && estimate.usedPeakBytes <= usable;
}

/** The largest micro-batch below the present one that fits with the same global batch. */
export function largestBatch(analysis: RunAnalysis): BatchChoice | undefined {
  const { run } = analysis.base.resolution;
  if (run === null) return undefined;
  const product = run.microBatchSize * run.gradientAccumulationSteps;
  for (let batch = run.microBatchSize - 1; batch >= 1; batch--) {
    if (product % batch !== 0 || !fits(analysis, batch, product / batch)) continue;
    return { batch, steps: product / batch, global: product * run.parallel.worldSize, exact: true };
  }
  return undefined;
}

/** The largest micro-batch below the present one that fits with everything else as it is. */
export function largestBatchAlone(analysis: RunAnalysis): BatchChoice | undefined {
  const { run } = analysis.base.resolution;
  if (run === null || run.microBatchSize <= 1) return undefined;
  const steps = run.gradientAccumulationSteps;
  if (!fits(analysis, 1, steps)) return undefined;
  let low = 1;
  let high = run.microBatchSize;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(analysis, middle, steps)) low = middle;
    else high = middle;
  }
  return { batch: low, steps, global: low * steps * run.parallel.worldSize, exact: false };
}
