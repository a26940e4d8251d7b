/** Cases of `capture/truth/deepspeed` as runs: a rank of DeepSpeed's own engine, with the peak that it allocated. */
import type { DType } from "../../../src/core/engine/dtype";
import type { DeepSpeedSpec, TrainingRun } from "../../../src/core/training/run";
import { type Case, runOf as trainedAs } from "../receipts/case";
import { causalRun } from "../runs";

export interface ZeroCase extends Case {
  readonly zero: {
    readonly world: number;
    readonly precision: "bf16" | "fp16" | "fp32";
    readonly config: Readonly<Record<string, unknown>>;
    readonly grad_accum_dtype?: "fp32" | "bf16" | "fp16";
    /** What the document says beside its ZeRO block. */
    readonly engine?: Readonly<Record<string, unknown>>;
    /** The library's release, where it is not the newest. */
    readonly release?: "0.19.2";
    /** Parameters whose names hold it are frozen. */
    readonly frozen?: string;
  };
}

const ENGINE: Readonly<Record<ZeroCase["zero"]["precision"], DeepSpeedSpec["engineDtype"]>> = {
  bf16: "bfloat16",
  fp16: "float16",
  fp32: null,
};
const GRADIENTS: Readonly<Record<string, DType>> = { fp32: "float32", bf16: "bfloat16", fp16: "float16" };

/** What DeepSpeed's JSON says of sizes, with its defaults (deepspeed/runtime/zero/config.py). */
function specOf({ config, engine, precision, release, grad_accum_dtype: stated }: ZeroCase["zero"]): DeepSpeedSpec {
  const accumulate = stated ?? (engine?.["data_types"] as { grad_accum_dtype?: string } | undefined)?.grad_accum_dtype;
  const number = (key: string, standard: number): number =>
    typeof config[key] === "number" ? (config[key] as number) : standard;
  const stage = number("stage", 0) as 0 | 1 | 2 | 3;
  const target = (key: string): DeepSpeedSpec["offloadParam"] => {
    const device = (config[key] as { device?: string } | undefined)?.device;
    return device === "cpu" || device === "nvme" ? device : "none";
  };
  return {
    zeroStage: stage,
    offloadOptimizer: target("offload_optimizer"),
    offloadParam: stage === 3 ? target("offload_param") : "none",
    pinMemory: true,
    overlapComm: typeof config["overlap_comm"] === "boolean" ? config["overlap_comm"] : stage === 3,
    contiguousGradients: config["contiguous_gradients"] !== false,
    reduceBucketSize: number("reduce_bucket_size", 5e8),
    allgatherBucketSize: number("allgather_bucket_size", 5e8),
    stage3PrefetchBucketSize: number("stage3_prefetch_bucket_size", 5e7),
    stage3ParamPersistenceThreshold: number("stage3_param_persistence_threshold", 1e5),
    stage3MaxLiveParameters: number("stage3_max_live_parameters", 1e9),
    stage3MaxReuseDistance: number("stage3_max_reuse_distance", 1e9),
    subGroupSize: number("sub_group_size", 1e9),
    gradAccumDtype: accumulate === undefined ? null : GRADIENTS[accumulate]!,
    hpzPartitionSize: number("zero_hpz_partition_size", 1),
    roundRobinGradients: config["round_robin_gradients"] === true,
    reduceScatter: config["reduce_scatter"] !== false,
    quantizesWeights: config["zero_quantized_weights"] === true,
    quantizesFrozen: config["zero_quantized_nontrainable_weights"] === true,
    quantizesGradients: config["zero_quantized_gradients"] === true,
    gathersApart: config["stage3_allgather_sequential"] === true,
    gathersBySum: config["stage3_use_all_reduce_for_fetch_params"] === true,
    plainLinear: config["memory_efficient_linear"] === false,
    ...ratioOf(config),
    ...(release === undefined ? {} : { releasesRecomputed: true }),
    fusedOptimizer: engine?.["optimizer"] !== undefined,
    ...(engine?.["communication_data_type"] === "fp32" ? { communicationDtype: "float32" } : {}),
    ...mastersOf(engine),
    engineDtype: ENGINE[precision],
  };
}

function mastersOf(engine: ZeroCase["zero"]["engine"]): Pick<DeepSpeedSpec, "masterDtype"> {
  const block = engine?.["bf16"] as { readonly bf16_master_weights_and_grads?: boolean } | undefined;
  return block?.bf16_master_weights_and_grads === true ? { masterDtype: "bfloat16" } : {};
}

function ratioOf(config: ZeroCase["zero"]["config"]): Pick<DeepSpeedSpec, "offloadRatio"> {
  const ratio = (config["offload_optimizer"] as { ratio?: number } | undefined)?.ratio;
  return ratio === undefined ? {} : { offloadRatio: ratio };
}

/** DeepSpeed's own optimizer: fused, and PyTorch's for what twin-flow leaves on the device. */
function optimizerOf({ zero }: ZeroCase): TrainingRun["optimizer"] {
  const block = zero.engine?.["optimizer"] as { readonly type?: string } | undefined;
  const fused = block?.type === "Lion" ? "lion" : "adamw_torch_fused";
  return {
    name: zero.config["offload_optimizer"] === undefined ? fused : "adamw_torch",
    args: {},
    oneGroup: true,
  };
}

export function runOf(c: ZeroCase): TrainingRun {
  const { parallel } = causalRun({});
  const trained = trainedAs({ ...c, amp: null });
  return {
    ...trained,
    ...(c.zero.engine?.["optimizer"] === undefined ? {} : { optimizer: optimizerOf(c) }),
    ...(c.zero.config["stage3_gather_16bit_weights_on_model_save"] === true ? { saving: { optimizer: false } } : {}),
    ...(c.zero.frozen === undefined || c.peft !== undefined
      ? {}
      : { trained: { rules: [{ pattern: c.zero.frozen.replace(".", "\\."), trained: false }] } }),
    parallel: { ...parallel, worldSize: c.zero.world, deepspeed: specOf(c.zero) },
  };
}
