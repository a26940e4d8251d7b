/** detectron2's YAML. Source: `detectron2/config/defaults.py`. */
import { EFFECT, memory } from "../effects";
import type { KeySpec } from "../types";

export const DETECTRON2_KEYS: readonly KeySpec[] = [
  memory("_BASE_", null, "string", "Config this one extends.", { link: "include" }),
  memory("MODEL", null, "map", EFFECT.model),
  memory("MODEL.META_ARCHITECTURE", "model", "string", EFFECT.model),
  memory("MODEL.BACKBONE.NAME", null, "string", EFFECT.model),
  memory("MODEL.BACKBONE.FREEZE_AT", null, "integer", EFFECT.frozen, { default: 2 }),
  memory("MODEL.RESNETS.DEPTH", null, "integer", EFFECT.layers, { default: 50 }),
  memory("MODEL.MASK_ON", null, "boolean", "A mask head: more activations per proposal."),
  memory("MODEL.ROI_HEADS.BATCH_SIZE_PER_IMAGE", null, "integer", "Proposals per image in the heads.", {
    default: 512,
    min: 1,
  }),
  memory("MODEL.RESNETS.WIDTH_PER_GROUP", null, "integer", EFFECT.width, { nullable: true }),
  memory("MODEL.RESNETS.NUM_GROUPS", null, "integer", EFFECT.width, { nullable: true }),
  memory("MODEL.RPN.PRE_NMS_TOPK_TRAIN", null, "integer", EFFECT.proposals, { nullable: true }),
  memory("MODEL.RPN.POST_NMS_TOPK_TRAIN", null, "integer", EFFECT.proposals, { nullable: true }),
  memory("MODEL.ROI_HEADS.NUM_CLASSES", null, "integer", EFFECT.vocabulary, { nullable: true }),
  memory("MODEL.RPN.BATCH_SIZE_PER_IMAGE", null, "integer", EFFECT.proposals, { nullable: true }),
  memory("MODEL.KEYPOINT_ON", null, "boolean", EFFECT.layers, { nullable: true }),
  memory("MODEL.FPN.OUT_CHANNELS", null, "integer", EFFECT.width, { nullable: true }),
  memory("INPUT.CROP.ENABLED", null, "boolean", EFFECT.image, { nullable: true }),
  memory("INPUT.CROP.SIZE", null, "any", EFFECT.image, { nullable: true }),
  memory("SOLVER", null, "map", "Training."),
  memory("SOLVER.IMS_PER_BATCH", "global_batch_size", "integer", "Images per step over all GPUs.", {
    default: 16,
    min: 1,
  }),
  memory("SOLVER.AMP.ENABLED", "amp", "boolean", EFFECT.compute, {
    default: false,
    also: [{ name: "compute_dtype", means: { true: "fp16", false: "fp32" } }],
  }),
  memory("SOLVER.OPTIMIZER", "optimizer", "string", EFFECT.optimizer),
  memory("SOLVER.CLIP_GRADIENTS.CLIP_VALUE", "max_grad_norm", "number", EFFECT.clipping),
  memory(
    "SOLVER.REFERENCE_WORLD_SIZE",
    null,
    "integer",
    "GPUs the schedule was written for; batch and rate scale from it.",
  ),
  memory("INPUT.MIN_SIZE_TRAIN", "image_size", "any", EFFECT.image),
  memory("INPUT.MAX_SIZE_TRAIN", null, "integer", EFFECT.image, { default: 1333 }),
];
