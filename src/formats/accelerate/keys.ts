/**
 * Accelerate's launch config: world size, precision, DeepSpeed, FSDP and parallel degrees.
 * Types and defaults are in `fields.json`, read from `accelerate/commands/config/config_args.py` and `commands/launch.py`; what an
 * option does, from `utils/dataclasses.py` of 1.15.
 */

import { table } from "../../terms/table";
import { harmless, memory, PRECISION } from "../effects";
import { rowsOver } from "../fields";
import type { KeySpec } from "../types";
import captured from "./fields.json";

const own = rowsOver(captured.fields);

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
  own.memory("deepspeed_config", null, "deepspeed"),
  own.memory("deepspeed_config.zero_stage", "zero_stage", "zero", { default: 2 }),
  own.memory("deepspeed_config.offload_optimizer_device", "offload_optimizer", "offload-optimizer", {
    default: "none",
    values: ["none", "cpu", "nvme"],
  }),
  own.memory("deepspeed_config.offload_param_device", "offload_param", "offload-param", {
    default: "none",
    values: ["none", "cpu", "nvme"],
  }),
  own.other("deepspeed_config.offload_optimizer_nvme_path", null),
  own.other("deepspeed_config.offload_param_nvme_path", null, "offload_optimizer_nvme_path"),
  own.memory("deepspeed_config.gradient_accumulation_steps", "gradient_accumulation_steps", "accumulation", {
    auto: true,
  }),
  own.memory("deepspeed_config.gradient_clipping", "max_grad_norm", "clipping", { auto: true }),
  own.memory("deepspeed_config.zero3_init_flag", "zero3_init", { type: "boolean" }),
  own.memory("deepspeed_config.zero3_save_16bit_model", "stage3_gather_16bit_weights_on_model_save", {
    type: "boolean",
  }),
  own.memory("deepspeed_config.deepspeed_config_file", "deepspeed", "deepspeed", { link: "engine" }),
  own.other("deepspeed_config.deepspeed_multinode_launcher", null),
  own.other("deepspeed_config.deepspeed_hostfile", null),
  own.other("deepspeed_config.deepspeed_moe_layer_cls_names", "moe_layer_classes"),
];

const inFsdp = rowsOver(captured.fields, "fsdp_config.fsdp_");

/** Options of FSDP, with the prefix the wizard writes and without. */
const FSDP: readonly KeySpec[] = [
  own.memory("fsdp_config", null, "fsdp"),
  ...[
    inFsdp.memory("version", "fsdp_version", { type: "integer", default: 1, min: 1, max: 2 }),
    inFsdp.memory("sharding_strategy", "fsdp", "fsdp", { type: "any", means: SHARDING }),
    inFsdp.memory("reshard_after_forward", "fsdp_reshard_after_forward", {
      type: "any",
      also: [{ name: "fsdp", means: { ...SHARDING, true: "full_shard", false: "shard_grad_op" }, only: true }],
    }),
    inFsdp.memory("offload_params", "fsdp_cpu_offload", "fsdp_offload_params", {
      aliases: ["fsdp_config.fsdp_cpu_offload", "fsdp_config.cpu_offload"],
      also: [
        { name: "offload_param", means: { true: "cpu", false: "none" } },
        { name: "offload_optimizer", means: { true: "cpu", false: "none" } },
      ],
    }),
    inFsdp.memory("auto_wrap_policy", "fsdp_wrap_policy", "fsdp_auto_wrap_policy", {
      default: "TRANSFORMER_BASED_WRAP",
    }),
    inFsdp.memory("transformer_layer_cls_to_wrap", "fsdp_wrap_class", { type: "any" }),
    inFsdp.memory("min_num_params", null, "fsdp_config.fsdp_min_num_params", { min: 0 }),
    inFsdp.memory("backward_prefetch", "fsdp_backward_prefetch", "fsdp_backward_prefetch", {
      type: "any",
      default: "NO_PREFETCH",
      nullable: true,
    }),
    inFsdp.memory("backward_prefetch_policy", null, "fsdp_backward_prefetch_policy"),
    inFsdp.memory("forward_prefetch", null, "fsdp_forward_prefetch"),
    inFsdp.memory("activation_checkpointing", "fsdp_activation_checkpointing", "checkpointing", {
      also: [{ name: "gradient_checkpointing", means: { true: true }, only: true }],
    }),
    inFsdp.memory("use_orig_params", "fsdp_use_orig_params", "fsdp_use_orig_params"),
    inFsdp.other("cpu_ram_efficient_loading", null, "fsdp_cpu_ram_efficient_loading"),
    inFsdp.other("sync_module_states", null, "fsdp_sync_module_states"),
    inFsdp.memory("state_dict_type", "fsdp_state_dict_type", "fsdp_state_dict_type", { type: "any" }),
    memory("fsdp_config.fsdp_limit_all_gathers", null, "boolean", "fsdp_limit_all_gathers"),
  ].map((row): KeySpec => ({ ...row, aliases: [row.key.replace(".fsdp_", "."), ...(row.aliases ?? [])] })),
];

const MEGATRON: readonly KeySpec[] = [
  own.memory("megatron_lm_config", null),
  own.memory("megatron_lm_config.megatron_lm_tp_degree", "tensor_parallel", "tensor"),
  own.memory("megatron_lm_config.megatron_lm_pp_degree", "pipeline_parallel", "pipeline"),
  own.memory("megatron_lm_config.megatron_lm_num_micro_batches", "gradient_accumulation_steps", "accumulation"),
  own.memory("megatron_lm_config.megatron_lm_gradient_clipping", "max_grad_norm", "clipping"),
  own.memory("megatron_lm_config.megatron_lm_sequence_parallelism", "sequence_parallelism", "sequence-parallel", {
    type: "boolean",
  }),
  own.memory("megatron_lm_config.megatron_lm_recompute_activations", "gradient_checkpointing", "checkpointing", {
    type: "boolean",
  }),
  own.memory("megatron_lm_config.megatron_lm_use_distributed_optimizer", null, { type: "boolean" }),
  memory("megatron_lm_config.context_parallel_size", "context_parallel", "context", {
    default: 2,

    aliases: ["megatron_lm_config.megatron_lm_context_parallel_size"],
  }),
  memory("megatron_lm_config.expert_model_parallel_size", "expert_parallel", "expert"),
];

const PARALLELISM: readonly KeySpec[] = [
  own.memory("parallelism_config", null, "accelerate.parallelism_config"),
  ...(
    [
      ["dp_replicate_size", "dp_replicate_size", "dp_replicate_size"],
      ["dp_shard_size", "dp_shard_size", "parallelism_config_dp_shard_size"],
      ["tp_size", "tensor_parallel", "tensor"],
      ["cp_size", "context_parallel", "context"],
      ["sp_size", "sequence_parallel", "context"],
    ] as const
  ).map(([key, name, effect]) =>
    own.memory(`parallelism_config.parallelism_config_${key}`, name, effect, {
      aliases: [`parallelism_config.${key}`],
      min: 1,
    }),
  ),
  own.memory("parallelism_config.parallelism_config_cp_comm_strategy", "context_rotation", "context", {
    aliases: ["parallelism_config.cp_comm_strategy"],
  }),
];

export const ACCELERATE_KEYS: readonly KeySpec[] = [
  own.memory("distributed_type"),
  own.memory("mixed_precision", "compute_dtype", "compute", {
    type: "any",
    default: "no",
    writes: { fp32: "no" },
    means: PRECISION,
  }),
  // -1: as many as there are.
  own.memory("num_processes", "world_size", { default: null }),
  own.other("num_machines", { min: 1 }),
  own.other("machine_rank", null),
  own.other("gpu_ids", null),
  own.other("compute_environment", null, { type: "string" }),
  own.memory("use_cpu", { default: false }),
  memory("fp16", "compute_dtype", "compute", {
    removedIn: "accelerate 0.12",
    replacedBy: "mixed_precision",
    means: { true: "fp16", false: "fp32" },
  }),
  own.other("downcast_bf16", null),
  own.memory("dynamo_config", null, "compile"),
  memory("dynamo_config.dynamo_backend", "torch_compile_backend", "compile", { aliases: ["dynamo_backend"] }),
  memory("dynamo_config.dynamo_use_regional_compilation", "regional_compilation", "compile", { default: false }),
  own.memory("fp8_config", null),
  memory("fp8_config.backend", "fp8_backend"),
  ...harmless(
    "fp8_config.amax_compute_algo fp8_config.amax_history_len fp8_config.fp8_format fp8_config.override_linear_precision " +
      "parallelism_config.parallelism_config_sp_backend parallelism_config.parallelism_config_sp_seq_length_is_variable",
  ),
  own.memory("parallelism_config.parallelism_config_sp_attn_implementation", "attention", "attention"),
  ...DEEPSPEED,
  ...FSDP,
  ...MEGATRON,
  ...PARALLELISM,
];
