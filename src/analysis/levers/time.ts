/**
 * Step time of a changed run over the run as it is, from what dominates a step: arithmetic that is added
 * (recomputation), work that moves to the host, and how well small batches fill a card. Coarse: it ranks plans.
 */
import type { TrainingRun } from "../../core/training/run";

/** Forward is a third of the arithmetic of a step; checkpointing runs it once more. */
const RECOMPUTATION = 4 / 3;
const OPTIMIZER_ON_HOST = 1.5;
const PARAMETERS_ON_HOST = 1.6;
/** Fewer samples per launch: each halving loses a little of the card's throughput. */
const PER_HALVING = 1.03;
const ZERO_STAGE = [1, 1, 1.05, 1.2] as const;
const DEQUANTIZATION = 1.3;
/** Frozen weights need no weight gradients: a third of the arithmetic goes. */
const ADAPTERS = 0.72;
const HALF_PRECISION = 0.5;

function cost(run: TrainingRun): number {
  const { deepspeed, fsdp } = run.parallel;
  let factor = run.microBatchSize * run.gradientAccumulationSteps * Math.max(1, run.sequenceLength);
  factor *= PER_HALVING ** -Math.log2(run.microBatchSize);
  if (run.checkpointing !== null) factor *= RECOMPUTATION;
  if (run.adapter !== null) factor *= ADAPTERS;
  if (run.quantization !== null) factor *= DEQUANTIZATION;
  if (run.autocast !== null || run.loadDtype !== "float32" || deepspeed?.engineDtype != null) factor *= HALF_PRECISION;
  if (deepspeed !== null) {
    factor *= ZERO_STAGE[deepspeed.zeroStage];
    if (deepspeed.offloadOptimizer !== "none") factor *= OPTIMIZER_ON_HOST;
    if (deepspeed.offloadParam !== "none") factor *= PARAMETERS_ON_HOST;
  }
  if (fsdp !== null) factor *= ZERO_STAGE[3];
  return factor;
}

export function stepTimeFactor(base: TrainingRun, changed: TrainingRun): number {
  return Math.round((100 * cost(changed)) / cost(base)) / 100;
}
