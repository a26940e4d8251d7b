/** Ultralytics' arguments. Source: `ultralytics/cfg/default.yaml`. */
import { EFFECT, memory, other } from "../effects";
import type { KeySpec } from "../types";

export const ULTRALYTICS_KEYS: readonly KeySpec[] = [
  memory("model", "model", "string", EFFECT.model, { nullable: true }),
  memory("batch", "global_batch_size", "number", "Images per step over all GPUs; -1 takes 60 % of the free memory.", {
    default: 16,
  }),
  memory("imgsz", "image_size", "any", EFFECT.image, { default: 640 }),
  memory("amp", "amp", "boolean", EFFECT.compute, {
    default: true,
    also: [{ name: "compute_dtype", means: { true: "fp16", false: "fp32" } }],
  }),
  memory("multi_scale", null, "any", "Image sizes up to 1.5 times imgsz: the largest sets the peak.", {
    default: false,
  }),
  memory("optimizer", "optimizer", "string", EFFECT.optimizer, { default: "auto", auto: true }),
  memory("device", "device_list", "any", EFFECT.devices, { nullable: true }),
  memory("freeze", "freeze", "any", EFFECT.frozen, { nullable: true }),
  memory("nbs", null, "integer", "Batch the step is scaled to: accumulates up to it.", { default: 64 }),
  memory("cache", null, "any", "Keeps the images in host memory.", { nullable: true }),
  memory("compile", "torch_compile", "any", EFFECT.compile, { nullable: true }),
  memory("rect", null, "boolean", "Rectangular batches."),
  other("task", null, "string", "What is trained: detection, segmentation and others."),
  other("mode", null, "string", "What is run: training, validation and others."),
];
