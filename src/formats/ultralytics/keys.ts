/** Ultralytics' arguments. Source: `ultralytics/cfg/default.yaml`. */
import { memory, other } from "../effects";
import type { KeySpec } from "../types";

export const ULTRALYTICS_KEYS: readonly KeySpec[] = [
  memory("model", "model", "string", "model"),
  memory("batch", "global_batch_size", "number", "batch", { default: 16 }),
  memory("imgsz", "image_size", "any", "image", { default: 640 }),
  memory("amp", "amp", "boolean", "compute", {
    default: true,
    also: [{ name: "compute_dtype", means: { true: "fp16", false: "fp32" } }],
  }),
  memory("multi_scale", null, "any", "multi_scale", { default: false }),
  memory("optimizer", "optimizer", "string", "optimizer", { default: "auto", auto: true }),
  memory("device", "device_list", "any", "devices"),
  memory("freeze", "freeze", "any", "frozen"),
  memory("nbs", null, "integer", "nbs", { default: 64 }),
  memory("cache", null, "any", "cache"),
  memory("compile", "torch_compile", "any", "compile"),
  memory("rect", null, "boolean", "rect"),
  other("task", null, "string", "task"),
  other("mode", null, "string", "ultralytics.mode"),
];
