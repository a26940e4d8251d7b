/**
 * Keys of a process of ai-toolkit's jobs. Source: ostris/ai-toolkit, `toolkit/config_modules.py` (NetworkConfig, TrainConfig,
 * ModelConfig, DatasetConfig).
 */
import { memory, onlyWhenOn, other, PRECISION, touching } from "../effects";
import type { KeySpec } from "../types";

export const AI_TOOLKIT_KEYS: readonly KeySpec[] = [
  memory("model.name_or_path", "model", "model"),
  ...(
    [
      ["model.is_flux", "flux"],
      ["model.is_xl", "sdxl"],
      ["model.is_v2", "sd21"],
    ] as const
  ).map(([key, line]) =>
    other(key, null, "boolean", "model", { also: [{ name: "model_type", means: onlyWhenOn(line), only: true }] }),
  ),
  other("model.arch", "model_type", "model", { means: { sd1: "sd15", sd2: "sd21" } }),
  memory("model.quantize", null, "boolean", "quantization", {
    also: [{ name: "load_dtype", means: onlyWhenOn("float8"), only: true }],
  }),
  memory("model.quantize_te", "texts_quantized", "quantization"),
  memory("train.batch_size", "micro_batch_size", "micro-batch", { default: 1 }),
  memory("train.gradient_accumulation_steps", "gradient_accumulation_steps", "accumulation", {
    aliases: ["train.gradient_accumulation"],
    default: 1,
  }),
  memory("train.gradient_checkpointing", "gradient_checkpointing", "checkpointing", { default: true }),
  memory("train.dtype", "compute_dtype", "string", "mixed_precision", { default: "fp32", means: PRECISION }),
  memory("train.optimizer", "optimizer", {
    default: "adamw",
    means: { adamw8bit: "adamw_8bit", adam8bit: "adamw_8bit", lion8bit: "lion_8bit" },
  }),
  memory("train.max_grad_norm", "max_grad_norm", "clipping", { default: 1.0 }),
  memory("train.train_text_encoder", "train_text_encoder"),
  memory("train.ema_config.use_ema", "use_ema", "ema"),
  memory("network.linear", "lora_rank", "rank", { aliases: ["network.rank"], default: 4, min: 1 }),
  memory("network.linear_alpha", "lora_alpha", "alpha"),
  memory("network.type", "network_module", "adapter"),
  memory("datasets.resolution", "image_size", "image", { default: 512, unwritten: true }),
  memory("datasets.cache_latents", "cached_latents", "cache_latents", {
    aliases: ["datasets.cache_latents_to_disk"],
    unwritten: true,
  }),
  memory("datasets.cache_text_embeddings", "cached_texts", "pre_compute_text_embeddings", {
    aliases: ["train.cache_text_embeddings"],
    unwritten: true,
  }),
  ...touching("diffusers.offload", "model.layer_offloading model.auto_memory train.unload_text_encoder"),
  ...touching("adapter", "network.conv network.network_kwargs.only_if_contains adapter.type"),
];

/** Blocks and keys of which nothing is on the GPU in a step. */
export const COSTLESS =
  /^(?:save|sample|logging|type$|name$|trigger_word$|device$|training_folder$|performance_log_every$|sqlite)|^train\.(?:steps|lr|noise|linear_timesteps|timestep|train_unet|skip_first|disable_sampling|content|bypass|loss|ema_config|cfg|do_|force|switch|diff|optimizer_params|weight|min_|max_(?!grad)|unet_lr|snr|lr_scheduler)|^datasets\.(?!resolution|cache)|^model\.(?:low_vram|assistant|name|extras|use_flux|arch|is_)/;
