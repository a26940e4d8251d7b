/** Ultralytics YOLO: `args.yaml`, `cfg/*.yaml`, `yolo train …`. Recognised; its networks are not estimated. */

import { dataView, pythonView, shellViews } from "../carriers";
import type { Deriving } from "../deriving";
import { has, hasKeys, NOT_RECOGNISED, runs, trains } from "../recognition";
import { count, namesOf, schemaFormat } from "../schema";
import { problem } from "../table";
import type { FormatProblem, LocatedSetting } from "../types";
import accepted from "./accepted.json";
import { ULTRALYTICS_KEYS } from "./keys";

const ACCEPTED: ReadonlySet<string> = new Set(accepted.names);

function derive(d: Deriving): void {
  const list = d.stated.find(
    ({ name, value, node }) => name === "device_list" && (value !== null || node.kind === "list"),
  );
  const isNumber = (part: string) => /^\s*\d+\s*$/.test(part);
  const items = list?.node.kind === "list" ? list.node.items.length : undefined;
  const devices =
    items ??
    String(list?.value ?? "")
      .split(",")
      .filter(isNumber).length;
  if (devices < 1) return;
  d.make(list, "world_size", devices);
  const batch = d.find("global_batch_size");
  if (typeof batch?.value === "number" && batch.value >= devices)
    d.make(batch, "micro_batch_size", Math.floor(batch.value / devices));
}

/** `ultralytics/engine/trainer.py`: the batch is divided over the GPUs, and found by trying only on one. */
function check(settings: readonly LocatedSetting[]): readonly FormatProblem[] {
  const devices = settings.find((setting) => setting.name === "world_size")?.value;
  const batch = settings.find((setting) => setting.name === "global_batch_size");
  if (typeof devices !== "number" || devices < 2 || typeof batch?.value !== "number") return [];
  const { value } = batch;
  if (value < 1)
    return [problem("autobatch-gpus", "error", batch.valueSpan, "autobatch-gpus", { batch: value, devices })];
  const args = { total: value, each: Math.floor(value / devices), devices };
  return [problem("total-batch", "information", batch.valueSpan, "total-batch", args)];
}

const SHARED = {
  id: "ultralytics",
  keys: ULTRALYTICS_KEYS,
  unknownKeys: { parents: [""], known: ACCEPTED, stops: "Ultralytics" },
  derive,
  check,
} as const;

export const ultralytics = schemaFormat({
  ...SHARED,
  views: (document) => dataView(document, ["yaml"]),
  recognise({ map }) {
    const marks = [...namesOf(map)].filter((name) => ACCEPTED.has(name)).length;
    if (count(map, ["task", "mode", "imgsz", "batch"]) >= 3)
      return { confidence: 0.98, because: has("task", "mode", "imgsz", "batch") };
    return count(map, ["imgsz"]) > 0 && marks >= 3
      ? { confidence: 0.88, because: hasKeys(marks, "Ultralytics") }
      : NOT_RECOGNISED;
  },
});

export const ultralyticsShell = schemaFormat({
  ...SHARED,
  carrier: "shell",
  views: shellViews,
  recognise: (view) =>
    /(?:^|\/)yolo$/.test(view.words[0] ?? "") ? { confidence: 0.93, because: runs("yolo") } : NOT_RECOGNISED,
});

export const ultralyticsPython = schemaFormat({
  ...SHARED,
  carrier: "python",
  calls: [[/(?:^|\.)train$/, ""]],
  views: (document) =>
    document.parsed.python?.imports.some((name) => name.startsWith("ultralytics"))
      ? pythonView(document, [[/(?:^|\.)train$/, ""]])
      : [],
  recognise: ({ map }) =>
    count(map, ["imgsz", "epochs", "batch", "data"]) >= 1
      ? { confidence: 0.9, because: trains("Ultralytics") }
      : NOT_RECOGNISED,
});
