/** Ultralytics' arguments. Source: `ultralytics/cfg/default.yaml`. */
import { memory, other } from "../effects";
import type { KeySpec } from "../types";

export const ULTRALYTICS_KEYS: readonly KeySpec[] = [
  memory("model", "model", "string"),
  memory("batch", "global_batch_size", "number", { default: 16 }),
  memory("imgsz", "image_size", "any", "image", { default: 640 }),
  memory("amp", "amp", "boolean", "compute", {
    default: true,
    also: [{ name: "compute_dtype", means: { true: "fp16", false: "fp32" } }],
  }),
  memory("multi_scale", null, "any", { default: false }),
  memory("optimizer", "optimizer", "string", { default: "auto", auto: true }),
  memory("device", "device_list", "any", "devices"),
  memory("freeze", "freeze", "any", "frozen"),
  memory("nbs", null, "integer", { default: 64 }),
  memory("cache", null, "any"),
  memory("compile", "torch_compile", "any"),
  memory("rect", null, "boolean"),
  other("task", null, "string"),
  other("mode", null, "string", "ultralytics.mode"),
];
