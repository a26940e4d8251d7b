/**
 * DeepSpeed's JSON: what the keys of every section mean that decides about memory. Sizes of buckets and thresholds are in elements.
 * Types, defaults and ranges of ZeRO's and the precisions' keys are in `fields.json`.
 * Source: `deepspeed/runtime/config.py`, `runtime/zero/config.py`, `runtime/zero/offload_config.py`,
 * `runtime/precision_config.py`, `runtime/activation_checkpointing/config.py`, `runtime/swap_tensor/aio_config.py`
 * of 0.19.6.
 */
import { memory, other, touching } from "../effects";
import { rowsOver } from "../fields";
import type { KeySpec } from "../types";
import captured from "./fields.json";

/** Keys of `fp16` and `bf16`. */
const half = rowsOver(captured.fields);
const zero = rowsOver(captured.fields, "zero_optimization.");

/** A launcher may fill these in. */
const auto = (rows: readonly KeySpec[]): readonly KeySpec[] => rows.map((row) => ({ ...row, auto: true }));

const AUTO = { auto: true } as const;
const Z = "zero_optimization.";
const OFFLOAD = ["none", "cpu", "nvme"];
const HALF_TYPES = ["fp32", "fp16", "bf16", "float32", "float16", "bfloat16", "int8"];

const BATCH: readonly KeySpec[] = [
  memory("train_batch_size", "global_batch_size", { ...AUTO, min: 1 }),
  memory("train_micro_batch_size_per_gpu", "micro_batch_size", { ...AUTO }),
  memory("gradient_accumulation_steps", "gradient_accumulation_steps", "deepspeed.gradient_accumulation_steps", {
    ...AUTO,
    min: 1,
    default: 1,
  }),
  memory("gradient_clipping", "max_grad_norm", {
    ...AUTO,

    default: 1.0,
    defaultsBy: { "deepspeed<0.19.3": 0 },
  }),
];

const ZERO: readonly KeySpec[] = auto([
  zero.memory("stage", "zero_stage", { type: "integer" }),
  zero.memory("contiguous_gradients"),
  zero.memory("reduce_bucket_size"),
  zero.memory("overlap_comm"),
  zero.memory("allgather_bucket_size"),
  zero.memory("sub_group_size"),
  zero.memory("stage3_prefetch_bucket_size"),
  zero.memory("stage3_param_persistence_threshold"),
  zero.memory("stage3_model_persistence_threshold"),
  zero.memory("stage3_max_live_parameters"),
  zero.memory("stage3_max_reuse_distance"),
  zero.memory("stage3_gather_16bit_weights_on_model_save", {
    aliases: [
      `${Z}gather_16bit_weights_on_model_save`,
      `${Z}stage3_gather_fp16_weights_on_model_save`,
      `${Z}gather_fp16_weights_on_model_save`,
    ],
  }),
  zero.memory("zero_hpz_partition_size", "hpz_partition_size"),
  zero.memory("zero_quantized_weights", "quantized_weights"),
  zero.memory("zero_quantized_gradients", "quantized_gradients"),
  zero.memory("zero_quantized_nontrainable_weights", "quantized_frozen_weights"),
  memory(`${Z}mics_shard_size`, "mics_shard_size", "mics_shard_size", { default: -1 }),
  other(`${Z}mics_hierarchical_params_gather`, null, "boolean", "mics_hierarchical_params_gather"),
  zero.memory("offload_optimizer", "offload_optimizer_block", { type: "map" }),
  zero.memory("offload_param", "offload_param_block", { type: "map" }),
  zero.memory("offload_optimizer.device", "offload_optimizer", { values: OFFLOAD }),
  zero.memory("offload_param.device", "offload_param", "offload_param.device", { values: OFFLOAD }),
  zero.other("offload_optimizer.nvme_path", "offload_optimizer_nvme_path", { type: "string" }),
  zero.other("offload_param.nvme_path", "offload_param_nvme_path", { type: "string" }),
  zero.memory("offload_optimizer.pin_memory", "offload_optimizer_pin_memory", {
    defaultsBy: { "deepspeed<0.19.5": false },
  }),
  zero.memory("offload_param.pin_memory", "offload_param_pin_memory", { defaultsBy: { "deepspeed<0.19.5": false } }),
  zero.other("offload_optimizer.buffer_count", "offload_optimizer_buffers"),
  zero.other("offload_param.buffer_count", "offload_param_buffers"),
  zero.other("offload_param.buffer_size", "offload_param_buffer_size"),
  zero.other("offload_param.max_in_cpu", null),
  zero.other("offload_optimizer.pipeline_read", null),
  zero.other("offload_optimizer.pipeline_write", null),
  other(`${Z}offload_optimizer.pipeline`, null, "boolean", "offload_optimizer.pipeline"),
  zero.other("offload_optimizer.fast_init", null),
  zero.memory("offload_optimizer.ratio", "offload_optimizer_ratio"),
  zero.memory("offload_optimizer.super_offload"),
  zero.other("offload_optimizer.cpuadam_cores_perc", null),
  zero.memory("cpu_offload", "deprecated_cpu_offload", "zero_optimization.cpu_offload", {
    replacedBy: "offload_optimizer",
  }),
  zero.memory("cpu_offload_param", "deprecated_cpu_offload_param", { replacedBy: "offload_param" }),
  memory(`${Z}cpu_offload_params`, "deprecated_cpu_offload_param", "cpu_offload_param", {
    replacedBy: "offload_param",
  }),
  zero.other("cpu_offload_use_pin_memory", null, { replacedBy: "offload_optimizer.pin_memory" }),
  zero.memory("reduce_scatter"),
  zero.memory("round_robin_gradients"),
  zero.other("legacy_stage1"),
  ...(
    [
      "allgather_partitions",
      "use_multi_rank_bucket_allreduce",
      "elastic_checkpoint",
      "load_from_fp32_weights",
      "pipeline_loading_checkpoint",
      "override_module_apply",
      "ignore_unused_parameters",
      "log_trace_cache_warnings",
      "enable_sanity_checks",
    ] as const
  ).map((key) => zero.other(key, null, "allgather_partitions")),
  zero.memory("memory_efficient_linear"),
  ...(["allgather_sequential", "use_all_reduce_for_fetch_params"] as const).map((key) =>
    zero.memory(`stage3_${key}`, key, "stage3_allgather_sequential"),
  ),
  zero.memory("stage3_module_granularity_threshold", null, { min: 0 }),
  zero.other("compute_grad_norm", null),
  zero.memory("parameter_alignment", null),
  zero.memory("save_muon_momentum_buffer_in_memory", null),
]);

/** Blocks of ZeRO that nothing fills in. */
const ZERO_BLOCKS: readonly KeySpec[] = [
  memory("zero_optimization", null, "any"),
  memory(`${Z}zeropp_loco_param`, "zeropp_loco_param", "zeropp_loco_param"),
  zero.memory("zenflow", { type: "map" }),
  zero.memory("leaf_module", { type: "map" }),
];

const PRECISION: readonly KeySpec[] = [
  memory("fp16", "fp16_block", "deepspeed.fp16"),
  ...auto([
    half.memory("fp16.enabled", "fp16"),
    half.memory("fp16.auto_cast", null),
    half.memory("fp16.fp16_master_weights_and_grads"),
    ...["loss_scale", "initial_scale_power", "loss_scale_window", "hysteresis", "min_loss_scale"].map((key) =>
      other(`fp16.${key}`, null, "number", "loss_scale"),
    ),
    half.other("fp16.consecutive_hysteresis", null, "loss_scale"),
  ]),
  memory("bf16", "bf16_block", "deepspeed.bf16", { aliases: ["bfloat16"] }),
  ...auto([
    half.memory("bf16.enabled", "bf16", "bf16.enabled", { aliases: ["bfloat16.enabled"] }),
    half.memory("bf16.immediate_grad_update", null, { aliases: ["bfloat16.immediate_grad_update"] }),
    half.other("bf16.check_grad_overflow", null, { aliases: ["bfloat16.check_grad_overflow"] }),
    half.memory("bf16.bf16_master_weights_and_grads"),
    half.memory("bf16.bf16_optimizer_states"),
  ]),
  memory("amp", "amp_block"),
  memory("amp.enabled", "amp", "amp.enabled", { ...AUTO, default: false }),
  other("amp.opt_level", null, "string", AUTO),
  memory("torch_autocast", null, "map"),
  memory("torch_autocast.enabled", null, "boolean", "torch_autocast.enabled", { ...AUTO, default: false }),
  memory("torch_autocast.dtype", null, "string", AUTO),
  other("torch_autocast.lower_precision_safe_modules", null, "list"),
  memory("data_types", null, "map"),
  memory("data_types.grad_accum_dtype", "grad_accum_dtype", { ...AUTO, values: HALF_TYPES }),
  memory("communication_data_type", "communication_data_type", { ...AUTO, values: HALF_TYPES }),
];

const OTHER: readonly KeySpec[] = [
  memory("optimizer", null, "map", "deepspeed.optimizer"),
  memory("optimizer.type", "deepspeed_optimizer", AUTO),
  other("optimizer.params", null, "map"),
  memory("optimizer.params.torch_adam", "deepspeed_torch_adam", AUTO),
  other("optimizer.params.max_grad_norm", "deepspeed_optimizer_max_grad_norm", "params.max_grad_norm"),
  other("zero_allow_untested_optimizer", "zero_allow_untested_optimizer"),
  other("zero_force_ds_cpu_optimizer", null, "boolean"),
  memory("activation_checkpointing", "deepspeed_activation_checkpointing", "deepspeed.activation_checkpointing"),
  ...[
    "partition_activations",
    "contiguous_memory_optimization",
    "cpu_checkpointing",
    "synchronize_checkpoint_boundary",
    "profile",
  ].map((key) => other(`activation_checkpointing.${key}`, null, "boolean", "partition_activations", AUTO)),
  other("activation_checkpointing.number_checkpoints", null, "integer", { ...AUTO, nullable: true }),
  memory("tensor_parallel", null, "map"),
  memory("tensor_parallel.autotp_size", "tensor_parallel", { ...AUTO, default: 1, min: 0 }),
  memory("sequence_parallel_size", "sequence_parallel", { ...AUTO, default: 1 }),
  memory("pipeline", "pipeline_block", "deepspeed.pipeline"),
  memory("hybrid_engine", null, "map"),
  memory("hybrid_engine.enabled", "hybrid_engine_enabled", "hybrid_engine.enabled", { default: false }),
  memory("compile", null, "map", "deepspeed.compile"),
  memory("compile.deepcompile", "deepcompile", { ...AUTO, default: false }),
  memory("autotuning", "autotuning"),
  other("autotuning.enabled", null, "boolean", "hybrid_engine.enabled", { default: false }),
  ...touching("random-tokens", "data_efficiency"),
  ...touching("attention", "sparse_attention"),
  other("progressive_layer_drop", null, "map", "harmless"),
  other("compile.backend", null, "any", "harmless"),
  memory("compression_training", "compression_training"),
  memory("curriculum_learning", "curriculum_learning"),
  memory("elasticity", "elasticity"),
  memory("elasticity.enabled", "elasticity_enabled", "hybrid_engine.enabled", { default: false }),
  other("aio", "aio"),
  other("aio.block_size", null, "integer", "aio.block_size", { ...AUTO, default: 1_048_576, min: 1 }),
  other("aio.queue_depth", null, "integer", { ...AUTO, default: 8, min: 1 }),
  other("aio.intra_op_parallelism", null, "integer", { ...AUTO, default: 1, min: 1, aliases: ["aio.thread_count"] }),
  other("aio.single_submit", null, "boolean", AUTO),
  other("aio.overlap_events", null, "boolean", AUTO),
  other("aio.use_gds", null, "boolean", AUTO),
  other("scheduler", null, "map"),
];

export const DEEPSPEED_KEYS: readonly KeySpec[] = [...BATCH, ...ZERO_BLOCKS, ...ZERO, ...PRECISION, ...OTHER];

/** Blocks DeepSpeed reads with pydantic and `extra="forbid"`: an unknown key stops it. */
export const FORBIDDING_BLOCKS: readonly string[] = [
  "zero_optimization",
  "zero_optimization.offload_optimizer",
  "zero_optimization.offload_param",
  "fp16",
  "bf16",
  "bfloat16",
  "tensor_parallel",
];

/** Blocks whose content has no table here. */
export const FREE_BLOCKS: readonly string[] = [
  "optimizer.params",
  "scheduler",
  "amp",
  "autotuning",
  "compression_training",
  "curriculum_learning",
  "data_efficiency",
  "elasticity",
  "hybrid_engine",
  "compile",
  "pipeline",
  "tensor_parallel",
  "zero_optimization.zeropp_loco_param",
  "zero_optimization.zenflow",
  "zero_optimization.leaf_module",
];

/** Other top-level keys DeepSpeed reads. */
export const OTHER_DEEPSPEED_KEYS: readonly string[] = (
  "steps_per_print wall_clock_breakdown prescale_gradients gradient_predivide_factor sparse_gradients memory_breakdown " +
  "dump_state flops_profiler tensorboard wandb csv_monitor comet comms_logger monitor_config checkpoint " +
  "data_efficiency progressive_layer_drop eigenvalue quantize_training sparse_attention dataloader_drop_last " +
  "disable_allgather seq_parallel_communication_data_type communication_data_type nebula use_data_before_expert_parallel_ " +
  "graph_harvesting weight_quantization use_node_local_storage load_universal train_steps vocabulary_size " +
  "data_types timers zero_optimization inference_tp_size replace_with_kernel_inject dtype checkpoint_engine " +
  "step_batch_size variable_batch_size_and_lr logging gradient_noise_scale domino expert_parallel"
).split(" ");
