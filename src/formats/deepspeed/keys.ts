/**
 * DeepSpeed's JSON: every section that decides about memory. Sizes of buckets and thresholds are in elements.
 * Source: `deepspeed/runtime/config.py`, `runtime/zero/config.py`, `runtime/zero/offload_config.py`,
 * `runtime/precision_config.py`, `runtime/activation_checkpointing/config.py`, `runtime/swap_tensor/aio_config.py`
 * of 0.19.6.
 */
import { memory, other } from "../effects";
import type { KeySpec } from "../types";

const AUTO = { auto: true } as const;
const Z = "zero_optimization.";
const OFFLOAD = ["none", "cpu", "nvme"];
const HALF_TYPES = ["fp32", "fp16", "bf16", "float32", "float16", "bfloat16", "int8"];

const BATCH: readonly KeySpec[] = [
  memory("train_batch_size", "global_batch_size", "integer", "Samples per optimizer step over all GPUs.", {
    ...AUTO,
    min: 1,
  }),
  memory(
    "train_micro_batch_size_per_gpu",
    "micro_batch_size",
    "integer",
    "Samples per GPU in one forward: activations grow in proportion.",
    { ...AUTO, min: 1 },
  ),
  memory("gradient_accumulation_steps", "gradient_accumulation_steps", "integer", "Micro-batches per optimizer step.", {
    ...AUTO,
    min: 1,
    default: 1,
  }),
  memory("gradient_clipping", "max_grad_norm", "number", "Gradient clipping.", {
    ...AUTO,
    min: 0,
    default: 1.0,
    defaultsBy: { "deepspeed<0.19.3": 0 },
  }),
];

const ZERO: readonly KeySpec[] = [
  memory(
    "zero_optimization",
    null,
    "any",
    "ZeRO: shards optimizer states (1), gradients (2) and parameters (3) over the GPUs.",
  ),
  memory(
    `${Z}stage`,
    "zero_stage",
    "integer",
    "0 replicates; 1 shards optimizer states and the float32 master; 2 also gradients; 3 also parameters.",
    { ...AUTO, default: 0, min: 0, max: 3 },
  ),
  memory(`${Z}contiguous_gradients`, "contiguous_gradients", "boolean", "Allocates the gradient bucket.", {
    ...AUTO,
    default: true,
  }),
  memory(
    `${Z}reduce_bucket_size`,
    "reduce_bucket_size",
    "integer",
    "Elements of the gradient bucket; stages 1 and 2 hold it twice with overlap_comm.",
    { ...AUTO, default: 500_000_000, min: 0 },
  ),
  memory(
    `${Z}overlap_comm`,
    "overlap_comm",
    "boolean",
    "Reduces while backward runs: a second bucket in stages 1 and 2.",
    { ...AUTO, default: null, nullable: true },
  ),
  memory(
    `${Z}allgather_bucket_size`,
    "allgather_bucket_size",
    "integer",
    "Elements of a chunk of the parameter all-gather in stages 1 and 2.",
    { ...AUTO, default: 500_000_000, min: 0 },
  ),
  memory(
    `${Z}sub_group_size`,
    "sub_group_size",
    "integer",
    "Stage 3 updates this many elements at a time: bounds the step's temporaries and the unit of swapping.",
    { ...AUTO, default: 1_000_000_000, min: 0 },
  ),
  memory(
    `${Z}stage3_prefetch_bucket_size`,
    "stage3_prefetch_bucket_size",
    "integer",
    "Elements gathered ahead of use in stage 3.",
    { ...AUTO, default: 50_000_000, min: 0, aliases: [`${Z}prefetch_bucket_size`] },
  ),
  memory(
    `${Z}stage3_param_persistence_threshold`,
    "stage3_param_persistence_threshold",
    "integer",
    "Parameters up to this many elements stay gathered on every GPU.",
    { ...AUTO, default: 100_000, min: 0, aliases: [`${Z}param_persistence_threshold`] },
  ),
  memory(
    `${Z}stage3_model_persistence_threshold`,
    "stage3_model_persistence_threshold",
    "integer",
    "Cap on the elements that stay gathered.",
    {
      ...AUTO,
      min: 0,
      aliases: [`${Z}model_persistence_threshold`],
    },
  ),
  memory(
    `${Z}stage3_max_live_parameters`,
    "stage3_max_live_parameters",
    "integer",
    "Limits how much is prefetched; gathers on demand ignore it.",
    { ...AUTO, default: 1_000_000_000, min: 0, aliases: [`${Z}max_live_parameters`] },
  ),
  memory(
    `${Z}stage3_max_reuse_distance`,
    "stage3_max_reuse_distance",
    "integer",
    "A parameter used again within this many elements is not released: small models stay gathered.",
    { ...AUTO, default: 1_000_000_000, min: 0, aliases: [`${Z}max_reuse_distance`] },
  ),
  other(
    `${Z}stage3_gather_16bit_weights_on_model_save`,
    "stage3_gather_16bit_weights_on_model_save",
    "boolean",
    "Gathers the whole model on rank 0's host at every save.",
    {
      ...AUTO,
      default: false,
      aliases: [
        `${Z}gather_16bit_weights_on_model_save`,
        `${Z}stage3_gather_fp16_weights_on_model_save`,
        `${Z}gather_fp16_weights_on_model_save`,
      ],
    },
  ),
  memory(
    `${Z}zero_hpz_partition_size`,
    "hpz_partition_size",
    "integer",
    "ZeRO++: a second copy sharded over this many GPUs.",
    {
      ...AUTO,
      default: 1,
      min: 1,
    },
  ),
  other(`${Z}zero_quantized_weights`, null, "boolean", "Quantized all-gather: communication only.", AUTO),
  other(`${Z}zero_quantized_gradients`, null, "boolean", "Quantized reduction: communication only.", AUTO),
  memory(`${Z}zero_quantized_nontrainable_weights`, null, "boolean", "Keeps frozen weights in int8.", {
    ...AUTO,
    default: false,
  }),
  memory(`${Z}mics_shard_size`, "mics_shard_size", "integer", "MiCS: shards over this many ranks instead of all.", {
    ...AUTO,
    default: -1,
    min: -1,
  }),
  other(`${Z}mics_hierarchical_params_gather`, null, "boolean", "MiCS: gathers in two levels.", AUTO),
  memory(`${Z}offload_optimizer`, "offload_optimizer_block", "map", "Moves optimizer states off the GPU.", {
    nullable: true,
    ...AUTO,
  }),
  memory(`${Z}offload_param`, "offload_param_block", "map", "Moves parameters off the GPU (stage 3 only).", {
    nullable: true,
    ...AUTO,
  }),
  memory(`${Z}offload_optimizer.device`, "offload_optimizer", "enum", "Where optimizer states live.", {
    ...AUTO,
    default: "none",
    values: OFFLOAD,
    nullable: true,
  }),
  memory(`${Z}offload_param.device`, "offload_param", "enum", "Where parameters live between uses.", {
    ...AUTO,
    default: "none",
    values: OFFLOAD,
    nullable: true,
  }),
  other(`${Z}offload_optimizer.nvme_path`, "offload_optimizer_nvme_path", "string", "Directory on the NVMe drive.", {
    nullable: true,
    ...AUTO,
  }),
  other(`${Z}offload_param.nvme_path`, "offload_param_nvme_path", "string", "Directory on the NVMe drive.", {
    nullable: true,
    ...AUTO,
  }),
  memory(`${Z}offload_optimizer.pin_memory`, "offload_optimizer_pin_memory", "boolean", "Page-locked host memory.", {
    ...AUTO,
    default: true,
    defaultsBy: { "deepspeed<0.19.5": false },
  }),
  memory(`${Z}offload_param.pin_memory`, "offload_param_pin_memory", "boolean", "Page-locked host memory.", {
    ...AUTO,
    default: true,
    defaultsBy: { "deepspeed<0.19.5": false },
  }),
  other(`${Z}offload_optimizer.buffer_count`, null, "integer", "Host buffers for swapping.", {
    ...AUTO,
    default: 4,
    min: 1,
  }),
  other(`${Z}offload_param.buffer_count`, null, "integer", "Host buffers for swapping.", {
    ...AUTO,
    default: 5,
    min: 1,
  }),
  other(`${Z}offload_param.buffer_size`, null, "integer", "Elements of one of them.", {
    ...AUTO,
    default: 100_000_000,
    min: 0,
  }),
  other(`${Z}offload_param.max_in_cpu`, null, "integer", "Elements kept in RAM with NVMe.", {
    ...AUTO,
    default: 1_000_000_000,
    min: 0,
  }),
  other(`${Z}offload_optimizer.pipeline_read`, null, "boolean", "Overlaps reading.", AUTO),
  other(`${Z}offload_optimizer.pipeline_write`, null, "boolean", "Overlaps writing.", AUTO),
  other(`${Z}offload_optimizer.pipeline`, null, "boolean", "Overlaps reading and writing.", AUTO),
  other(`${Z}offload_optimizer.fast_init`, null, "boolean", "Faster first swap.", AUTO),
  memory(`${Z}offload_optimizer.ratio`, "offload_optimizer_ratio", "number", "Share of the update done on the CPU.", {
    ...AUTO,
    default: 1.0,
    min: 0,
    max: 1,
  }),
  memory(`${Z}offload_optimizer.super_offload`, "super_offload", "boolean", "SuperOffload for Grace Hopper.", {
    ...AUTO,
    default: false,
  }),
  other(`${Z}offload_optimizer.cpuadam_cores_perc`, null, "number", "Cores of the CPU optimizer.", AUTO),
  memory(`${Z}cpu_offload`, "deprecated_cpu_offload", "boolean", "Old form of offload_optimizer.", {
    nullable: true,
    replacedBy: "offload_optimizer",
    ...AUTO,
  }),
  memory(`${Z}cpu_offload_param`, "deprecated_cpu_offload_param", "boolean", "Old form of offload_param.", {
    nullable: true,
    replacedBy: "offload_param",
    ...AUTO,
  }),
  memory(`${Z}cpu_offload_params`, "deprecated_cpu_offload_param", "boolean", "Old form of offload_param.", {
    nullable: true,
    replacedBy: "offload_param",
    ...AUTO,
  }),
  other(`${Z}cpu_offload_use_pin_memory`, null, "boolean", "Old form of pin_memory.", {
    nullable: true,
    replacedBy: "offload_optimizer.pin_memory",
    ...AUTO,
  }),
  other(`${Z}legacy_stage1`, "legacy_stage1", "boolean", "Removed in 0.5.9.", AUTO),
  ...[
    "allgather_partitions",
    "reduce_scatter",
    "use_multi_rank_bucket_allreduce",
    "round_robin_gradients",
    "elastic_checkpoint",
    "load_from_fp32_weights",
    "pipeline_loading_checkpoint",
    "override_module_apply",
    "ignore_unused_parameters",
    "memory_efficient_linear",
    "log_trace_cache_warnings",
    "enable_sanity_checks",
  ].map((key) => other(`${Z}${key}`, null, "boolean", "No effect on GPU memory.", AUTO)),
  ...["stage3_allgather_sequential", "stage3_use_all_reduce_for_fetch_params"].map((key) =>
    other(`${Z}${key}`, null, "boolean", "How parameters are gathered.", {
      ...AUTO,
      aliases: [`${Z}${key.slice("stage3_".length)}`],
    }),
  ),
  memory(`${Z}stage3_module_granularity_threshold`, null, "integer", "Modules below it are gathered whole.", {
    ...AUTO,
    default: 0,
    min: 0,
    aliases: [`${Z}module_granularity_threshold`],
  }),
  memory(`${Z}zeropp_loco_param`, "zeropp_loco_param", "map", "LoCo-ZeRO++ error feedback buffers.", {
    nullable: true,
  }),
  memory(`${Z}zenflow`, "zenflow", "map", "ZenFlow: overlapped CPU updates.", { nullable: true }),
  memory(`${Z}leaf_module`, "leaf_module", "map", "Modules gathered as one.", { nullable: true }),
  memory(`${Z}save_muon_momentum_buffer_in_memory`, null, "boolean", "Keeps Muon's momentum on the GPU.", AUTO),
];

const PRECISION: readonly KeySpec[] = [
  memory("fp16", "fp16_block", "map", "Mixed precision in float16: 16-bit parameters and a float32 master copy."),
  memory("fp16.enabled", "fp16", "boolean", "Switches float16 on.", { ...AUTO, default: false }),
  memory("fp16.auto_cast", null, "boolean", "Casts the inputs.", { ...AUTO, default: false }),
  memory(
    "fp16.fp16_master_weights_and_grads",
    "fp16_master_weights_and_grads",
    "boolean",
    "Keeps the master copy and gradients in float16 (ZeRO with CPU Adam).",
    { ...AUTO, default: false },
  ),
  ...["loss_scale", "initial_scale_power", "loss_scale_window", "hysteresis", "min_loss_scale"].map((key) =>
    other(`fp16.${key}`, null, "number", "Loss scaling: no memory.", AUTO),
  ),
  other("fp16.consecutive_hysteresis", null, "boolean", "Loss scaling: no memory.", AUTO),
  memory("bf16", "bf16_block", "map", "Mixed precision in bfloat16: 16-bit parameters and a float32 master copy.", {
    aliases: ["bfloat16"],
  }),
  memory("bf16.enabled", "bf16", "boolean", "Switches bfloat16 on.", {
    ...AUTO,
    default: false,
    aliases: ["bfloat16.enabled"],
  }),
  memory("bf16.immediate_grad_update", null, "boolean", "Adds gradients to float32 at once.", {
    ...AUTO,
    default: false,
    aliases: ["bfloat16.immediate_grad_update"],
  }),
  other("bf16.check_grad_overflow", null, "boolean", "Looks for overflow.", {
    ...AUTO,
    aliases: ["bfloat16.check_grad_overflow"],
  }),
  memory(
    "bf16.bf16_master_weights_and_grads",
    "bf16_master_weights_and_grads",
    "boolean",
    "Keeps the master copy and gradients in bfloat16.",
    { ...AUTO, default: false },
  ),
  memory(
    "bf16.bf16_optimizer_states",
    "bf16_optimizer_states",
    "boolean",
    "Keeps optimizer states in bfloat16 (needs bf16_master_weights_and_grads).",
    { ...AUTO, default: false },
  ),
  memory("amp", "amp_block", "map", "Apex mixed precision (not with ZeRO)."),
  memory("amp.enabled", "amp", "boolean", "Switches apex on.", { ...AUTO, default: false }),
  other("amp.opt_level", null, "string", "Apex level.", AUTO),
  memory("torch_autocast", null, "map", "torch.autocast: parameters stay float32."),
  memory("torch_autocast.enabled", null, "boolean", "Switches autocast on.", {
    ...AUTO,
    default: false,
  }),
  memory("torch_autocast.dtype", null, "string", "Dtype of autocast.", AUTO),
  other("torch_autocast.lower_precision_safe_modules", null, "list", "Modules that may run in lower precision."),
  memory("data_types", null, "map", "Dtypes of the accumulated gradients."),
  memory("data_types.grad_accum_dtype", "grad_accum_dtype", "enum", "Dtype gradients are accumulated in.", {
    ...AUTO,
    values: HALF_TYPES,
    nullable: true,
  }),
  memory("communication_data_type", "communication_data_type", "enum", "Dtype of the reductions.", {
    ...AUTO,
    values: HALF_TYPES,
    nullable: true,
  }),
];

const OTHER: readonly KeySpec[] = [
  memory("optimizer", null, "map", "DeepSpeed builds the optimizer."),
  memory("optimizer.type", "deepspeed_optimizer", "string", "Optimizer: Adam 8 bytes per parameter, Lion 4.", AUTO),
  other("optimizer.params", null, "map", "Its arguments."),
  memory("optimizer.params.torch_adam", "deepspeed_torch_adam", "boolean", "PyTorch's Adam, not the fused one.", AUTO),
  other(
    "optimizer.params.max_grad_norm",
    "deepspeed_optimizer_max_grad_norm",
    "number",
    "An error: use gradient_clipping.",
  ),
  other("zero_allow_untested_optimizer", "zero_allow_untested_optimizer", "boolean", "Lets ZeRO wrap any optimizer."),
  other("zero_force_ds_cpu_optimizer", null, "boolean", "Insists on the CPU optimizer."),
  memory(
    "activation_checkpointing",
    "deepspeed_activation_checkpointing",
    "map",
    "Acts only on models that call deepspeed.checkpointing; Hugging Face models do not.",
  ),
  ...[
    "partition_activations",
    "contiguous_memory_optimization",
    "cpu_checkpointing",
    "synchronize_checkpoint_boundary",
    "profile",
  ].map((key) =>
    other(
      `activation_checkpointing.${key}`,
      null,
      "boolean",
      "Only for models that call deepspeed.checkpointing.",
      AUTO,
    ),
  ),
  other("activation_checkpointing.number_checkpoints", null, "integer", "Number of checkpoints.", {
    ...AUTO,
    nullable: true,
  }),
  memory("tensor_parallel", null, "map", "Tensor parallelism."),
  memory("tensor_parallel.autotp_size", "tensor_parallel", "integer", "Tensor-parallel degree in training.", {
    ...AUTO,
    default: 1,
    min: 0,
  }),
  memory("sequence_parallel_size", "sequence_parallel", "integer", "Sequence-parallel degree (Ulysses).", {
    ...AUTO,
    default: 1,
    min: 1,
  }),
  memory("pipeline", "pipeline_block", "any", "Pipeline engine."),
  memory("hybrid_engine", null, "map", "Training and generation in one engine (RLHF)."),
  memory("hybrid_engine.enabled", "hybrid_engine_enabled", "boolean", "Switches it on.", { default: false }),
  memory("compile", null, "map", "torch.compile and DeepCompile."),
  memory("compile.deepcompile", "deepcompile", "boolean", "Compiles ZeRO's gathers into the graph.", {
    ...AUTO,
    default: false,
  }),
  memory("autotuning", "autotuning", "map", "DeepSpeed tries configs by itself."),
  other("autotuning.enabled", null, "boolean", "Switches it on.", { default: false }),
  memory("compression_training", "compression_training", "map", "Quantization-aware training and pruning."),
  memory("curriculum_learning", "curriculum_learning", "map", "The sequence length grows over time."),
  memory("elasticity", "elasticity", "map", "DeepSpeed chooses the batch sizes itself."),
  memory("elasticity.enabled", "elasticity_enabled", "boolean", "Switches it on.", { default: false }),
  other("aio", "aio", "map", "Asynchronous I/O for NVMe offload."),
  other("aio.block_size", null, "integer", "Bytes per request.", { ...AUTO, default: 1_048_576, min: 1 }),
  other("aio.queue_depth", null, "integer", "Requests in flight.", { ...AUTO, default: 8, min: 1 }),
  other("aio.intra_op_parallelism", null, "integer", "Threads per request.", {
    ...AUTO,
    default: 1,
    min: 1,
    aliases: ["aio.thread_count"],
  }),
  other("aio.single_submit", null, "boolean", "One request at a time.", AUTO),
  other("aio.overlap_events", null, "boolean", "Overlaps submission and completion.", AUTO),
  other("aio.use_gds", null, "boolean", "GPU-direct storage.", AUTO),
  other("scheduler", null, "map", "Learning-rate schedule: no memory."),
];

export const DEEPSPEED_KEYS: readonly KeySpec[] = [...BATCH, ...ZERO, ...PRECISION, ...OTHER];

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
