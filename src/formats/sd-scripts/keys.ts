/**
 * Options of sd-scripts, which its commands and its TOML have, and those of the kohya_ss front end, whose presets say the same in other
 * words. Sources: kohya-ss/sd-scripts, `library/train_util.py` (add_*_arguments), `train_network.py`, `flux_train_network.py`
 * (setup_parser); bmaltais/kohya_ss, `kohya_gui/lora_gui.py` (train_model).
 */
import { memory, onlyWhenOn, other, PRECISION, touching } from "../effects";
import type { KeySpec } from "../types";

/** Names of bitsandbytes' forms (`library/train_util.py`, get_optimizer). */
const OPTIMIZERS = Object.fromEntries(
  (
    [
      ["AdamW", "adamw_torch"],
      ["AdamW8bit", "adamw_8bit"],
      ["PagedAdamW8bit", "paged_adamw_8bit"],
      ["PagedAdamW", "paged_adamw_32bit"],
      ["PagedAdamW32bit", "paged_adamw_32bit"],
      ["Lion8bit", "lion_8bit"],
      ["PagedLion8bit", "paged_lion_8bit"],
      ["AdamWScheduleFree", "schedule_free_adamw"],
    ] as const
  ).flatMap(([written, name]) => [
    [written, name],
    [written.toLowerCase(), name],
  ]),
);

const OFF_WHEN_ON = { true: false, false: true };

export const SD_SCRIPTS_KEYS: readonly KeySpec[] = [
  memory("pretrained_model_name_or_path", "model", "model"),
  memory("train_batch_size", "micro_batch_size", "micro-batch", { aliases: ["batch_size"], default: 1 }),
  memory("gradient_accumulation_steps", "gradient_accumulation_steps", "accumulation", { default: 1 }),
  memory("gradient_checkpointing", "gradient_checkpointing", "checkpointing", { default: false }),
  memory("mixed_precision", "compute_dtype", "string", { default: "no", writes: { fp32: "no" }, means: PRECISION }),
  memory("full_bf16", null, "boolean", "full_half", {
    also: [{ name: "trained_dtype", means: onlyWhenOn("bfloat16"), only: true }],
  }),
  memory("full_fp16", null, "boolean", "full_half", {
    also: [{ name: "trained_dtype", means: onlyWhenOn("float16"), only: true }],
  }),
  memory("fp8_base", null, "boolean", "quantization", {
    also: [{ name: "load_dtype", means: onlyWhenOn("float8"), only: true }],
  }),
  memory("fp8_base_unet", null, "boolean", "quantization", {
    also: [{ name: "load_dtype", means: onlyWhenOn("float8"), only: true }],
  }),
  memory("resolution", "image_size", "image", { aliases: ["max_resolution"] }),
  memory("optimizer_type", "optimizer", "optimizer", { aliases: ["optimizer"], means: OPTIMIZERS }),
  memory("use_8bit_adam", null, "boolean", {
    also: [{ name: "optimizer", means: onlyWhenOn("adamw_8bit"), only: true }],
  }),
  memory("max_grad_norm", "max_grad_norm", "clipping", { default: 1.0 }),
  // The front end names the kernel, the program has a switch for each.
  memory("xformers", null, "any", "attention", {
    also: [
      { name: "attention", means: { true: "xformers", xformers: "xformers", sdpa: "sdpa", none: "eager" }, only: true },
    ],
  }),
  memory("sdpa", null, "boolean", "attention", {
    also: [{ name: "attention", means: onlyWhenOn("sdpa"), only: true }],
  }),
  memory("network_dim", "lora_rank", "rank", { min: 1 }),
  memory("network_alpha", "lora_alpha", "alpha"),
  memory("network_module", "network_module", "adapter", { aliases: ["LoRA_type"] }),
  memory("network_train_unet_only", "train_text_encoder", "train_text_encoder", { means: OFF_WHEN_ON }),
  memory("train_text_encoder", "train_text_encoder"),
  memory("cache_latents", "cached_latents", "cache_latents"),
  memory("cache_text_encoder_outputs", "cached_texts", "pre_compute_text_embeddings", {
    aliases: ["sdxl_cache_text_encoder_outputs", "flux1_cache_text_encoder_outputs"],
  }),
  memory("no_half_vae", "whole_autoencoder", "autoencoder", { aliases: ["sdxl_no_half_vae"] }),
  memory("t5xxl_max_token_length", "sequence_length", "sequence", { aliases: ["flux1_t5xxl_max_token_length"] }),
  ...(
    [
      ["sdxl", "sdxl"],
      ["flux1_checkbox", "flux"],
      ["v2", "sd21"],
    ] as const
  ).map(([key, line]) =>
    other(key, null, "boolean", "model", {
      aliases: key === "sdxl" ? ["sdxl_checkbox"] : [],
      also: [{ name: "model_type", means: onlyWhenOn(line), only: true }],
    }),
  ),
  ...touching(
    "diffusers.offload",
    "blocks_to_swap cpu_offload_checkpointing fused_backward_pass blockwise_fused_optimizers flux1_blocks_to_swap mem_eff_attn",
  ),
  ...touching("masks", "network_args conv_dim"),
  ...touching("sequence", "max_token_length"),
  ...touching("deepspeed", "deepspeed"),
];

/** Options that say which pictures there are and what is done to them, how noise and losses are weighed, and what is written down. */
export const COSTLESS =
  /caption|bucket|noise|timestep|huber|huggingface|token(?!_length)|_dropout|_aug|crop|metadata|repeats|resume|weighting|_shift|guidance|^(?:sample|save|validat|log|wandb|ddp|lr|v_|max_train|max_validation|generate|create|caption|train_(?:dir|data)|(?:up|down|mid)_lr|block_lr|num_(?:cpu|machines)|use_(?:wandb|latent|safetensors)|template|unet_lr|text_encoder_lr|prior|min_snr)|^(?:lowram|highvram|lowvram|clip_\w|t5xxl|ae|vae|seed|epoch|unit|factor|additional_parameters|output_\w+|in_json|dataset_\w+|reg_data_dir|cache_info|\w+_to_disk|skip_cache_check|persistent_data_loader_workers|optimizer_args|scale_\w+|debiased_estimation_loss|zero_terminal_snr|async_upload|apply_\w+|network_weights|lora_network_weights|dim_from_weights|no_metadata|logit_\w+|mode_scale|loss_type|model_type|model_list|weighted_captions|t5xxl_\w+|flux1_(?:clip_l|t5xxl)|vae_batch_size|text_encoder_batch_size|learning_rate\w*|training_comment|training_shift|gpu_ids|extra_accelerate_launch_args|full_path|image_folder|constrain|rescaled|num_vectors_per_token|init_word|weights|initial_\w+|disable_mmap_load_safetensors|alpha_mask|config_file|dynamo_\w+|multi_gpu|stop_text_encoder_training\w*|color_aug|stop_\w+)$/;
