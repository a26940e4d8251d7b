/** timm: `args.yaml` of a run and flags of `train.py`. */

import { dataView, shellViews } from "../carriers";
import { hasWith, NOT_RECOGNISED, passes } from "../recognition";
import { count, derived, schemaFormat, type View } from "../schema";
import type { LocatedSetting } from "../types";
import { TIMM_KEYS } from "./keys";

const MARKS = [
  "aa",
  "sched",
  "opt",
  "drop_path",
  "reprob",
  "remode",
  "color_jitter",
  "mixup",
  "cutmix",
  "smoothing",
  "warmup_lr",
  "model_ema",
  "amp",
  "weight_decay",
  "batch_size",
  "crop_pct",
  "channels_last",
  "grad_checkpointing",
];

/** Optimizers that are given `--momentum`, by the one whose states and step they have (timm/optim/_optim_factory.py). */
const WITH_MOMENTUM: ReadonlyMap<string, string> = new Map([
  ["sgd", "sgd"],
  ["nesterov", "sgd"],
  ["momentum", "sgd"],
  ["rmsprop", "rmsprop"],
]);
/** Default of `--momentum` (train.py). */
const MOMENTUM = 0.9;

/** Its loop is no trainer of transformers; its optimizers take the momentum that stands beside them. */
function derive(settings: readonly LocatedSetting[], { map }: View): readonly LocatedSetting[] {
  const model = settings.findLast(({ name }) => name === "model");
  if (model === undefined) return [];
  const own = derived(model, "own_loop", true);
  const optimizer = settings.findLast(({ name }) => name === "optimizer") ?? model;
  const named = optimizer === model ? "sgd" : String(optimizer.value).toLowerCase();
  const alike = WITH_MOMENTUM.get(named);
  if (alike === undefined) return [own];
  const said = map.entries.find(({ key }) => key === "momentum")?.value;
  const momentum = said?.kind === "scalar" && typeof said.value === "number" ? said.value : MOMENTUM;
  const passed = derived(optimizer, "optim_args", `momentum=${momentum}`);
  return alike === named ? [own, passed] : [own, derived(optimizer, "optimizer", alike), passed];
}

export const timm = schemaFormat({
  id: "timm",
  keys: TIMM_KEYS,
  derive,
  views: (document) => dataView(document, ["yaml"]),
  recognise({ map }) {
    const marks = count(map, MARKS);
    return count(map, ["model"]) > 0 && count(map, ["opt", "sched", "aa", "drop_path", "reprob"]) >= 2 && marks >= 4
      ? { confidence: 0.93, because: hasWith("model", marks, "timm") }
      : NOT_RECOGNISED;
  },
});

export const timmShell = schemaFormat({
  id: "timm",
  carrier: "shell",
  keys: TIMM_KEYS,
  derive,
  views: shellViews,
  recognise(view) {
    const marks = count(view.map, MARKS);
    const script = view.words.some((word) => /(?:^|\/)(?:distributed_train\.sh|train\.py)$/.test(word));
    return script &&
      count(view.map, ["model"]) > 0 &&
      count(view.map, ["opt", "sched", "aa", "drop_path", "reprob", "amp", "model_ema"]) >= 2 &&
      marks >= 3
      ? { confidence: 0.88, because: passes(marks, "timm") }
      : NOT_RECOGNISED;
  },
});
