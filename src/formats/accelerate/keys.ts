/**
 * Accelerate's launch config: world size, precision, DeepSpeed, FSDP and parallel degrees.
 * Source: `accelerate/commands/config/config_args.py`, `commands/launch.py`, `utils/dataclasses.py` of 1.15.
 */

import type { SettingName } from "../../terms/settings";
import { table } from "../../terms/table";
import type { EffectId } from "../../words/message";
import { harmless, memory, other, PRECISION } from "../effects";
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
  memory("deepspeed_config", null, "map", "deepspeed"),
  memory("deepspeed_config.zero_stage", "zero_stage", "zero", { default: 2 }),
  memory("deepspeed_config.offload_optimizer_device", "offload_optimizer", "enum", "offload-optimizer", {
    default: "none",
    values: ["none", "cpu", "nvme"],
  }),
  memory("deepspeed_config.offload_param_device", "offload_param", "enum", "offload-param", {
    default: "none",
    values: ["none", "cpu", "nvme"],
  }),
  other("deepspeed_config.offload_optimizer_nvme_path", null, "string"),
  other("deepspeed_config.offload_param_nvme_path", null, "string", "offload_optimizer_nvme_path"),
  memory("deepspeed_config.gradient_accumulation_steps", "gradient_accumulation_steps", "accumulation", { auto: true }),
  memory("deepspeed_config.gradient_clipping", "max_grad_norm", "clipping", { auto: true }),
  memory("deepspeed_config.zero3_init_flag", "zero3_init"),
  memory("deepspeed_config.zero3_save_16bit_model", "stage3_gather_16bit_weights_on_model_save"),
  memory("deepspeed_config.deepspeed_config_file", "deepspeed", "string", "deepspeed", { link: "engine" }),
  other("deepspeed_config.deepspeed_multinode_launcher", null, "string"),
  other("deepspeed_config.deepspeed_hostfile", null, "string"),
  other("deepspeed_config.deepspeed_moe_layer_cls_names", "moe_layer_classes"),
];

/** Options of FSDP, with the prefix the wizard writes and without. */
function fsdp(
  name: string,
  setting: SettingName | null,
  type: KeySpec["type"],
  effect: EffectId,
  extra: Partial<KeySpec> = {},
): KeySpec {
  return memory(`fsdp_config.fsdp_${name}`, setting, type, effect, { aliases: [`fsdp_config.${name}`], ...extra });
}

/** An option of FSDP that costs the GPU nothing. */
const fsdpOther: typeof fsdp = (...row) => ({ ...fsdp(...row), memory: false });

const FSDP: readonly KeySpec[] = [
  memory("fsdp_config", null, "map", "fsdp"),
  fsdp("version", "fsdp_version", "integer", "version", { default: 1, min: 1, max: 2 }),
  fsdp("sharding_strategy", "fsdp", "any", "fsdp", { default: "FULL_SHARD", means: SHARDING }),
  fsdp("reshard_after_forward", "fsdp_reshard_after_forward", "any", "reshard_after_forward", {
    default: true,
    also: [{ name: "fsdp", means: { ...SHARDING, true: "full_shard", false: "shard_grad_op" }, only: true }],
  }),
  fsdp("offload_params", "fsdp_cpu_offload", "boolean", "fsdp_offload_params", {
    default: false,
    aliases: ["fsdp_config.offload_params", "fsdp_config.fsdp_cpu_offload", "fsdp_config.cpu_offload"],
    also: [
      { name: "offload_param", means: { true: "cpu", false: "none" } },
      { name: "offload_optimizer", means: { true: "cpu", false: "none" } },
    ],
  }),
  fsdp("auto_wrap_policy", null, "any", "fsdp_auto_wrap_policy", { default: "TRANSFORMER_BASED_WRAP" }),
  fsdp("transformer_layer_cls_to_wrap", "fsdp_wrap_class", "any", "transformer_layer_cls_to_wrap"),
  fsdp("min_num_params", null, "integer", "fsdp_config.fsdp_min_num_params", { min: 0 }),
  fsdp("backward_prefetch", "fsdp_backward_prefetch", "any", "fsdp_backward_prefetch", {
    default: "NO_PREFETCH",
    nullable: true,
  }),
  fsdp("backward_prefetch_policy", null, "any", "fsdp_backward_prefetch_policy"),
  fsdp("forward_prefetch", null, "boolean", "fsdp_forward_prefetch"),
  fsdp("activation_checkpointing", "fsdp_activation_checkpointing", "boolean", "checkpointing", {
    default: false,
    also: [{ name: "gradient_checkpointing", means: { true: true }, only: true }],
  }),
  fsdp("use_orig_params", "fsdp_use_orig_params", "boolean", "fsdp_use_orig_params"),
  fsdpOther("cpu_ram_efficient_loading", null, "boolean", "fsdp_cpu_ram_efficient_loading"),
  fsdpOther("sync_module_states", null, "boolean", "fsdp_sync_module_states"),
  fsdp("state_dict_type", "fsdp_state_dict_type", "any", "fsdp_state_dict_type"),
  fsdp("limit_all_gathers", null, "boolean", "fsdp_limit_all_gathers"),
];

const MEGATRON: readonly KeySpec[] = [
  memory("megatron_lm_config", null, "map"),
  memory("megatron_lm_config.megatron_lm_tp_degree", "tensor_parallel", "tensor"),
  memory("megatron_lm_config.megatron_lm_pp_degree", "pipeline_parallel", "pipeline"),
  memory("megatron_lm_config.megatron_lm_num_micro_batches", "gradient_accumulation_steps", "accumulation"),
  memory("megatron_lm_config.megatron_lm_gradient_clipping", "max_grad_norm", "clipping"),
  memory("megatron_lm_config.megatron_lm_sequence_parallelism", "sequence_parallelism", "sequence-parallel"),
  memory("megatron_lm_config.megatron_lm_recompute_activations", "gradient_checkpointing", "checkpointing"),
  memory("megatron_lm_config.megatron_lm_use_distributed_optimizer", null, "boolean"),
  memory("megatron_lm_config.context_parallel_size", "context_parallel", "context", {
    default: 2,

    aliases: ["megatron_lm_config.megatron_lm_context_parallel_size"],
  }),
  memory("megatron_lm_config.expert_model_parallel_size", "expert_parallel", "expert"),
];

const PARALLELISM: readonly KeySpec[] = [
  memory("parallelism_config", null, "map", "accelerate.parallelism_config"),
  ...(
    [
      ["dp_replicate_size", "dp_replicate_size", "dp_replicate_size"],
      ["dp_shard_size", "dp_shard_size", "parallelism_config_dp_shard_size"],
      ["tp_size", "tensor_parallel", "tensor"],
      ["cp_size", "context_parallel", "context"],
      ["sp_size", "sequence_parallel", "context"],
    ] as const
  ).map(([key, name, effect]) =>
    memory(`parallelism_config.parallelism_config_${key}`, name, "integer", effect, {
      aliases: [`parallelism_config.${key}`],
      min: 1,
    }),
  ),
  memory("parallelism_config.parallelism_config_cp_comm_strategy", "context_rotation", "context", {
    default: "allgather",
    aliases: ["parallelism_config.cp_comm_strategy"],
  }),
];

export const ACCELERATE_KEYS: readonly KeySpec[] = [
  memory("distributed_type", "distributed_type"),
  memory("mixed_precision", "compute_dtype", "compute", { default: "no", writes: { fp32: "no" }, means: PRECISION }),
  memory("num_processes", "world_size"),
  other("num_machines", "num_machines", { default: 1, min: 1 }),
  other("machine_rank", null, "integer"),
  other("gpu_ids", null, "any"),
  other("compute_environment", null, "string"),
  memory("use_cpu", "use_cpu", { default: false }),
  memory("fp16", "compute_dtype", "compute", {
    removedIn: "accelerate 0.12",
    replacedBy: "mixed_precision",
    means: { true: "fp16", false: "fp32" },
  }),
  other("downcast_bf16", null, "any"),
  memory("dynamo_config", null, "map", "compile"),
  memory("dynamo_config.dynamo_backend", "torch_compile_backend", "compile", { aliases: ["dynamo_backend"] }),
  memory("dynamo_config.dynamo_use_regional_compilation", "regional_compilation", "compile", { default: false }),
  memory("fp8_config", null, "map"),
  memory("fp8_config.backend", "fp8_backend"),
  ...harmless(
    "fp8_config.amax_compute_algo fp8_config.amax_history_len fp8_config.fp8_format fp8_config.override_linear_precision " +
      "parallelism_config.parallelism_config_sp_backend parallelism_config.parallelism_config_sp_seq_length_is_variable",
  ),
  memory("parallelism_config.parallelism_config_sp_attn_implementation", "attention", "attention"),
  ...DEEPSPEED,
  ...FSDP,
  ...MEGATRON,
  ...PARALLELISM,
];
