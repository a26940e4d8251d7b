/** detectron2's YAML. Source: `detectron2/config/defaults.py`. */
import { memory } from "../effects";
import type { KeySpec } from "../types";

export const DETECTRON2_KEYS: readonly KeySpec[] = [
  memory("_BASE_", null, "string", { link: "include" }),
  memory("MODEL", null, "map", "model"),
  memory("MODEL.META_ARCHITECTURE", "model", "model"),
  memory("MODEL.BACKBONE.NAME", null, "string", "model"),
  memory("MODEL.BACKBONE.FREEZE_AT", null, "integer", "frozen", { default: 2 }),
  memory("MODEL.RESNETS.DEPTH", null, "integer", "layers", { default: 50 }),
  memory("MODEL.MASK_ON", null, "boolean"),
  memory("MODEL.ROI_HEADS.BATCH_SIZE_PER_IMAGE", null, "integer", { default: 512, min: 1 }),
  memory("MODEL.RESNETS.WIDTH_PER_GROUP", null, "integer", "width"),
  memory("MODEL.RESNETS.NUM_GROUPS", null, "integer", "width"),
  memory("MODEL.RPN.PRE_NMS_TOPK_TRAIN", null, "integer", "proposals"),
  memory("MODEL.RPN.POST_NMS_TOPK_TRAIN", null, "integer", "proposals"),
  memory("MODEL.ROI_HEADS.NUM_CLASSES", null, "integer", "vocabulary"),
  memory("MODEL.RPN.BATCH_SIZE_PER_IMAGE", null, "integer", "proposals"),
  memory("MODEL.KEYPOINT_ON", null, "boolean", "layers"),
  memory("MODEL.FPN.OUT_CHANNELS", null, "integer", "width"),
  memory("INPUT.CROP.ENABLED", null, "boolean", "image"),
  memory("INPUT.CROP.SIZE", null, "any", "image"),
  memory("SOLVER", null, "map"),
  memory("SOLVER.IMS_PER_BATCH", "global_batch_size", { default: 16 }),
  memory("SOLVER.AMP.ENABLED", "amp", "compute", {
    default: false,
    also: [{ name: "compute_dtype", means: { true: "fp16", false: "fp32" } }],
  }),
  memory("SOLVER.OPTIMIZER", "optimizer", "optimizer"),
  memory("SOLVER.CLIP_GRADIENTS.CLIP_VALUE", "max_grad_norm", "clipping"),
  memory("SOLVER.REFERENCE_WORLD_SIZE", null, "integer"),
  memory("INPUT.MIN_SIZE_TRAIN", "image_size", "image"),
  memory("INPUT.MAX_SIZE_TRAIN", null, "integer", "image", { default: 1333 }),
];
