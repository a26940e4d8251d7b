/** detectron2: YAML with upper-case blocks, and `train_net.py` in scripts. Recognised; its networks are not estimated. */

import { dataView, shellViews } from "../carriers";
import { has, hasKeys, NOT_RECOGNISED, runs } from "../recognition";
import { count, schemaFormat } from "../schema";
import { DETECTRON2_KEYS } from "./keys";

const BLOCKS = ["MODEL", "SOLVER", "INPUT", "DATASETS", "DATALOADER", "TEST", "OUTPUT_DIR", "VERSION"];

export const detectron2 = schemaFormat({
  id: "detectron2",
  keys: DETECTRON2_KEYS,
  views: (document) => dataView(document, ["yaml"]),
  recognise({ map }) {
    const blocks = count(map, BLOCKS);
    if (count(map, ["MODEL", "SOLVER"]) === 2) return { confidence: 0.95, because: has("MODEL", "SOLVER") };
    if (count(map, ["_BASE_"]) > 0 && blocks > 0) return { confidence: 0.95, because: has("_BASE_") };
    return blocks >= 3 || (count(map, ["_BASE_"]) > 0 && map.entries.length === 1)
      ? { confidence: 0.75, because: hasKeys(blocks, "detectron2") }
      : NOT_RECOGNISED;
  },
});

export const detectron2Shell = schemaFormat({
  id: "detectron2",
  carrier: "shell",
  keys: DETECTRON2_KEYS,
  views: shellViews,
  recognise: (view) =>
    view.words.some((word) => /train_net\.py$/.test(word)) &&
    (count(view.map, ["config_file"]) > 0 || view.words.some((word) => /^(?:SOLVER|MODEL)\./.test(word)))
      ? { confidence: 0.9, because: runs("train_net.py") }
      : NOT_RECOGNISED,
});
