/** MMEngine's Python configs (and mmcv 1.x keys). Source: MMEngine's config and runner documentation. */
import { memory } from "../effects";
import type { KeySpec } from "../types";

export const MMENGINE_KEYS: readonly KeySpec[] = [
  memory("train_dataloader", null, "any", "data"),
  memory("train_dataloader.batch_size", "micro_batch_size", "micro-batch"),
  memory("data.samples_per_gpu", "micro_batch_size", "micro-batch", {
    removedIn: "mmengine 0.1",
    replacedBy: "train_dataloader.batch_size",
  }),
  memory("model", null, "any"),
  memory("model.type", "model", "model"),
  memory("model.backbone.type", null, "string", "model"),
  memory("model.backbone.depth", null, "integer", "layers"),
  memory("model.backbone.frozen_stages", null, "integer", "frozen"),
  memory("model.backbone.with_cp", "gradient_checkpointing", "checkpointing"),
  memory("optim_wrapper", null, "any", "optimizer"),
  memory("optim_wrapper.type", "optim_wrapper", "compute", {
    also: [{ name: "compute_dtype", means: { AmpOptimWrapper: "fp16", OptimWrapper: "fp32" }, only: true }],
  }),
  memory("optim_wrapper.dtype", "compute_dtype", "string", "compute", { means: { float16: "fp16", bfloat16: "bf16" } }),
  memory("optim_wrapper.accumulative_counts", "gradient_accumulation_steps", "accumulation"),
  memory("optim_wrapper.optimizer.type", "optimizer", "optimizer"),
  memory("optim_wrapper.clip_grad.max_norm", "max_grad_norm", "clipping"),
  memory("optimizer.type", "optimizer", "optimizer"),
  memory("optimizer_config.grad_clip.max_norm", "max_grad_norm", "clipping"),
  memory("fp16", "compute_dtype", "compute"),
  memory("auto_scale_lr.base_batch_size", null, "integer"),
  memory("crop_size", "image_size", "image"),
];
