/** timm's train.py. Source: `train.py` of pytorch-image-models 1.0. */
import { harmless, memory, onlyWhenOn } from "../effects";
import type { KeySpec } from "../types";

export const TIMM_KEYS: readonly KeySpec[] = [
  memory("model", "model", { default: "resnet50" }),
  memory("batch_size", "micro_batch_size", "micro-batch", { default: 128, aliases: ["b"] }),
  memory("validation_batch_size", null, "integer", "eval-batch", { aliases: ["vb"] }),
  memory("img_size", "image_size", "integer", "image", { min: 1 }),
  memory("input_size", null, "any", "image"),
  memory("amp", "amp", "compute", { also: [{ name: "compute_dtype", means: { true: "fp16", false: "fp32" } }] }),
  memory("amp_dtype", "compute_dtype", "string", "compute", { means: { float16: "fp16", bfloat16: "bf16" } }),
  memory("model_dtype", "load_dtype", "load"),
  memory("grad_checkpointing", "gradient_checkpointing", "checkpointing"),
  memory("grad_accum_steps", "gradient_accumulation_steps", "accumulation", { default: 1 }),
  memory("opt", "optimizer", "optimizer", { default: "sgd" }),
  memory("clip_grad", "max_grad_norm", "clipping"),
  memory("model_ema", null, "boolean", "ema"),
  memory("channels_last", "channels_last"),
  memory("torchcompile", "torch_compile", "compile"),
  memory("num_classes", "num_labels", { min: 0 }),
  memory("no_amp", "compute_dtype", "boolean", "compute", { means: onlyWhenOn("fp32") }),
  ...harmless(
    "sched sched_on_updates warmup_lr warmup_prefix warmup_epochs decay_epochs decay_milestones cooldown_epochs " +
      "patience_epochs lr_base lr_base_size lr_base_scale lr_noise lr_noise_pct lr_noise_std opt_eps opt_betas " +
      "aa reprob remode recount resplit color_jitter crop_pct train_interpolation hflip vflip aug_repeats clip_mode " +
      "dist_bn checkpoint_hist recovery_interval tta train_split val_split class_map experiment initial_checkpoint workers",
  ),
];
