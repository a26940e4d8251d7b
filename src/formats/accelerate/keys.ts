/**
 * Accelerate's launch config: world size, precision, DeepSpeed, FSDP and parallel degrees.
 * Source: `accelerate/commands/config/config_args.py`, `commands/launch.py`, `utils/dataclasses.py` of 1.15.
 */

import type { SettingName } from "../../terms/settings";
import { table } from "../../terms/table";
import { EFFECT, memory, other, PRECISION } from "../effects";
import type { KeySpec } from "../types";

/** FSDP strategies by name and by number (`ShardingStrategy`). */
export const SHARDING: Readonly<Record<string, string>> = table({
  FULL_SHARD: "full_shard",
  "1": "full_shard",
  SHARD_GRAD_OP: "shard_grad_op",
  "2": "shard_grad_op",
  NO_SHARD: "no_shard",
  "3": "no_shard",
  HYBRID_SHARD: "hybrid_shard",
  "4": "hybrid_shard",
  HYBRID_SHARD_ZERO2: "hybrid_shard_zero2",
  "5": "hybrid_shard_zero2",
  full_shard: "full_shard",
  shard_grad_op: "shard_grad_op",
  hybrid_shard: "hybrid_shard",
  no_shard: "no_shard",
});

const DEEPSPEED: readonly KeySpec[] = [
  memory("deepspeed_config", null, "map", EFFECT.deepspeed, { nullable: true }),
  memory("deepspeed_config.zero_stage", "zero_stage", "integer", EFFECT.zero, { default: 2, min: 0, max: 3 }),
  memory("deepspeed_config.offload_optimizer_device", "offload_optimizer", "enum", EFFECT.offloadOptimizer, {
    default: "none",
    values: ["none", "cpu", "nvme"],
  }),
  memory("deepspeed_config.offload_param_device", "offload_param", "enum", EFFECT.offloadParam, {
    default: "none",
    values: ["none", "cpu", "nvme"],
  }),
  other("deepspeed_config.offload_optimizer_nvme_path", null, "string", "Where NVMe offload writes."),
  other("deepspeed_config.offload_param_nvme_path", null, "string", "Where NVMe offload writes."),
  memory(
    "deepspeed_config.gradient_accumulation_steps",
    "gradient_accumulation_steps",
    "integer",
    EFFECT.accumulation,
    { auto: true, min: 1 },
  ),
  memory("deepspeed_config.gradient_clipping", "max_grad_norm", "number", EFFECT.clipping, { auto: true, min: 0 }),
  other(
    "deepspeed_config.zero3_init_flag",
    null,
    "boolean",
    "Builds the model sharded, so that no GPU ever holds it whole.",
  ),
  other(
    "deepspeed_config.zero3_save_16bit_model",
    null,
    "boolean",
    "Gathers the weights when saving: host memory on rank 0.",
  ),
  memory("deepspeed_config.deepspeed_config_file", "deepspeed", "string", EFFECT.deepspeed, { link: "deepspeed" }),
  other("deepspeed_config.deepspeed_multinode_launcher", null, "string", "How other nodes are reached."),
  other("deepspeed_config.deepspeed_hostfile", null, "string", "Nodes and their GPUs."),
  other(
    "deepspeed_config.deepspeed_moe_layer_cls_names",
    "moe_layer_classes",
    "string",
    "Classes of mixture-of-experts layers.",
  ),
];

/** Options of FSDP, with the prefix the wizard writes and without. */
function fsdp(
  name: string,
  setting: SettingName | null,
  type: KeySpec["type"],
  effect: string,
  extra: Partial<KeySpec> = {},
): KeySpec {
  return memory(`fsdp_config.fsdp_${name}`, setting, type, effect, { aliases: [`fsdp_config.${name}`], ...extra });
}

/** An option of FSDP that costs the GPU nothing. */
const fsdpOther: typeof fsdp = (...row) => ({ ...fsdp(...row), memory: false });

const FSDP: readonly KeySpec[] = [
  memory("fsdp_config", null, "map", EFFECT.fsdp, { nullable: true }),
  fsdp("version", "fsdp_version", "integer", "FSDP 1 (flat parameters) or 2 (per parameter).", {
    default: 1,
    min: 1,
    max: 2,
  }),
  fsdp("sharding_strategy", "fsdp", "any", EFFECT.fsdp, { default: "FULL_SHARD", means: SHARDING }),
  fsdp(
    "reshard_after_forward",
    "fsdp_reshard_after_forward",
    "any",
    "Frees a unit's gathered parameters after its forward.",
    {
      default: true,
      also: [{ name: "fsdp", means: { ...SHARDING, true: "full_shard", false: "shard_grad_op" }, only: true }],
    },
  ),
  fsdp(
    "offload_params",
    "fsdp_cpu_offload",
    "boolean",
    "Keeps parameters, gradients and optimizer states in host memory.",
    {
      default: false,
      aliases: ["fsdp_config.offload_params", "fsdp_config.fsdp_cpu_offload", "fsdp_config.cpu_offload"],
      also: [
        { name: "offload_param", means: { true: "cpu", false: "none" } },
        { name: "offload_optimizer", means: { true: "cpu", false: "none" } },
      ],
    },
  ),
  fsdp("auto_wrap_policy", null, "string", "Without a policy the whole model is gathered at once.", {
    default: "TRANSFORMER_BASED_WRAP",
  }),
  fsdp(
    "transformer_layer_cls_to_wrap",
    "fsdp_wrap_class",
    "any",
    "Class of the units that are gathered one at a time.",
  ),
  fsdp("min_num_params", null, "integer", "Smallest unit of size-based wrapping.", { min: 0 }),
  fsdp("backward_prefetch", null, "string", "Gathers the next unit early: one more unit alive in backward (FSDP 1).", {
    default: "NO_PREFETCH",
    nullable: true,
  }),
  fsdp("backward_prefetch_policy", null, "string", "Old name of fsdp_backward_prefetch."),
  fsdp("forward_prefetch", null, "boolean", "Gathers the next unit early: one more unit alive in forward (FSDP 1)."),
  fsdp("activation_checkpointing", "fsdp_activation_checkpointing", "boolean", EFFECT.checkpointing, {
    default: false,
    also: [{ name: "gradient_checkpointing", means: { true: true }, only: true }],
  }),
  fsdpOther("use_orig_params", null, "boolean", "Keeps the original parameters visible (FSDP 1)."),
  fsdpOther("cpu_ram_efficient_loading", null, "boolean", "Only one process loads the weights: host memory."),
  fsdpOther("sync_module_states", null, "boolean", "Broadcasts the weights from rank 0."),
  fsdpOther(
    "state_dict_type",
    null,
    "string",
    "What is gathered when saving: FULL_STATE_DICT is a spike on rank 0's host.",
  ),
  fsdp("limit_all_gathers", null, "boolean", "Bounds how many units are gathered ahead."),
];

const MEGATRON: readonly KeySpec[] = [
  memory("megatron_lm_config", null, "map", "Megatron-LM plugin.", { nullable: true }),
  memory("megatron_lm_config.megatron_lm_tp_degree", "tensor_parallel", "integer", EFFECT.tensor, { min: 1 }),
  memory("megatron_lm_config.megatron_lm_pp_degree", "pipeline_parallel", "integer", EFFECT.pipeline, { min: 1 }),
  memory(
    "megatron_lm_config.megatron_lm_num_micro_batches",
    "gradient_accumulation_steps",
    "integer",
    EFFECT.accumulation,
    { min: 1 },
  ),
  memory("megatron_lm_config.megatron_lm_gradient_clipping", "max_grad_norm", "number", EFFECT.clipping, { min: 0 }),
  memory(
    "megatron_lm_config.megatron_lm_sequence_parallelism",
    "sequence_parallelism",
    "boolean",
    EFFECT.sequenceParallel,
  ),
  memory(
    "megatron_lm_config.megatron_lm_recompute_activations",
    "gradient_checkpointing",
    "boolean",
    EFFECT.checkpointing,
  ),
  memory(
    "megatron_lm_config.megatron_lm_use_distributed_optimizer",
    "distributed_optimizer",
    "boolean",
    "Shards optimizer states over the data-parallel GPUs.",
  ),
  memory("megatron_lm_config.context_parallel_size", "context_parallel", "integer", EFFECT.context, {
    default: 2,
    min: 1,
    aliases: ["megatron_lm_config.megatron_lm_context_parallel_size"],
  }),
  memory("megatron_lm_config.expert_model_parallel_size", "expert_parallel", "integer", EFFECT.expert, { min: 1 }),
];

const PARALLELISM: readonly KeySpec[] = [
  memory("parallelism_config", null, "map", "Degrees of parallelism.", { nullable: true }),
  ...(
    [
      ["dp_replicate_size", "dp_replicate_size", "Copies of the sharded model."],
      ["dp_shard_size", "dp_shard_size", "GPUs the parameters are sharded over."],
      ["tp_size", "tensor_parallel", EFFECT.tensor],
      ["cp_size", "context_parallel", EFFECT.context],
      ["sp_size", "sequence_parallel", EFFECT.context],
    ] as const
  ).map(([key, name, effect]) =>
    memory(`parallelism_config.parallelism_config_${key}`, name, "integer", effect, {
      aliases: [`parallelism_config.${key}`],
      min: 1,
    }),
  ),
];

export const ACCELERATE_KEYS: readonly KeySpec[] = [
  memory(
    "distributed_type",
    "distributed_type",
    "string",
    "How processes work together: DDP, DeepSpeed, FSDP, Megatron-LM.",
  ),
  memory("mixed_precision", "compute_dtype", "any", EFFECT.compute, {
    default: "no",
    writes: { fp32: "no" },
    means: PRECISION,
  }),
  memory("num_processes", "world_size", "integer", "Processes over all machines: one GPU each."),
  other("num_machines", "num_machines", "integer", "Machines; num_processes counts all of them.", {
    default: 1,
    min: 1,
  }),
  other("machine_rank", null, "integer", "This machine's number."),
  other("gpu_ids", null, "any", "GPUs of this machine.", { nullable: true }),
  other("compute_environment", null, "string", "Where the job runs."),
  memory("use_cpu", "use_cpu", "boolean", "Trains on the CPU: no GPU memory at all.", { default: false }),
  memory("fp16", "compute_dtype", "any", EFFECT.compute, {
    removedIn: "accelerate 0.12",
    replacedBy: "mixed_precision",
    means: { true: "fp16", false: "fp32" },
  }),
  other("downcast_bf16", null, "any", "TPU only: also casts double precision.", { nullable: true }),
  memory("dynamo_config", null, "map", EFFECT.compile, { nullable: true }),
  memory("dynamo_config.dynamo_backend", "torch_compile_backend", "string", EFFECT.compile, {
    nullable: true,
    aliases: ["dynamo_backend"],
  }),
  memory("dynamo_config.dynamo_use_regional_compilation", "regional_compilation", "boolean", EFFECT.compile, {
    default: false,
  }),
  memory("fp8_config", null, "map", "Matrix products in 8 bits.", { nullable: true }),
  memory("fp8_config.backend", "fp8_backend", "string", "Library of the 8-bit products: TE, AO or MSAMP.", {
    nullable: true,
  }),
  ...DEEPSPEED,
  ...FSDP,
  ...MEGATRON,
  ...PARALLELISM,
];
