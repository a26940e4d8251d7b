/** Ultralytics' arguments. Source: `ultralytics/cfg/default.yaml`. */
import { memory, other } from "../effects";
import type { KeySpec } from "../types";

export const ULTRALYTICS_KEYS: readonly KeySpec[] = [
  memory("model", "model"),
  memory("batch", "global_batch_size", "number", { default: 16 }),
  memory("imgsz", "image_size", "image", { default: 640 }),
  memory("amp", "amp", "compute", {
    default: true,
    also: [{ name: "compute_dtype", means: { true: "fp16", false: "fp32" } }],
  }),
  memory("multi_scale", null, "any", { default: false }),
  memory("optimizer", "optimizer", { default: "auto", auto: true }),
  memory("device", "device_list", "devices"),
  memory("freeze", "freeze", "frozen"),
  memory("nbs", null, "integer", { default: 64 }),
  memory("cache", null, "any"),
  memory("compile", "torch_compile"),
  memory("rect", null, "boolean"),
  other("task", null, "string"),
  other("mode", null, "string", "ultralytics.mode"),
];
