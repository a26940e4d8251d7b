/** Levers that spread the run over GPUs, and add GPUs. */

import { DEVICES_PER_MACHINE } from "../../hardware/devices";
import type { TrainingRun } from "../../training/run";
import type { Lever, LeverOption } from "../types";
import { divisorsBelow } from "./batch";
import { lever, older, one, set, withDeepSpeed, withParallel } from "./build";

const MOST_DEVICES = 64;

/** As accelerate shards when it is asked to; a machine's own share of it on several machines. */
function shardings(run: TrainingRun): LeverOption[] {
  const { fsdp, worldSize } = run.parallel;
  if (worldSize < 2 || run.parallel.deepspeed !== null || run.quantization !== null) return [];
  const kinds = ["shard_grad_op", "hybrid_shard", "full_shard"] as const;
  const now = fsdp === null ? -1 : (kinds as readonly string[]).indexOf(fsdp.sharding);
  const wanted =
    fsdp === null ? [...(worldSize > DEVICES_PER_MACHINE ? kinds.slice(1) : kinds.slice(2))] : kinds.slice(now + 1);
  return wanted
    .filter((kind) => kind !== "hybrid_shard" || worldSize > DEVICES_PER_MACHINE)
    .map((sharding) => ({
      value: sharding,
      run: withParallel(run, {
        fsdp: {
          version: older(run.libraries.transformers, 5) ? 1 : 2,
          cpuOffload: false,
          ...fsdp,
          sharding,
          replicas: sharding === "hybrid_shard" ? Math.ceil(worldSize / DEVICES_PER_MACHINE) : 1,
          reshardAfterForward: sharding !== "shard_grad_op",
        },
      }),
      settings: [set("fsdp", sharding)],
    }));
}

/** Twice, four and eight times as many GPUs with the same global batch: less accumulation, then smaller micro-batches. */
function moreDevices(run: TrainingRun): LeverOption[] {
  const { worldSize } = run.parallel;
  const product = run.microBatchSize * run.gradientAccumulationSteps;
  return [2, 4, 8].flatMap((times): LeverOption[] => {
    const ranks = worldSize * times;
    if (ranks > MOST_DEVICES || product % times !== 0) return [];
    const each = product / times;
    const micro =
      [run.microBatchSize, ...divisorsBelow(each, run.microBatchSize)].find((size) => each % size === 0) ?? 1;
    const device = run.device === null ? null : { ...run.device, count: Math.max(run.device.count, ranks) };
    return [
      {
        value: ranks,
        run: {
          ...withParallel(run, { worldSize: ranks }),
          device,
          microBatchSize: micro,
          gradientAccumulationSteps: each / micro,
        },
        settings: [
          set("world_size", ranks),
          ...(micro === run.microBatchSize ? [] : [set("micro_batch_size", micro)]),
          ...(each / micro === run.gradientAccumulationSteps ? [] : [set("gradient_accumulation_steps", each / micro)]),
        ],
      },
    ];
  });
}

/** Degrees up to a machine that divide the ranks, with the accumulation that keeps the global batch. */
function degrees(kind: "tensorParallel" | "contextParallel", name: string): (run: TrainingRun) => LeverOption[] {
  return (run) => {
    const { worldSize, tensorParallel, contextParallel } = run.parallel;
    const now = run.parallel[kind];
    return [2, 4, 8].flatMap((degree): LeverOption[] => {
      const all = (tensorParallel * contextParallel * degree) / now;
      if (degree <= now || worldSize % all !== 0) return [];
      const steps = run.gradientAccumulationSteps * (degree / now);
      return [
        {
          value: degree,
          run: { ...withParallel(run, { [kind]: degree }), gradientAccumulationSteps: steps },
          settings: [
            set(name, degree),
            set("gradient_accumulation_steps", steps),
            set("dp_shard_size", worldSize / all),
          ],
        },
      ];
    });
  };
}

const contexts = degrees("contextParallel", "context_parallel");

export const SPREAD: readonly Lever[] = [
  ...([1, 2, 3] as const).map((stage) =>
    lever(
      "zero-stage",
      "nothing",
      (run) => {
        const { deepspeed, worldSize } = run.parallel;
        return deepspeed !== null && worldSize >= 2 && deepspeed.zeroStage < stage
          ? one(stage, withDeepSpeed(run, { zeroStage: stage }), set("zero_stage", stage))
          : [];
      },
      { uneven: true },
    ),
  ),
  lever("fsdp", "nothing", shardings, { uneven: true }),
  lever("more-gpus", "nothing", moreDevices, { requires: [{ kind: "devices", name: "more" }], uneven: true }),
  lever("tensor-parallel", "nothing", degrees("tensorParallel", "tensor_parallel"), { uneven: true, rare: true }),
  lever(
    "context-parallel",
    "nothing",
    // torch's `context_parallel` runs SDPA only, and accelerate wants FSDP2 with it (accelerate/accelerator.py).
    (run) =>
      run.parallel.fsdp?.version === 2 && run.attention === "sdpa" && run.task === "causal-lm" ? contexts(run) : [],
    { uneven: true, rare: true },
  ),
];
