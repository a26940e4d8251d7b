/**
 * torchtitan's job config: TOML until 2026-02, Python since.
 * Source: `torchtitan/config/job_config.py` before 9810191bb, `torchtitan/config`, `models/*\/config_registry.py` after.
 */
import { harmless, memory, other, PRECISION, STORAGE, touching } from "../effects";
import type { KeySpec } from "../types";

const MODES = { none: false, selective: true, full: true, memory_budget: true } as const;

export const TORCHTITAN_KEYS: readonly KeySpec[] = [
  memory("model.name", "model_name", "model"),
  memory("model.flavor", "model_flavor"),
  other("model.hf_assets_path", null, "string", { aliases: ["model.tokenizer_path"] }),
  memory("model.converters", "converters"),
  memory("training.local_batch_size", "micro_batch_size", "micro-batch", {
    default: 8,

    aliases: ["training.batch_size"],
  }),
  memory("training.global_batch_size", "global_batch_size", { min: -1 }),
  memory("training.seq_len", "sequence_length", "sequence", {
    default: 2048,

    aliases: ["training.max_context_length"],
  }),
  memory("training.num_tokens_per_microbatch_per_dp_rank", "tokens_per_micro_batch"),
  memory("training.dtype", "load_dtype", "load", {
    default: "float32",
    writes: { bfloat16: "bfloat16", float16: "float16", float32: "float32" },
    means: STORAGE,
  }),
  memory("training.mixed_precision_param", "compute_dtype", "string", "compute", {
    default: "bfloat16",
    writes: { bf16: "bfloat16", fp16: "float16", fp32: "float32" },
    means: PRECISION,
  }),
  memory("training.mixed_precision_reduce", "fsdp_reduce_dtype", { default: "float32", means: STORAGE }),
  memory("training.enable_cpu_offload", "offload_param", "offload-param", {
    default: false,
    means: { true: "cpu", false: "none" },
    also: [{ name: "offload_optimizer", means: { true: "cpu", false: "none" } }],
  }),
  memory("training.max_norm", "max_grad_norm", "clipping", { default: 1.0 }),
  memory("training.compile", "torch_compile", "boolean", { aliases: ["compile.enable"] }),
  memory("parallelism.data_parallel_replicate_degree", "dp_replicate_size", "dp_replicate_size", {
    default: 1,
    aliases: ["training.data_parallel_replicate_degree"],
  }),
  memory("parallelism.data_parallel_shard_degree", "dp_shard_size", {
    default: -1,
    aliases: ["training.data_parallel_shard_degree"],
  }),
  memory("parallelism.fsdp_reshard_after_forward", "fsdp_reshard_after_forward", "any", "reshard_after_forward", {
    default: "default",
    means: { always: true, never: false },
    also: [
      { name: "fsdp", means: { always: "full_shard", default: "full_shard", never: "shard_grad_op" }, only: true },
    ],
  }),
  memory("parallelism.tensor_parallel_degree", "tensor_parallel", "tensor", {
    default: 1,

    aliases: ["training.tensor_parallel_degree"],
  }),
  memory("parallelism.pipeline_parallel_degree", "pipeline_parallel", "pipeline", {
    default: 1,

    aliases: ["experimental.pipeline_parallel_degree"],
  }),
  memory("parallelism.context_parallel_degree", "context_parallel", "context", {
    default: 1,

    aliases: ["experimental.context_parallel_degree"],
  }),
  memory("parallelism.context_parallel_rotate_method", "context_rotation", "context", {
    default: "allgather",
    aliases: ["experimental.context_parallel_rotate_method"],
  }),
  memory("parallelism.expert_parallel_degree", "expert_parallel", "expert", { default: 1 }),
  memory("parallelism.expert_tensor_parallel_degree", null, "integer", "expert", { min: 1 }),
  memory("parallelism.pipeline_parallel_schedule", "pipeline_schedule", "schedule", {
    default: "1F1B",
    aliases: ["experimental.pipeline_parallel_schedule"],
  }),
  memory("parallelism.pipeline_parallel_layers_per_stage", "pipeline_layers_per_stage", "schedule"),
  ...(["first", "last"] as const).map((end) =>
    memory(
      `parallelism.pipeline_parallel_${end}_stage_less_layers`,
      `pipeline_${end}_less_layers`,
      "integer",
      "pipeline",
      {
        default: 1,
        min: 0,
      },
    ),
  ),
  memory("parallelism.pipeline_parallel_microbatch_size", "pipeline_micro_batch", { default: 1 }),
  memory("activation_checkpoint.mode", "gradient_checkpointing", "string", {
    default: "selective",
    means: MODES,
    writes: { true: "full" },
    also: [{ name: "checkpoint_kind", means: { selective: "selective", full: "full" }, only: true }],
  }),
  memory("activation_checkpoint.selective_ac_option", "checkpoint_mode"),
  memory("optimizer.name", "optimizer", "optimizer", {
    default: "AdamW",
    // `implementation` is fused by default (torchtitan/components/optimizer.py)
    means: { AdamW: "adamw_torch_fused", Adam: "adamw_torch_fused" },
  }),
  memory("optimizer.implementation", null, "string", { default: "fused" }),
  memory("optimizer.early_step_in_backward", "optimizer_in_backward", { default: false }),
  memory("quantize.linear.float8", null, "map", "fp8_config", { aliases: ["float8"] }),
  memory(
    "quantize.linear.float8.enable_fsdp_float8_all_gather",
    "float8_all_gather",
    "fp8_enable_fsdp_float8_all_gather",
    { aliases: ["float8.enable_fsdp_float8_all_gather"] },
  ),
  memory("quantize.linear.float8.recipe_name", "fp8_recipe", "fp8_recipe", { aliases: ["float8.recipe_name"] }),
  memory("quantize.linear.float8.filter_fqns", "fp8_skip_modules", { aliases: ["float8.filter_fqns"] }),
  memory("float8.enable_float8_linear", "float8", "fp8_config"),
  // torchtitan's Flux: text encoders and an autoencoder beside the trained model.
  ...touching("vision_tower", "encoder.clip_encoder encoder.t5_encoder encoder.max_t5_encoding_len"),
  ...touching("image", "training.img_size"),
  ...touching("eval-batch", "validation.local_batch_size"),
  ...touching("norm_type", "model.norm_type"),
  memory("compile.components", null, "list", "compile", { default: null }),
  ...touching("lossy", "quantize.grouped_mm.float8.fqns quantize.grouped_mm.mx.fqns"),
  memory(
    "quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp",
    null,
    "boolean",
    "fp8_enable_fsdp_float8_all_gather",
    { aliases: ["float8.precompute_float8_dynamic_scale_for_fsdp"] },
  ),
  memory("parallelism.disable_loss_parallel", null, "boolean", "tensor_parallel"),
  memory("parallelism.enable_async_tensor_parallel", null, "boolean", "tensor_parallel", {
    aliases: ["experimental.enable_async_tensor_parallel"],
  }),
  ...harmless("validation.freq validation.steps validation.enable_classifier_free_guidance validation.all_timesteps"),
  other("checkpoint.async_mode", null, "string"),
];
