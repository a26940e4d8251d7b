/** MMEngine's Python configs (and mmcv 1.x keys). Source: MMEngine's config and runner documentation. */
import { EFFECT, memory } from "../effects";
import type { KeySpec } from "../types";

export const MMENGINE_KEYS: readonly KeySpec[] = [
  memory("train_dataloader", null, "any", EFFECT.data),
  memory("train_dataloader.batch_size", "micro_batch_size", "integer", EFFECT.microBatch, { min: 1 }),
  memory("data.samples_per_gpu", "micro_batch_size", "integer", EFFECT.microBatch, {
    min: 1,
    removedIn: "mmengine 0.1",
    replacedBy: "train_dataloader.batch_size",
  }),
  memory("model", null, "any", EFFECT.model),
  memory("model.type", "model", "string", EFFECT.model),
  memory("model.backbone.type", null, "string", EFFECT.model),
  memory("model.backbone.depth", null, "integer", EFFECT.layers),
  memory("model.backbone.frozen_stages", null, "integer", EFFECT.frozen),
  memory("model.backbone.with_cp", "gradient_checkpointing", "boolean", EFFECT.checkpointing),
  memory("optim_wrapper", null, "any", EFFECT.optimizer),
  memory("optim_wrapper.type", "optim_wrapper", "string", EFFECT.compute, {
    also: [{ name: "compute_dtype", means: { AmpOptimWrapper: "fp16", OptimWrapper: "fp32" }, only: true }],
  }),
  memory("optim_wrapper.dtype", "compute_dtype", "string", EFFECT.compute, {
    means: { float16: "fp16", bfloat16: "bf16" },
  }),
  memory("optim_wrapper.accumulative_counts", "gradient_accumulation_steps", "integer", EFFECT.accumulation, {
    min: 1,
  }),
  memory("optim_wrapper.optimizer.type", "optimizer", "string", EFFECT.optimizer),
  memory("optim_wrapper.clip_grad.max_norm", "max_grad_norm", "number", EFFECT.clipping, { min: 0 }),
  memory("optimizer.type", "optimizer", "string", EFFECT.optimizer),
  memory("optimizer_config.grad_clip.max_norm", "max_grad_norm", "number", EFFECT.clipping, { min: 0 }),
  memory("fp16", "compute_dtype", "any", EFFECT.compute),
  memory("auto_scale_lr.base_batch_size", null, "integer", "Batch the learning rate was set for: no memory."),
  memory("crop_size", "image_size", "any", EFFECT.image),
];
