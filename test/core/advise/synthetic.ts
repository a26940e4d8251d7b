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
  lion_8bit: 0.26,
  muon: 1.05,
  adamw_torch_4bit: 0.27,
  galore_adamw: 0.32,
  apollo_adamw: 0.08,
};

/** Shares of the model on one rank: of the weights, and of what a sample keeps of activations. */
function splitOf({ parallel }: TrainingRun): { readonly weights: number; readonly activations: number } {
  const { tensorParallel: tensor, pipelineParallel: stages, contextParallel: context, expertParallel } = parallel;
  // Experts are three fifths of the weights; each stage of a pipeline keeps as many micro-batches as there are stages.
  return {
    weights: (0.4 + 0.6 / expertParallel) / (tensor * stages),
    activations: (0.25 + 0.75 / tensor) / context,
  };
}

/** Bytes by phase, from the run's fields alone. */
export function synthetic(shape: Shape): (run: TrainingRun) => Estimate {
  return (run) => {
    const { deepspeed: zero, fsdp, worldSize: ranks, pipelineParallel } = run.parallel;
    const split = splitOf(run);
    const whole = shape.weights * split.weights;
    const share = (from: number) => (zero !== null && zero.zeroStage >= from ? 1 / ranks : 1);
    const half = run.autocast !== null || run.loadDtype !== "float32" ? 0.5 : 1;
    const stored = (run.loadDtype === "float32" ? 1 : 0.5) * (run.quantization === null ? 1 : 0.28);
    const trained = run.adapter === null ? 1 : 0.0005 * run.adapter.rank;
    const sharded = fsdp === null ? 1 : ((fsdp.cpuOffload ? 0.3 : 1.2) * (fsdp.replicas ?? 1)) / ranks;
    const away = (where: "none" | "cpu" | "nvme" | undefined, left: number, here: number): number =>
      where === undefined || where === "none" ? here : left;
    const gathered = fsdp?.sharding === "shard_grad_op" ? 1 : sharded;
    const weights = whole * stored * away(zero?.offloadParam, 0.05, share(3)) * gathered;
    // What uneven levers spend: 16-bit and 8-bit copies, float32 leftovers, buckets, what crosses between stages.
    const copies = run.autocast !== null && run.loadDtype === "float32" ? 0.3 * whole * trained : 0;
    const leftovers = run.quantization !== null ? 0.15 * whole : run.adapter !== null ? 0.05 * whole : 0;
    const buckets = zero !== null && zero.zeroStage > 0 ? 0.4 * zero.zeroStage : 0;
    const eighths = run.float8 == null ? 0 : 0.1 * whole;
    const crossing = 0.1 * (pipelineParallel - 1) + (run.offloadsActivations === undefined ? 0 : 0.2);
    const extra = copies + leftovers + buckets + eighths + crossing;
    const gradients = whole * (run.loadDtype === "float32" ? 1 : 0.5) * trained * share(2) * sharded;
    const moments = whole * trained * (run.loadDtype === "float32" ? 1 : 0.5) * (OPTIMIZER[run.optimizer.name] ?? 2);
    const states = moments * away(zero?.offloadOptimizer, 0, share(1)) * sharded;
    const samples = (run.microBatchSize * run.sequenceLength) / 2048;
    const eager = run.attention === "eager" ? 1.6 : 1;
    const kept = shape.activations * samples * half * eager * split.activations * (run.float8 == null ? 1 : 0.8);
    const checkpointed = run.checkpointing === null ? 1 : run.checkpointing.offloads === true ? 0.06 : 0.12;
    const activations = kept * checkpointed * (run.offloadsActivations === undefined ? 1 : 0.1);
    const logits = shape.logits * samples * split.activations * (run.fusedLoss ? 0.02 : 1);
    const steps = run.optimizer.name === "adamw_torch" ? gradients : 0;
    const waiting = (where: "cpu" | "nvme"): number =>
      Math.round(
        (GIB * ((zero?.offloadOptimizer === where ? 3 : 0) + (zero?.offloadParam === where ? 0.5 : 0)) * whole) / ranks,
      );
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
      trainedBytes: Math.round((weights + gradients) * GIB),
      components: [],
      modules: [],
      phases,
      timeline: { points: [], modules: [] },
      host: { pinnedBytes: waiting("cpu"), pageableBytes: 0, nvmeBytes: waiting("nvme") },
      assumptions: [],
      operators: null,
      events: 1,
      effort: 1,
    };
  };
}

const AWAY = { none: 1, cpu: 1.5, nvme: 3 } as const;
const LOW_RANK: ReadonlySet<string> = new Set(["galore_adamw", "apollo_adamw", "muon"]);

/** Made-up costs with the orderings of reality; multiplies over the levers. */
export const slower: TimeFactor = (base, changed) => {
  const cost = (run: TrainingRun) =>
    (run.checkpointing === null ? 1 : 1.3) *
    (run.autocast !== null || run.loadDtype !== "float32" ? 0.5 : 1) *
    (run.optimizer.name.includes("paged") ? 1.15 : 1) *
    (1 + 0.05 / run.microBatchSize) *
    AWAY[run.parallel.deepspeed?.offloadOptimizer ?? "none"] *
    AWAY[run.parallel.deepspeed?.offloadParam ?? "none"] ** 1.5 *
    (run.float8 == null ? 1 : 0.8) *
    (run.offloadsActivations === undefined ? 1 : 1.2) *
    (LOW_RANK.has(run.optimizer.name) ? 1.1 : 1) *
    (1 + 0.1 * Math.log2(run.parallel.tensorParallel) + 0.06 * Math.log2(run.parallel.contextParallel)) *
    (1 + 0.04 * (run.parallel.pipelineParallel - 1) + 0.03 * (run.parallel.expertParallel - 1)) *
    (1 + 0.05 * (run.parallel.deepspeed?.zeroStage ?? 0)) *
    (run.sequenceLength / 2048) *
    (run.adapter === null ? 1 : 0.7) *
    (run.quantization === null ? 1 : 1.3);
  return cost(changed.run) / cost(base.run);
};
