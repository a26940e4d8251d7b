/** A run and an estimator of a few lines, in which every lever acts as it does in reality: upwards only where marked. */
import type { TimeFactor } from "../../../src/core/advise/types";
import type { Estimate, Phase } from "../../../src/core/report/estimate";
import type { TrainingRun } from "../../../src/core/training/run";
import { causalRun } from "../runs";

export const GIB = 2 ** 30;

export const RUN: TrainingRun = causalRun({
  model: { name: "test", family: "llama", config: {}, source: "catalogue" },
  microBatchSize: 8,
  sequenceLength: 2048,
  gradientAccumulationSteps: 2,
  optimizer: { name: "adamw_torch", args: {} },
  device: { name: "NVIDIA GeForce RTX 4090", memoryBytes: 24564 * 2 ** 20, architecture: "ada", count: 1 },
});

export const ZERO: TrainingRun = {
  ...RUN,
  parallel: {
    ...RUN.parallel,
    worldSize: 8,
    deepspeed: {
      zeroStage: 0,
      offloadOptimizer: "none",
      offloadParam: "none",
      pinMemory: true,
      overlapComm: false,
      contiguousGradients: true,
      reduceBucketSize: 5e8,
      allgatherBucketSize: 5e8,
      stage3PrefetchBucketSize: 5e7,
      stage3ParamPersistenceThreshold: 1e5,
      stage3MaxLiveParameters: 1e9,
      stage3MaxReuseDistance: 1e9,
      subGroupSize: 1e9,
      gradAccumDtype: null,
      hpzPartitionSize: 1,
      engineDtype: "bfloat16",
    },
  },
};

/** Sizes of the made-up model in GiB: weights in float32, activations and logits of one sample of 2048 tokens. */
export interface Shape {
  readonly weights: number;
  readonly activations: number;
  readonly logits: number;
  readonly overhead: number;
}

const OPTIMIZER: Readonly<Record<string, number>> = {
  adamw_torch: 2,
  adamw_torch_fused: 2,
  adamw_bnb_8bit: 0.51,
  paged_adamw_8bit: 0.1,
  adafactor: 0.02,
};

/** Bytes by phase, from the run's fields alone. */
export function synthetic(shape: Shape): (run: TrainingRun) => Estimate {
  return (run) => {
    const zero = run.parallel.deepspeed;
    const ranks = run.parallel.worldSize;
    const share = (from: number) => (zero !== null && zero.zeroStage >= from ? 1 / ranks : 1);
    const half = run.autocast !== null || run.loadDtype !== "float32" ? 0.5 : 1;
    const stored = (run.loadDtype === "float32" ? 1 : 0.5) * (run.quantization === null ? 1 : 0.28);
    const trained = run.adapter === null ? 1 : 0.0005 * run.adapter.rank;
    const fsdp = run.parallel.fsdp === null ? 1 : (run.parallel.fsdp.cpuOffload ? 0.3 : 1.2) / ranks;
    const weights = shape.weights * stored * (zero?.offloadParam === "cpu" ? 0.05 : share(3)) * fsdp;
    // What uneven levers spend: 16-bit copies, float32 leftovers, buckets.
    const copies = run.autocast !== null && run.loadDtype === "float32" ? 0.3 * shape.weights * trained : 0;
    const leftovers =
      run.quantization !== null ? 0.15 * shape.weights : run.adapter !== null ? 0.05 * shape.weights : 0;
    const buckets = zero !== null && zero.zeroStage > 0 ? 0.4 * zero.zeroStage : 0;
    const extra = copies + leftovers + buckets;
    const gradients = shape.weights * (run.loadDtype === "float32" ? 1 : 0.5) * trained * share(2) * fsdp;
    const states =
      shape.weights *
      trained *
      (run.loadDtype === "float32" ? 1 : 0.5) *
      (OPTIMIZER[run.optimizer.name] ?? 2) *
      (zero?.offloadOptimizer === "cpu" ? 0 : share(1)) *
      fsdp;
    const samples = (run.microBatchSize * run.sequenceLength) / 2048;
    const eager = run.attention === "eager" ? 1.6 : 1;
    const activations = shape.activations * samples * half * eager * (run.checkpointing === null ? 1 : 0.12);
    const logits = shape.logits * samples * (run.fusedLoss ? 0.02 : 1);
    const steps = run.optimizer.name === "adamw_torch" ? gradients : 0;
    const peaks: readonly (readonly [Phase, number])[] = [
      ["load", weights],
      ["forward", weights + states + activations + extra],
      ["loss", weights + states + activations + logits + extra],
      ["backward", weights + states + activations * 0.8 + gradients + logits * 0.5 + extra],
      ["optimizer", weights + states + gradients + steps],
    ];
    const phases = peaks.map(([phase, gib]) => ({ phase, peakBytes: Math.round(gib * GIB) }));
    const peak = Math.max(...phases.map(({ peakBytes }) => peakBytes));
    const used = peak + Math.round(shape.overhead * GIB);
    return {
      parameters: 1,
      trainableParameters: 1,
      allocatedPeakBytes: peak,
      reservedPeakBytes: peak,
      usedPeakBytes: used,
      band: { lowBytes: used, highBytes: used, coverage: 0.99 },
      peakPhase: "backward",
      residentBytes: Math.round((weights + states) * GIB),
      components: [],
      modules: [],
      phases,
      timeline: [],
      host: { pinnedBytes: 0, pageableBytes: 0, nvmeBytes: 0 },
      assumptions: [],
      operators: null,
    };
  };
}

/** Made-up costs with the orderings of reality; multiplies over the levers. */
export const slower: TimeFactor = (base, changed) => {
  const cost = (run: TrainingRun) =>
    (run.checkpointing === null ? 1 : 1.3) *
    (run.autocast !== null || run.loadDtype !== "float32" ? 0.5 : 1) *
    (run.optimizer.name.includes("paged") ? 1.15 : 1) *
    (1 + 0.05 / run.microBatchSize) *
    (run.parallel.deepspeed?.offloadOptimizer === "cpu" ? 1.5 : 1) *
    (run.parallel.deepspeed?.offloadParam === "cpu" ? 2 : 1) *
    (1 + 0.05 * (run.parallel.deepspeed?.zeroStage ?? 0)) *
    (run.sequenceLength / 2048) *
    (run.adapter === null ? 1 : 0.7) *
    (run.quantization === null ? 1 : 1.3);
  return cost(changed.run) / cost(base.run);
};
