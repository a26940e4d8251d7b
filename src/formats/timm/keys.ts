/** timm's train.py. Source: `train.py` of pytorch-image-models 1.0. */
import { EFFECT, memory, onlyWhenOn } from "../effects";
import type { KeySpec } from "../types";

export const TIMM_KEYS: readonly KeySpec[] = [
  memory("model", "model", "string", EFFECT.model, { default: "resnet50" }),
  memory("batch_size", "micro_batch_size", "integer", EFFECT.microBatch, { default: 128, min: 1, aliases: ["b"] }),
  memory("validation_batch_size", "eval_batch_size", "integer", EFFECT.evalBatch, { nullable: true, aliases: ["vb"] }),
  memory("img_size", "image_size", "integer", EFFECT.image, { nullable: true, min: 1 }),
  memory("input_size", null, "any", EFFECT.image, { nullable: true }),
  memory("amp", "amp", "boolean", EFFECT.compute, {
    also: [{ name: "compute_dtype", means: { true: "fp16", false: "fp32" } }],
  }),
  memory("amp_dtype", "compute_dtype", "string", EFFECT.compute, { means: { float16: "fp16", bfloat16: "bf16" } }),
  memory("model_dtype", "load_dtype", "string", EFFECT.load, { nullable: true }),
  memory("grad_checkpointing", "gradient_checkpointing", "boolean", EFFECT.checkpointing),
  memory("grad_accum_steps", "gradient_accumulation_steps", "integer", EFFECT.accumulation, { default: 1, min: 1 }),
  memory("opt", "optimizer", "string", EFFECT.optimizer, { default: "sgd" }),
  memory("clip_grad", "max_grad_norm", "number", EFFECT.clipping, { nullable: true, min: 0 }),
  memory("model_ema", null, "boolean", EFFECT.ema),
  memory("channels_last", "channels_last", "boolean", "Memory format of images: other kernels and workspaces."),
  memory("torchcompile", "torch_compile", "any", EFFECT.compile, { nullable: true }),
  memory("num_classes", null, "integer", "Size of the classifier.", { nullable: true }),
  memory("no_amp", "compute_dtype", "boolean", EFFECT.compute, { means: onlyWhenOn("fp32") }),
];
