/**
 * torchtitan's job config: TOML until 2026-02, Python since. Types and defaults are in `fields.json`.
 * Source: `torchtitan/config/job_config.py` before 9810191bb, `torchtitan/config`, `models/*\/config_registry.py` after.
 */
import { harmless, memory, other, PRECISION, STORAGE, touching } from "../effects";
import { rowsOver } from "../fields";
import type { KeySpec } from "../types";
import captured from "./fields.json";

const MODES = { none: false, selective: true, full: true, memory_budget: true } as const;

const own = rowsOver(captured.fields);
/** What a field was called in the block where it stood before. */
const before = (...aliases: readonly string[]) => ({ aliases });

export const TORCHTITAN_KEYS: readonly KeySpec[] = [
  own.memory("model.name", "model_name", "model"),
  own.memory("model.flavor", "model_flavor"),
  own.other("model.hf_assets_path", null, before("model.tokenizer_path")),
  own.memory("model.converters"),
  own.memory("training.local_batch_size", "micro_batch_size", "micro-batch", before("training.batch_size")),
  own.memory("training.global_batch_size", { min: -1 }),
  own.memory("training.seq_len", "sequence_length", "sequence", before("training.max_context_length")),
  memory("training.num_tokens_per_microbatch_per_dp_rank", "tokens_per_micro_batch"),
  own.memory("training.dtype", "load_dtype", "load", {
    writes: { bfloat16: "bfloat16", float16: "float16", float32: "float32" },
    means: STORAGE,
  }),
  own.memory("training.mixed_precision_param", "compute_dtype", "compute", {
    writes: { bf16: "bfloat16", fp16: "float16", fp32: "float32" },
    means: PRECISION,
  }),
  own.memory("training.mixed_precision_reduce", "fsdp_reduce_dtype", { means: STORAGE }),
  own.memory("training.enable_cpu_offload", "offload_param", "offload-param", {
    means: { true: "cpu", false: "none" },
    also: [{ name: "offload_optimizer", means: { true: "cpu", false: "none" } }],
  }),
  own.memory("training.max_norm", "max_grad_norm", "clipping"),
  memory("training.compile", "torch_compile", "boolean", before("compile.enable")),
  own.memory(
    "parallelism.data_parallel_replicate_degree",
    "dp_replicate_size",
    "dp_replicate_size",
    before("training.data_parallel_replicate_degree"),
  ),
  own.memory("parallelism.data_parallel_shard_degree", "dp_shard_size", before("training.data_parallel_shard_degree")),
  own.memory("parallelism.fsdp_reshard_after_forward", "fsdp_reshard_after_forward", "reshard_after_forward", {
    type: "any",
    means: { always: true, never: false },
    also: [
      { name: "fsdp", means: { always: "full_shard", default: "full_shard", never: "shard_grad_op" }, only: true },
    ],
  }),
  own.memory(
    "parallelism.tensor_parallel_degree",
    "tensor_parallel",
    "tensor",
    before("training.tensor_parallel_degree"),
  ),
  own.memory(
    "parallelism.pipeline_parallel_degree",
    "pipeline_parallel",
    "pipeline",
    before("experimental.pipeline_parallel_degree"),
  ),
  own.memory(
    "parallelism.context_parallel_degree",
    "context_parallel",
    "context",
    before("experimental.context_parallel_degree"),
  ),
  own.memory(
    "parallelism.context_parallel_rotate_method",
    "context_rotation",
    "context",
    before("experimental.context_parallel_rotate_method"),
  ),
  own.memory("parallelism.expert_parallel_degree", "expert_parallel", "expert"),
  own.memory("parallelism.expert_tensor_parallel_degree", null, "expert", { min: 1 }),
  own.memory("parallelism.expert_parallel_comm_backend", null, "expert-buffers"),
  own.memory(
    "parallelism.pipeline_parallel_schedule",
    "pipeline_schedule",
    "schedule",
    before("experimental.pipeline_parallel_schedule"),
  ),
  own.memory("parallelism.pipeline_parallel_layers_per_stage", "pipeline_layers_per_stage", "schedule"),
  ...(["first", "last"] as const).map((end) =>
    own.memory(`parallelism.pipeline_parallel_${end}_stage_less_layers`, `pipeline_${end}_less_layers`, "pipeline", {
      min: 0,
    }),
  ),
  own.memory("parallelism.pipeline_parallel_microbatch_size", "pipeline_micro_batch"),
  own.memory("activation_checkpoint.mode", "gradient_checkpointing", {
    means: MODES,
    writes: { true: "full" },
    also: [{ name: "checkpoint_kind", means: { selective: "selective", full: "full" }, only: true }],
  }),
  own.memory("activation_checkpoint.selective_ac_option", "checkpoint_mode"),
  // `implementation` is fused by default.
  own.memory("optimizer.name", "optimizer", "optimizer", {
    means: { AdamW: "adamw_torch_fused", Adam: "adamw_torch_fused" },
  }),
  own.memory("optimizer.implementation", null),
  own.memory("optimizer.early_step_in_backward", "optimizer_in_backward"),
  memory("quantize.linear.float8", null, "map", "fp8_config", before("float8")),
  ...(
    [
      ["enable_fsdp_float8_all_gather", "float8_all_gather", "fp8_enable_fsdp_float8_all_gather"],
      ["precompute_float8_dynamic_scale_for_fsdp", null, "fp8_enable_fsdp_float8_all_gather"],
      ["recipe_name", "fp8_recipe", "fp8_recipe"],
      ["filter_fqns", "fp8_skip_modules", "filter_fqns"],
    ] as const
  ).map(([key, name, effect]) => own.memory(`quantize.linear.float8.${key}`, name, effect, before(`float8.${key}`))),
  memory("float8.enable_float8_linear", "float8", "fp8_config"),
  // torchtitan's Flux: text encoders and an autoencoder beside the trained model.
  ...touching("vision_tower", "encoder.clip_encoder encoder.t5_encoder encoder.max_t5_encoding_len"),
  ...touching("image", "training.img_size"),
  ...touching("eval-batch", "validation.local_batch_size"),
  ...touching("norm_type", "model.norm_type"),
  own.memory("compile.components", null, "compile"),
  ...touching("lossy", "quantize.grouped_mm.float8.fqns quantize.grouped_mm.mx.fqns"),
  own.memory(
    "parallelism.enable_async_tensor_parallel",
    null,
    "tensor_parallel",
    before("experimental.enable_async_tensor_parallel"),
  ),
  own.memory("parallelism.disable_loss_parallel", null, "tensor_parallel"),
  ...harmless("validation.freq validation.steps validation.enable_classifier_free_guidance validation.all_timesteps"),
  other("checkpoint.async_mode", null, "string"),
];
