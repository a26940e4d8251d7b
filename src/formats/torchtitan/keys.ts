/**
 * torchtitan's job config: TOML until 2026-02, Python since.
 * Source: `torchtitan/config/job_config.py` before 9810191bb, `torchtitan/config`, `models/*\/config_registry.py` after.
 */
import { EFFECT, memory, other, PRECISION, STORAGE } from "../effects";
import type { KeySpec } from "../types";

const MODES = { none: false, selective: true, full: true, memory_budget: true } as const;

export const TORCHTITAN_KEYS: readonly KeySpec[] = [
  memory("model.name", "model_name", "string", EFFECT.model),
  memory("model.flavor", "model_flavor", "string", "Size of the model, from torchtitan's own table."),
  other("model.hf_assets_path", null, "string", "Tokenizer and checkpoint.", { aliases: ["model.tokenizer_path"] }),
  memory("model.converters", "converters", "list", "Float8 and other conversions of the layers."),
  memory("training.local_batch_size", "micro_batch_size", "integer", EFFECT.microBatch, {
    default: 8,
    min: 1,
    aliases: ["training.batch_size"],
  }),
  memory(
    "training.global_batch_size",
    "global_batch_size",
    "integer",
    "Samples per optimizer step over all GPUs; -1 is no accumulation.",
  ),
  memory("training.seq_len", "sequence_length", "integer", EFFECT.sequence, {
    default: 2048,
    min: 1,
    aliases: ["training.max_context_length"],
  }),
  memory(
    "training.num_tokens_per_microbatch_per_dp_rank",
    "tokens_per_micro_batch",
    "integer",
    "Tokens per GPU in one forward: activations grow in proportion.",
    { min: 1 },
  ),
  memory("training.dtype", "load_dtype", "string", EFFECT.load, {
    default: "float32",
    writes: { bfloat16: "bfloat16", float16: "float16", float32: "float32" },
    means: STORAGE,
  }),
  memory("training.mixed_precision_param", "compute_dtype", "string", EFFECT.compute, {
    default: "bfloat16",
    writes: { bf16: "bfloat16", fp16: "float16", fp32: "float32" },
    means: PRECISION,
  }),
  memory("training.mixed_precision_reduce", null, "string", "Dtype gradients are reduced in.", {
    default: "float32",
  }),
  memory("training.enable_cpu_offload", "offload_param", "boolean", EFFECT.offloadParam, {
    default: false,
    means: { true: "cpu", false: "none" },
    also: [{ name: "offload_optimizer", means: { true: "cpu", false: "none" } }],
  }),
  memory("training.max_norm", "max_grad_norm", "number", EFFECT.clipping, { default: 1.0, min: 0 }),
  memory("training.compile", "torch_compile", "boolean", EFFECT.compile, { aliases: ["compile.enable"] }),
  memory("parallelism.data_parallel_replicate_degree", "dp_replicate_size", "integer", "Copies of the sharded model.", {
    default: 1,
    aliases: ["training.data_parallel_replicate_degree"],
  }),
  memory(
    "parallelism.data_parallel_shard_degree",
    "dp_shard_size",
    "integer",
    "GPUs the parameters are sharded over; -1 is all that remain.",
    { default: -1, aliases: ["training.data_parallel_shard_degree"] },
  ),
  memory(
    "parallelism.fsdp_reshard_after_forward",
    "fsdp_reshard_after_forward",
    "any",
    "Frees a unit's gathered parameters after its forward.",
    {
      default: "default",
      means: { always: true, never: false },
      also: [
        { name: "fsdp", means: { always: "full_shard", default: "full_shard", never: "shard_grad_op" }, only: true },
      ],
    },
  ),
  memory("parallelism.tensor_parallel_degree", "tensor_parallel", "integer", EFFECT.tensor, {
    default: 1,
    min: 1,
    aliases: ["training.tensor_parallel_degree"],
  }),
  memory("parallelism.pipeline_parallel_degree", "pipeline_parallel", "integer", EFFECT.pipeline, {
    default: 1,
    min: 1,
    aliases: ["experimental.pipeline_parallel_degree"],
  }),
  memory("parallelism.context_parallel_degree", "context_parallel", "integer", EFFECT.context, {
    default: 1,
    min: 1,
    aliases: ["experimental.context_parallel_degree"],
  }),
  memory("parallelism.expert_parallel_degree", "expert_parallel", "integer", EFFECT.expert, { default: 1, min: 1 }),
  memory("parallelism.expert_tensor_parallel_degree", null, "integer", EFFECT.expert, { min: 1 }),
  memory("parallelism.pipeline_parallel_schedule", null, "string", EFFECT.schedule, {
    aliases: ["experimental.pipeline_parallel_schedule"],
  }),
  memory("parallelism.pipeline_parallel_microbatch_size", null, "integer", "Samples per pipeline micro-batch.", {
    min: 1,
  }),
  memory(
    "activation_checkpoint.mode",
    "gradient_checkpointing",
    "string",
    "none keeps everything, selective some operators or layers, full only each layer's input.",
    {
      default: "selective",
      means: MODES,
      also: [{ name: "checkpoint_kind", means: { selective: "selective", full: "full" }, only: true }],
    },
  ),
  memory(
    "activation_checkpoint.selective_ac_option",
    "checkpoint_mode",
    "any",
    "Every n-th layer, or `op` for chosen operators.",
  ),
  memory("optimizer.name", "optimizer", "string", EFFECT.optimizer, {
    default: "AdamW",
    // `implementation` is fused by default (torchtitan/components/optimizer.py)
    means: { AdamW: "adamw_torch_fused", Adam: "adamw_torch_fused" },
  }),
  memory("optimizer.implementation", null, "string", "fused keeps the fewest temporaries.", {
    default: "fused",
  }),
  memory(
    "optimizer.early_step_in_backward",
    "optimizer_in_backward",
    "boolean",
    "Steps each parameter in backward: gradients are never all alive.",
    { default: false },
  ),
  memory("quantize.linear.float8", null, "map", "Matrix products in 8 bits.", { aliases: ["float8"] }),
  memory(
    "quantize.linear.float8.enable_fsdp_float8_all_gather",
    "float8_all_gather",
    "boolean",
    "Gathers the weights in 8 bits.",
    { aliases: ["float8.enable_fsdp_float8_all_gather"] },
  ),
  memory("quantize.linear.float8.recipe_name", "fp8_recipe", "string", "How 8-bit products are scaled.", {
    nullable: true,
    aliases: ["float8.recipe_name"],
  }),
  memory("quantize.linear.float8.filter_fqns", "fp8_skip_modules", "any", "Linear layers left in full precision.", {
    aliases: ["float8.filter_fqns"],
  }),
  memory("float8.enable_float8_linear", "float8", "boolean", "Matrix products in 8 bits."),
  other("checkpoint.async_mode", null, "string", "Asynchronous checkpoints keep a copy in host memory."),
];
