/** The parallel part of a run: DeepSpeed as HF fills it, FSDP, and the degrees. */

import { hiddenSize } from "../../core/graph/config";
import { DIMENSIONS } from "../../core/graph/dimensions";
import type {
  DdpSpec,
  DeepSpeedSpec,
  MainParametersSpec,
  ModelConfig,
  OffloadTarget,
  ParallelSpec,
} from "../../core/training/run";
import { DEEPSPEED_KEYS } from "../../formats/deepspeed/keys";
import { floatNamed } from "../../terms/dtypes";
import type { SettingName } from "../../terms/settings";
import { table } from "../../terms/table";
import { say } from "../../words/message";
import { defaultOf } from "../frameworks/defaults";
import { hasMainParameters } from "../frameworks/frameworks";
import type { Settings } from "../frameworks/settings";
import { holds } from "../frameworks/versions";
import type { ResolveContext } from "./context";
import { fsdpSpec } from "./fsdp";
import { oneProcessOf } from "./one-process";

/** What `bf16` and `fp16` of the trainer (or of DeepSpeed) switch on. */
type Compute = "bfloat16" | "float16" | null;

/** Keys HF computes from the hidden size when the file says `auto` (transformers/integrations/deepspeed.py). */
const BY_HIDDEN: Readonly<Record<string, { readonly stage3: boolean; readonly of: (hidden: number) => number }>> =
  table({
    reduce_bucket_size: { stage3: false, of: (hidden) => hidden * hidden },
    stage3_prefetch_bucket_size: { stage3: true, of: (hidden) => Math.floor(0.9 * hidden * hidden) },
    stage3_param_persistence_threshold: { stage3: true, of: (hidden) => 10 * hidden },
  });

/** The parallel part of a run on `worldSize` processes. */
export function parallelOf(c: ResolveContext, config: ModelConfig, compute: Compute, worldSize: number): ParallelSpec {
  const { settings } = c;
  const degree = (name: SettingName): number => {
    const stated = settings.find(name);
    const value = typeof stated?.value === "number" && stated.value >= 1 ? Math.floor(stated.value) : 1;
    if (stated !== undefined) c.keep(name, stated, value);
    return value;
  };
  const { framework } = c;
  const owned = hasMainParameters(framework, settings) && c.inputs.deepspeed === undefined;
  const deepspeed = owned ? null : deepspeedSpec(c, config, compute);
  const fsdp = deepspeed === null ? fsdpSpec(c, worldSize) : null;
  const main = owned && fsdp === null ? mainParametersOf(c, compute) : undefined;
  const split = settings.boolean("sequence_parallelism") ?? framework.sequenceParallel;
  const stages = degree("pipeline_parallel");
  const placed = stages === 1 && deepspeed === null && fsdp === null && placesLayers(settings);
  const scheduled = pipelineScheduleOf(c);
  const planned = settings.find("tensor_plan")?.value === "auto" && settings.find("tensor_parallel") === undefined;
  const contextParallel = Math.max(degree("context_parallel"), settings.number("sequence_parallel") ?? 1);
  return {
    worldSize,
    // transformers/distributed/configuration_utils.py: a plan without a size takes all ranks.
    tensorParallel: planned ? worldSize : degree("tensor_parallel"),
    ...(settings.on("shares_experts") ? { sharesExperts: true } : {}),
    pipelineParallel: placed ? worldSize : stages,
    ...(placed && worldSize > 1 ? { oneAtATime: true } : {}),
    contextParallel,
    ...contextRotationOf(c),
    ...scheduled,
    ...pipelineStagesOf(c, config, stages, scheduled.pipelineSchedule),
    expertParallel: degree("expert_parallel"),
    ...dispatcherOf(c),
    ...(settings.number("expert_tensor_parallel") === undefined
      ? {}
      : { expertTensorParallel: degree("expert_tensor_parallel") }),
    deepspeed,
    fsdp,
    ...(split === true ? { sequenceParallel: true } : {}),
    ...(framework.sequencePlan === undefined ? {} : { sequencePlan: framework.sequencePlan }),
    ...(framework.splitsLogits ? { splitsLogits: true } : {}),
    ...(main === undefined ? {} : { mainParameters: main }),
    ...oneProcessOf(c, worldSize),
  };
}

/** The dispatcher of Megatron's experts, where it is another one than is followed; what no format says is its own default. */
function dispatcherOf(c: ResolveContext): Pick<ParallelSpec, "otherDispatcher"> {
  const dispatcher = String(
    c.settings.string("token_dispatcher") ?? c.formatDefault("token_dispatcher") ?? "allgather",
  ).toLowerCase();
  return dispatcher === "alltoall" ? {} : { otherDispatcher: dispatcher };
}

/** The hook that gradients are compressed by. */
function compressionOf(settings: Settings): Pick<DdpSpec, "compression"> {
  const casts = floatNamed(settings.string("ddp_hook_dtype") ?? "");
  const rank = settings.number("ddp_hook_rank");
  if (casts === undefined && rank === undefined) return {};
  return {
    compression: {
      ...(casts === undefined ? {} : { casts }),
      ...(rank === undefined ? {} : { rank }),
      ...(settings.boolean("ddp_hook_feedback") === false ? { feedback: false } : {}),
      ...(settings.boolean("ddp_hook_warm") === false ? { warm: false } : {}),
    },
  };
}

/**
 * What DDP is told. The Trainer has it look for parameters without gradients unless layers are recomputed, and always where the model
 * is peft's (transformers/trainer.py, _build_accelerator_args); a loop of one's own does where it says so
 * (torch/nn/parallel/distributed.py, accelerate/utils/dataclasses.py).
 */
export function copiesOf(
  { framework, settings, ownLoop }: ResolveContext,
  parallel: ParallelSpec,
  { adapted, recomputes }: { readonly adapted: boolean; readonly recomputes: boolean },
): ParallelSpec {
  const sharded = parallel.deepspeed !== null || parallel.fsdp !== null || parallel.mainParameters !== undefined;
  if (sharded || parallel.inOneProcess !== undefined || parallel.worldSize === 1) return parallel;
  const never =
    ownLoop ||
    framework.trainer === undefined ||
    framework.findsUnused === "never" ||
    (adapted && framework.findsUnused === "without-adapters");
  const ddp: DdpSpec = {
    ...((settings.boolean("ddp_find_unused_parameters") ?? (!never && (adapted || !recomputes)))
      ? { findsUnused: true }
      : {}),
    ...(settings.on("ddp_static_graph") ? { staticGraph: true } : {}),
    ...(settings.on("ddp_bucket_views") ? { bucketViews: true } : {}),
    ...compressionOf(settings),
  };
  return Object.keys(ddp).length > 0 ? { ...parallel, ddp } : parallel;
}

/** Ways to place layers over all GPUs that one process sees (accelerate/utils/modeling.py, `infer_auto_device_map`). */
const PLACES_LAYERS = new Set<unknown>(["auto", "balanced", "balanced_low_0", "sequential"]);

/**
 * One process, which no launcher multiplies, puts layers on every GPU: the Trainer then wraps nothing
 * (transformers/trainer.py, `is_model_parallel`).
 */
function placesLayers(settings: Settings): boolean {
  const launched = settings.all("world_size").some(({ from }) => from !== "pin");
  return !launched && PLACES_LAYERS.has(settings.find("device_map")?.value);
}

/**
 * How keys and values go around where torch splits sequences; DeepSpeed's Ulysses exchanges tokens for heads
 * (accelerate/accelerator.py, _prepare_deepspeed), and frameworks' own rings do otherwise.
 */
function contextRotationOf({
  settings,
  framework,
}: ResolveContext): Pick<ParallelSpec, "contextRotation" | "exchangesHeads"> {
  if ((settings.number("sequence_parallel") ?? 1) > 1) return { exchangesHeads: true };
  const standard = framework.contextRotation;
  if (standard === undefined) return {};
  return { contextRotation: settings.string("context_rotation") === "alltoall" ? "alltoall" : standard };
}

const SCHEDULES: Readonly<Record<string, ParallelSpec["pipelineSchedule"]>> = table({
  "1f1b": "1f1b",
  gpipe: "gpipe",
  interleaved1f1b: "interleaved",
  loopedbfs: "looped-bfs",
  interleavedzerobubble: "interleaved-zero-bubble",
  zbvzerobubble: "zbv-zero-bubble",
  dualpipev: "dual-pipe-v",
});

/** Stages of a rank where a schedule has several and nobody says how many (torchtitan/distributed/pipeline_parallel.py). */
const STAGES_OF_A_RANK = 2;

/** How layers are divided into stages, and how many of these each rank has. */
function pipelineStagesOf(
  c: ResolveContext,
  config: ModelConfig,
  ranks: number,
  schedule: ParallelSpec["pipelineSchedule"],
): Pick<ParallelSpec, "stagesPerRank" | "pipelineEnds"> {
  const { settings } = c;
  const [first, last] = (["pipeline_first_less_layers", "pipeline_last_less_layers"] as const).map((name) =>
    Number(settings.number(name) ?? c.formatDefault(name) ?? 0),
  ) as [number, number];
  const each = settings.number("pipeline_layers_per_stage");
  const layers = Number(DIMENSIONS.layers.map((name) => config[name]).find((value) => typeof value === "number") ?? 0);
  const several = schedule === undefined || schedule === "1f1b" || schedule === "gpipe" ? 1 : STAGES_OF_A_RANK;
  const stated = settings.number("pipeline_stages_per_rank");
  const stages =
    stated ?? (each === undefined || each < 1 ? several : Math.ceil((layers + first + last) / each) / ranks);
  return {
    ...(Number.isInteger(stages) && stages > 1 ? { stagesPerRank: stages } : {}),
    ...(first + last > 0 ? { pipelineEnds: { first, last } } : {}),
  };
}

/** torch's schedule where its name is known to be followed; of others the band speaks. */
function pipelineScheduleOf(c: ResolveContext): Pick<ParallelSpec, "pipelineSchedule" | "pipelineMicroBatch"> {
  const name = c.settings.string("pipeline_schedule") ?? c.formatDefault("pipeline_schedule");
  const known = SCHEDULES[String(name ?? "").toLowerCase()];
  const samples = Number(c.settings.number("pipeline_micro_batch") ?? c.formatDefault("pipeline_micro_batch") ?? 0);
  return {
    ...(known === undefined ? {} : { pipelineSchedule: known }),
    ...(samples >= 1 ? { pipelineMicroBatch: Math.floor(samples) } : {}),
  };
}

/** Megatron's and nanotron's optimizers; without half precision they step on the parameters themselves. */
function mainParametersOf(c: ResolveContext, compute: Compute): MainParametersSpec | undefined {
  if (compute === null || c.settings.string("load_dtype") === "float32") return undefined;
  const gradients = c.settings.string("grad_accum_dtype") ?? c.formatDefault("grad_accum_dtype") ?? "float32";
  if (gradients === "none") return undefined;
  const stage = c.keepStated("zero_stage");
  return {
    dtype: compute,
    gradientDtype: floatNamed(String(gradients)) ?? "float32",
    sharded: typeof stage?.value === "number" && stage.value >= 1,
  };
}

function deepspeedSpec(c: ResolveContext, config: ModelConfig, compute: Compute): DeepSpeedSpec | null {
  const { settings, inputs } = c;
  const asked = settings.find("zero_stage");
  for (const name of ["offload_optimizer", "offload_param"] as const) c.keepStated(name);
  const engine = c.framework.deepspeed === true;
  if (!engine && inputs.deepspeed === undefined && (asked === undefined || asked.value === 0)) {
    if (asked !== undefined) c.keep("zero_stage", asked, 0);
    return null;
  }
  const stageValue = asked?.value;
  const zeroStage = (typeof stageValue === "number" && stageValue >= 0 && stageValue <= 3 ? stageValue : 0) as
    | 0
    | 1
    | 2
    | 3;
  if (asked !== undefined) c.keep("zero_stage", asked, zeroStage);
  else c.put("zero_stage", 0, "default", "zero_optimization.stage", null);
  const underHf = c.framework.part !== "engine";

  const number = (name: SettingName): number => {
    const stated = settings.find(name);
    if (typeof stated?.value === "number") return stated.value;
    const rule = BY_HIDDEN[name];
    const open = settings.open(name);
    if (open?.auto && underHf && rule !== undefined && (!rule.stage3 || zeroStage === 3)) {
      const hidden = hiddenSize(config);
      if (hidden !== undefined) {
        c.put(name, rule.of(hidden), "auto", open.key, open.place);
        return rule.of(hidden);
      }
    }
    const spec = DEEPSPEED_KEYS.find((candidate) => candidate.name === name);
    const standard = spec === undefined ? undefined : defaultOf(spec, c.libraries);
    return typeof standard === "number" ? standard : 0;
  };
  const target = (name: "offload_optimizer" | "offload_param"): OffloadTarget => {
    const stated = settings.find(name);
    const value = String(stated?.value ?? "none");
    if (stated !== undefined) {
      c.keep(name, stated, value);
      return value === "cpu" || value === "nvme" ? value : "none";
    }
    const old = settings.find(name === "offload_optimizer" ? "deprecated_cpu_offload" : "deprecated_cpu_offload_param");
    if (old?.value === true) {
      c.keep(name, old, "cpu");
      return "cpu";
    }
    const open = settings.open(name);
    if (open?.auto) c.put(name, null, "auto", open.key, open.place);
    else c.put(name, "none", "default", `zero_optimization.${name}.device`, null);
    return "none";
  };
  const offloadOptimizer = target("offload_optimizer");
  const offloadParam = target("offload_param");
  const pinDefault = holds("deepspeed>=0.19.5", c.libraries);
  const pinMemory =
    settings.boolean("offload_optimizer_pin_memory") ?? settings.boolean("offload_param_pin_memory") ?? pinDefault;
  const overlap = settings.boolean("overlap_comm");
  const accumulate = settings.string("grad_accum_dtype");
  const ratio = zeroStage === 3 ? settings.find("offload_optimizer_ratio")?.value : undefined;
  return {
    zeroStage,
    offloadOptimizer,
    offloadParam: zeroStage === 3 ? offloadParam : "none",
    pinMemory,
    overlapComm: overlap ?? zeroStage === 3,
    contiguousGradients: settings.boolean("contiguous_gradients") ?? true,
    reduceBucketSize: number("reduce_bucket_size"),
    allgatherBucketSize: number("allgather_bucket_size"),
    stage3PrefetchBucketSize: number("stage3_prefetch_bucket_size"),
    stage3ParamPersistenceThreshold: number("stage3_param_persistence_threshold"),
    stage3MaxLiveParameters: number("stage3_max_live_parameters"),
    stage3MaxReuseDistance: number("stage3_max_reuse_distance"),
    subGroupSize: number("sub_group_size"),
    nvmeBuffers: number("offload_optimizer_buffers"),
    nvmeElements: number("offload_param_buffers") * number("offload_param_buffer_size"),
    gradAccumDtype: accumulate === undefined ? null : (floatNamed(accumulate) ?? null),
    hpzPartitionSize: number("hpz_partition_size") || 1,
    ...micsOf(c, zeroStage),
    roundRobinGradients: settings.on("round_robin_gradients"),
    reduceScatter: settings.boolean("reduce_scatter") !== false,
    ...(holds("deepspeed<0.19.3", c.libraries) ? { releasesRecomputed: true } : {}),
    ...(holds("deepspeed<0.19.2", c.libraries) ? { castsBuffers: true } : {}),
    ...(holds("deepspeed<0.18.7", c.libraries) ? { flattensOnHost: true } : {}),
    loadsWhole: settings.boolean("zero3_init") === false,
    ...communicationOf(c),
    quantizesWeights: settings.on("quantized_weights"),
    quantizesFrozen: settings.on("quantized_frozen_weights"),
    quantizesGradients: settings.on("quantized_gradients"),
    gathersApart: settings.on("allgather_sequential"),
    gathersBySum: settings.on("use_all_reduce_for_fetch_params"),
    plainLinear: settings.boolean("memory_efficient_linear") === false,
    // DeepSpeed's own Adam is its fused one (engine.py, `_configure_basic_optimizer`); `torch_adam` asks for PyTorch's.
    fusedOptimizer: isFused(settings.string("deepspeed_optimizer"), settings.boolean("deepspeed_torch_adam")),
    ...(typeof ratio === "number" ? { offloadRatio: ratio } : {}),
    ...mastersOf(c),
    engineDtype: engineDtype(c, compute),
  };
}

/** MiCS: groups of ranks that each hold everything (deepspeed/runtime/zero/mics.py); refused since 0.19.8. */
function micsOf({ settings, libraries }: ResolveContext, zeroStage: number): Pick<DeepSpeedSpec, "shardRanks"> {
  const size = settings.number("mics_shard_size") ?? 0;
  return zeroStage === 3 && size > 0 && !holds("deepspeed>=0.19.8", libraries) ? { shardRanks: size } : {};
}

/** `bf16_master_weights_and_grads`, `fp16_master_weights_and_grads` and `bf16_optimizer_states` of deepspeed/runtime/precision_config.py. */
function mastersOf({ settings }: ResolveContext): Pick<DeepSpeedSpec, "masterDtype" | "hostStatesDtype"> {
  if (settings.on("fp16_master_weights_and_grads")) return { masterDtype: "float16" };
  if (settings.boolean("bf16_master_weights_and_grads") !== true) return {};
  return {
    masterDtype: "bfloat16",
    ...(settings.on("bf16_optimizer_states") ? { hostStatesDtype: "bfloat16" } : {}),
  };
}

function communicationOf({ settings }: ResolveContext): Pick<DeepSpeedSpec, "communicationDtype"> {
  const dtype = floatNamed(settings.string("communication_data_type"));
  return dtype === undefined ? {} : { communicationDtype: dtype };
}

function isFused(type: string | undefined, torchAdam: boolean | undefined): boolean {
  return /^adamw?$/i.test(type ?? "") && torchAdam !== true;
}

/** DeepSpeed's own mixed precision; under HF `auto` follows the trainer's bf16 and fp16. */
function engineDtype(c: ResolveContext, compute: Compute): DeepSpeedSpec["engineDtype"] {
  if (compute !== null) return compute;
  const open = [c.settings.open("bf16"), c.settings.open("fp16")].some((setting) => setting?.auto);
  if (open && c.framework.part === "engine") {
    c.suppose(say("assume.auto-precision"), "bf16.enabled");
    return "bfloat16";
  }
  return null;
}
