/** Scripts that start a framework on a config of its own: the command names the file, which holds the settings. */

import { shellViews } from "../carriers";
import { memory } from "../effects";
import { NOT_RECOGNISED, runs } from "../recognition";
import { schemaFormat, type View } from "../schema";
import type { DocumentLink, Format, SchemaId } from "../types";

const LAUNCHERS: readonly (readonly [SchemaId, RegExp])[] = [
  ["axolotl", /(?:^|\s)axolotl\s{1,20}(?:train|preprocess)\s|axolotl\.cli\.train|scripts\/finetune\.py/],
  ["llm-foundry", /(?:^|[\s/])composer\s.{0,300}train\.py|llmfoundry\s{1,20}train/],
  ["nanotron", /(?:^|\s)(?:\S*\/)?run_train\.py(?:\s|$)/],
  ["lightning", /(?:^|[\s/])litgpt\s+(?:finetune\w*|pretrain)(?:\s|$)/],
  ["gpt-neox", /(?:^|\s)(?:\S*\/)?deepy\.py\s/],
];

/** Config files among the command's arguments. */
function configs({ map, words }: View): readonly string[] {
  const flags = map.entries
    .filter((entry) => /^config(?:_file)?$/.test(entry.key))
    .flatMap((entry) =>
      entry.value.kind === "scalar"
        ? [String(entry.value.value)]
        : entry.value.kind === "unknown"
          ? [entry.value.raw]
          : [],
    );
  return [...flags, ...words.filter((word) => /\.ya?ml$/.test(word) && !word.startsWith("-"))];
}

function launcher(id: SchemaId, command: RegExp): Format {
  return schemaFormat({
    id,
    carrier: "shell",
    keys: [memory("devices", "world_size", "integer", "devices", { min: 1 })],
    views: shellViews,
    recognise: (view) =>
      command.test(view.words.slice(0, 30).join(" ")) && configs(view).length > 0
        ? { confidence: 0.9, because: runs("config") }
        : NOT_RECOGNISED,
    links: (_settings, view): readonly DocumentLink[] => {
      const span = { start: view.map.start, end: view.map.end };
      return [...new Set(configs(view))]
        .filter((target) => !target.includes("$"))
        .map((target) => ({ kind: "trainer", target, span }));
    },
  });
}

export const LAUNCHED: readonly Format[] = LAUNCHERS.map(([id, command]) => launcher(id, command));
