/** Levers that spread the run over GPUs, and add GPUs. */

import type { SettingName } from "../../../terms/settings";
import { DIMENSIONS } from "../../graph/dimensions";
import { DEVICES_PER_MACHINE } from "../../hardware/devices";
import { modelParallelSize } from "../../training/parallel/degrees";
import type { TrainingRun } from "../../training/run";
import { atBatch } from "../../training/trainers/pace";
import type { Lever, LeverId, LeverOption } from "../types";
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
        run: { ...atBatch(withParallel(run, { worldSize: ranks }), micro, each / micro, times), device },
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
function degrees(
  kind: "tensorParallel" | "contextParallel" | "pipelineParallel",
  name: SettingName,
): (run: TrainingRun) => LeverOption[] {
  return (run) => {
    const { worldSize } = run.parallel;
    const now = run.parallel[kind];
    return [2, 4, 8].flatMap((degree): LeverOption[] => {
      const all = (modelParallelSize(run.parallel) * degree) / now;
      if (degree <= now || worldSize % all !== 0) return [];
      const steps = run.gradientAccumulationSteps * (degree / now);
      return [
        {
          value: degree,
          run: atBatch(withParallel(run, { [kind]: degree }), run.microBatchSize, steps),
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

const tensors = degrees("tensorParallel", "tensor_parallel");
const contexts = degrees("contextParallel", "context_parallel");
const stages = degrees("pipelineParallel", "pipeline_parallel");

/** Stages of whole layers, and a micro-batch for each of them at least: fewer would leave stages without work. */
function pipelined(run: TrainingRun): LeverOption[] {
  const layers = sizeOf(run, DIMENSIONS.layers);
  const trained = run.adapter === null && run.quantization === null && run.parallel.deepspeed === null;
  return trained
    ? stages(run).filter(
        ({ value, run: changed }) => Number(value) <= layers && changed.gradientAccumulationSteps >= Number(value),
      )
    : [];
}

/** Experts spread over the ranks that hold different samples: what each of them learns from stays the same. */
function spreadExperts(run: TrainingRun): LeverOption[] {
  const experts = sizeOf(run, DIMENSIONS.experts);
  const { worldSize, expertParallel, tensorParallel, pipelineParallel } = run.parallel;
  return [2, 4, 8].flatMap((degree) =>
    degree > expertParallel && experts % degree === 0 && worldSize % (tensorParallel * pipelineParallel * degree) === 0
      ? one(degree, withParallel(run, { expertParallel: degree }), set("expert_parallel", degree))
      : [],
  );
}

/** A size of the model's config under the first of its names that is there; 1 when none is. */
function sizeOf({ model }: TrainingRun, names: readonly string[]): number {
  return Number(names.map((name) => model.config[name]).find((value) => typeof value === "number") ?? 1);
}

/**
 * A lever that splits the model itself: the first thing to do in frameworks that are made for it, elsewhere a second
 * choice.
 */
function splitting(id: LeverId, options: Lever["options"]): Lever[] {
  const own = (run: TrainingRun): boolean => run.ownCode === true;
  return [
    lever(id, "nothing", (run) => (own(run) ? options(run) : []), { uneven: true }),
    lever(id, "nothing", (run) => (own(run) ? [] : options(run)), { uneven: true, rare: true }),
  ];
}

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
  ...splitting("tensor-parallel", tensors),
  // Megatron's switch: what lies between the split matrices is split along the tokens (core/tensor_parallel/mappings.py).
  lever("sequence-parallel", "nothing", (run) =>
    run.parallel.tensorParallel > 1 && run.parallel.sequenceParallel !== true
      ? one("on", withParallel(run, { sequenceParallel: true }), set("sequence_parallelism", true))
      : [],
  ),
  ...splitting("pipeline-parallel", pipelined),
  ...splitting("expert-parallel", spreadExperts),
  ...splitting(
    "context-parallel",
    // torch's `context_parallel` runs SDPA only, and accelerate wants FSDP2 with it (accelerate/accelerator.py).
    (run) =>
      run.parallel.fsdp?.version === 2 && run.attention === "sdpa" && run.task === "causal-lm" ? contexts(run) : [],
  ),
];
