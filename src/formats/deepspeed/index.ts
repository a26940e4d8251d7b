/** DeepSpeed JSON, read as DeepSpeed reads it (HJSON; duplicate keys are an error). */

import type { LocatedNode } from "../../syntax/tree";
import { say } from "../../words/message";
import { editByTable } from "../edit";
import { fileName } from "../parse";
import { has, NOT_RECOGNISED } from "../recognition";
import { problem } from "../table";
import type { ConfigDocument, Format, FormatProblem, ReadResult } from "../types";
import { DEEPSPEED_KEYS } from "./keys";
import { deepspeedReader } from "./read";

/** With a batch size, any of these makes a DeepSpeed config. */
const COMPANIONS = [
  "fp16",
  "bf16",
  "optimizer",
  "steps_per_print",
  "zero_allow_untested_optimizer",
  "gradient_accumulation_steps",
];
const NAME = /(?:^|[_-])(?:ds|deepspeed|zero)[_-]?(?:config|[0-3])?|zero[0-3]|ds_config/i;

function keysOf(root: LocatedNode | null): Set<string> {
  return new Set(root?.kind === "map" ? root.entries.map((entry) => entry.key) : []);
}

function read(document: ConfigDocument): ReadResult {
  const { root, problems: syntax } = document.parsed;
  const problems: FormatProblem[] = syntax
    .filter((found) => found.code === "duplicate-key")
    .map((found) =>
      problem("duplicate-key", "error", found, "duplicate-key.deepspeed", {
        key: document.text.slice(found.start, found.end).replace(/^["']|["']$/g, ""),
      }),
    );
  if (root?.kind !== "map") return { settings: [], links: [], problems };
  const found = deepspeedReader(root);
  return { settings: found.settings, links: [], problems: [...problems, ...found.problems] };
}

export const deepspeed: Format = {
  id: "deepspeed",
  keys: DEEPSPEED_KEYS,
  recognise(document) {
    const keys = keysOf(document.parsed.root);
    if (document.languageId !== "json") return NOT_RECOGNISED;
    const named = NAME.test(fileName(document.uri));
    if (keys.has("zero_optimization")) return { confidence: 0.98, because: has("zero_optimization") };
    if (keys.has("train_micro_batch_size_per_gpu"))
      return { confidence: 0.97, because: has("train_micro_batch_size_per_gpu") };
    const companion = COMPANIONS.find((key) => keys.has(key));
    if (keys.has("train_batch_size") && companion !== undefined)
      return { confidence: 0.9, because: has("train_batch_size", companion) };
    const ours = ["fp16", "bf16", "optimizer", "scheduler", "steps_per_print", "gradient_clipping"].filter((key) =>
      keys.has(key),
    );
    if (named && ours.length >= 1) return { confidence: 0.7, because: say("because.named", { key: ours[0] ?? "" }) };
    if (named && document.text.includes('"zero_optimization"'))
      return { confidence: 0.5, because: say("because.named", { key: "zero_optimization" }) };
    return NOT_RECOGNISED;
  },
  read,
  edit: (document, changes) =>
    editByTable(
      document,
      DEEPSPEED_KEYS,
      read(document),
      changes,
      document.parsed.root?.kind === "map" ? { map: document.parsed.root, path: "" } : undefined,
    ),
};
