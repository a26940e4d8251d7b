/**
 * The loop that the reference runs. It is plain PyTorch, and lets a micro-batch go before the next, where transformers' Trainer
 * holds all of a step (`get_batch_samples`). Pages that compare peaks ask for this loop, so that what differs is the model and
 * the step; scripts that the Trainer itself ran are in `test/analysis/scripts`.
 */
import type { Analyzer } from "../src/analysis/analyzer";
import { analyzerWith } from "../src/analysis/create";
import { Estimator } from "../src/analysis/estimate/estimator";
import type { Runtime } from "../src/analysis/runtime";
import type { EstimateResult } from "../src/core/estimate";

class ReferenceLoop extends Estimator {
  override estimate(...[run, ...others]: Parameters<Estimator["estimate"]>): EstimateResult {
    const { keepsBatches, ...rest } = run;
    return super.estimate(rest, ...others);
  }
}

/** An analyzer that takes each run's loop for the reference's. */
export function referenceAnalyzer(runtime: Runtime): Analyzer {
  return analyzerWith(runtime, new ReferenceLoop());
}
