/**
 * Flags of the training scripts of diffusers (and kohya's), which share their names.
 * Source: `examples/*\/train_*.py` of diffusers 0.35.
 */
import { EFFECT, memory, onlyWhenOn, PRECISION } from "../effects";
import type { KeySpec } from "../types";

export const DIFFUSERS_KEYS: readonly KeySpec[] = [
  memory("pretrained_model_name_or_path", "model", "string", EFFECT.model, { link: "model" }),
  memory("train_batch_size", "micro_batch_size", "integer", EFFECT.microBatch, { default: 4, min: 1 }),
  memory("gradient_accumulation_steps", "gradient_accumulation_steps", "integer", EFFECT.accumulation, {
    default: 1,
    min: 1,
  }),
  memory("gradient_checkpointing", "gradient_checkpointing", "boolean", EFFECT.checkpointing, { default: false }),
  memory(
    "mixed_precision",
    "compute_dtype",
    "string",
    "Dtype of the forward pass and of the frozen parts; trained weights stay float32.",
    { nullable: true, writes: { fp32: "no" }, means: PRECISION },
  ),
  memory("resolution", "image_size", "any", EFFECT.image, { default: 512 }),
  memory("height", null, "integer", EFFECT.image, { min: 1 }),
  memory("width", null, "integer", EFFECT.image, { min: 1 }),
  memory("max_num_frames", "frames", "integer", "Frames per clip: activations grow in proportion.", { min: 1 }),
  memory("max_sequence_length", "sequence_length", "integer", EFFECT.sequence, { min: 1 }),
  memory("use_8bit_adam", "use_8bit_adam", "boolean", "Adam with 8-bit states.", {
    also: [{ name: "optimizer", means: onlyWhenOn("adamw_8bit"), only: true }],
  }),
  memory("optimizer", "optimizer", "string", EFFECT.optimizer, { aliases: ["optimizer_type"] }),
  memory("max_grad_norm", "max_grad_norm", "number", EFFECT.clipping, { default: 1.0, min: 0 }),
  memory("enable_xformers_memory_efficient_attention", null, "boolean", EFFECT.attention, {
    also: [{ name: "attention", means: onlyWhenOn("xformers"), only: true }],
  }),
  memory("rank", "lora_rank", "integer", EFFECT.rank, { default: 4, min: 1 }),
  memory("lora_r", "lora_rank", "integer", EFFECT.rank, { min: 1 }),
  memory("lora_alpha", "lora_alpha", "number", EFFECT.alpha),
  memory("use_lora", null, "boolean", EFFECT.adapter, {
    also: [{ name: "adapter", means: onlyWhenOn("lora"), only: true }],
  }),
  ...["boft", "oft", "loha", "lokr", "hra"].map((kind) =>
    memory(`use_${kind}`, null, "boolean", EFFECT.adapter, {
      also: [{ name: "adapter", means: onlyWhenOn(kind), only: true }],
    }),
  ),
  memory(
    "train_text_encoder",
    "train_text_encoder",
    "boolean",
    "Trains the text encoder too: its gradients and states are added.",
  ),
  memory("with_prior_preservation", null, "boolean", "Adds class images to every batch: twice the rows per forward."),
  memory("use_ema", null, "boolean", EFFECT.ema),
  memory("offload", null, "boolean", "Moves the frozen parts to the host between their forwards."),
  memory("cache_latents", null, "boolean", "Encodes the images once: the autoencoder is not kept."),
  memory("allow_tf32", "tf32", "boolean", "TensorFloat-32 matrix products: faster, no memory."),
  memory("controlnet_model_name_or_path", null, "string", "ControlNet: a second trained network."),
  memory("upcast_before_saving", null, "boolean", "Casts the weights to float32 when saving."),
];
