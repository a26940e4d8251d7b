/**
 * Flags of the training scripts of diffusers (and kohya's), which share their names.
 * Source: `examples/*\/train_*.py` of diffusers 0.35.
 */
import { memory, onlyWhenOn, other, PRECISION } from "../effects";
import type { KeySpec } from "../types";

export const DIFFUSERS_KEYS: readonly KeySpec[] = [
  memory("pretrained_model_name_or_path", "model", "model", { link: "model" }),
  memory("train_batch_size", "micro_batch_size", "micro-batch", { default: 4 }),
  memory("gradient_accumulation_steps", "gradient_accumulation_steps", "accumulation", { default: 1 }),
  memory("gradient_checkpointing", "gradient_checkpointing", "checkpointing", { default: false }),
  memory("mixed_precision", "compute_dtype", "string", { writes: { fp32: "no" }, means: PRECISION }),
  memory("resolution", "image_size", "image", { default: 512 }),
  memory("height", null, "integer", "image", { min: 1 }),
  memory("width", null, "integer", "image", { min: 1 }),
  memory("max_num_frames", "frames", { min: 1 }),
  memory("max_sequence_length", "sequence_length", "sequence"),
  memory("use_8bit_adam", "use_8bit_adam", {
    also: [{ name: "optimizer", means: onlyWhenOn("adamw_8bit"), only: true }],
  }),
  memory("optimizer", "optimizer", { aliases: ["optimizer_type"] }),
  memory("max_grad_norm", "max_grad_norm", "clipping", { default: 1.0 }),
  memory("enable_xformers_memory_efficient_attention", null, "boolean", "attention", {
    also: [{ name: "attention", means: onlyWhenOn("xformers"), only: true }],
  }),
  memory("rank", "lora_rank", { default: 4, min: 1 }),
  memory("lora_r", "lora_rank", "rank", { min: 1 }),
  memory("lora_alpha", "lora_alpha", "alpha"),
  memory("use_lora", null, "boolean", "adapter", {
    also: [{ name: "adapter", means: onlyWhenOn("lora"), only: true }],
  }),
  ...["boft", "oft", "loha", "lokr", "hra"].map((kind) =>
    memory(`use_${kind}`, null, "boolean", "adapter", {
      also: [{ name: "adapter", means: onlyWhenOn(kind), only: true }],
    }),
  ),
  // peft's BOFT, by the example's own names (peft/examples/boft_dreambooth, parse_args).
  memory("boft_block_size", "adapter_block_size", "oft_block_size"),
  memory("boft_block_num", "adapter_block_count"),
  memory("boft_dropout", null, "number", "masks"),
  other("boft_bias", null, "string", "bias"),
  memory("train_text_encoder", "train_text_encoder"),
  memory("with_prior_preservation", "with_prior_preservation"),
  memory("use_ema", "use_ema", "ema"),
  memory("pretrained_vae_model_name_or_path", "autoencoder", "autoencoder"),
  memory("caption_column", "caption_column"),
  memory("pre_compute_text_embeddings", null, "boolean"),
  memory("offload", null, "boolean", "diffusers.offload"),
  memory("cache_latents", null, "boolean"),
  memory("allow_tf32", "tf32", "tf32"),
  memory("controlnet_model_name_or_path", null, "string"),
  memory("upcast_before_saving", null, "boolean"),
];
