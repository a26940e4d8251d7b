/** OpenMMLab configs: Python. Recognised; their networks are not estimated. `_base_` files are links. */

import { assignmentView } from "../carriers";
import { has, hasKeys, NOT_RECOGNISED } from "../recognition";
import { count, schemaFormat } from "../schema";
import { MMENGINE_KEYS } from "./keys";

const MARKS = [
  "train_dataloader",
  "val_dataloader",
  "optim_wrapper",
  "train_cfg",
  "test_cfg",
  "val_cfg",
  "param_scheduler",
  "default_hooks",
  "train_pipeline",
  "test_pipeline",
  "auto_scale_lr",
  "model",
  "env_cfg",
  "default_scope",
  "data_preprocessor",
  "lr_config",
  "optimizer_config",
  "checkpoint_config",
  "log_config",
  "dataset_type",
  "data_root",
  "runner",
  "custom_hooks",
  "visualizer",
  "load_from",
];

export const mmengine = schemaFormat({
  id: "mmengine",
  carrier: "python",
  keys: MMENGINE_KEYS,
  views: assignmentView,
  recognise({ map, words }) {
    const marks = count(map, MARKS);
    const base = count(map, ["_base_"]) > 0;
    const lazy = words.some((word) => /(?:^|\.)read_base$/.test(word));
    if ((base || lazy) && marks >= 1) return { confidence: 0.95, because: base ? has("_base_") : has("read_base()") };
    if (base && map.entries.length <= 3) return { confidence: 0.8, because: has("_base_") };
    return marks >= 3 &&
      count(map, [
        "train_dataloader",
        "optim_wrapper",
        "default_hooks",
        "train_pipeline",
        "lr_config",
        "optimizer_config",
        "checkpoint_config",
      ]) >= 1
      ? { confidence: 0.9, because: hasKeys(marks, "OpenMMLab") }
      : NOT_RECOGNISED;
  },
  links(_settings, { map }) {
    const base = map.entries.findLast((entry) => entry.key === "_base_")?.value;
    const items = base?.kind === "list" ? base.items : base === undefined ? [] : [base];
    return items.flatMap((item) =>
      item.kind === "scalar" && typeof item.value === "string"
        ? [{ kind: "include" as const, target: item.value, span: { start: item.start, end: item.end } }]
        : [],
    );
  },
});
