/**
 * Every name the library takes at its first level, whether or not it touches memory: what is here is no misspelling.
 * Source: `ultralytics/cfg/default.yaml`; `python -m capture.facts.accepted_keys` writes this file.
 */
export const ACCEPTED: ReadonlySet<string> = new Set(
  (
    "agnostic_nms amp angle augment auto_augment batch bgr box cache cfg channels_last classes close_mosaic cls " +
    "cls_pw cls_remap compile conf copy_paste copy_paste_mode cos_lr cutmix data degrees deterministic device dfl " +
    "dgrad dis distill_model dlam dlog dnn dropout dynamic embed epochs erasing exist_ok fliplr flipud format " +
    "fraction freeze hsv_h hsv_s hsv_v imgsz iou kobj line_width lr0 lrf mask_ratio max_det mixup mode model momentum " +
    "mosaic multi_scale name nbs nms opset optimize optimizer overlap_mask patience perspective plots pose pretrained " +
    "profile project quantize rect resume retina_masks rle save save_conf save_crop save_frames save_json save_period " +
    "save_txt scale seed shear show show_boxes show_conf show_labels simplify single_cls source split stream_buffer " +
    "task time tracker translate val verbose vid_stride visualize warmup_bias_lr warmup_epochs warmup_momentum " +
    "weight_decay workers workspace"
  ).split(" "),
);
