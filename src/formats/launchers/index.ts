/** Scripts that start a framework on a config of its own: the command names the file, which holds the settings. */

import { axolotl } from "../axolotl";
import { shellViews } from "../carriers";
import { memory } from "../effects";
import { gptNeox } from "../gpt-neox";
import { litgpt } from "../lightning";
import { llamaFactory } from "../llama-factory";
import { llmFoundry } from "../llm-foundry";
import { nanotron } from "../nanotron";
import { NOT_RECOGNISED, runs } from "../recognition";
import { schemaFormat, type View } from "../schema";
import { torchtune } from "../torchtune";
import { trl } from "../trl";
import type { DocumentLink, Format } from "../types";

/** Programs that read one config, by the command that starts them. */
const LAUNCHERS: readonly (readonly [Format, RegExp])[] = [
  [axolotl, /(?:^|\s)axolotl\s{1,20}(?:train|preprocess)\s|axolotl\.cli\.train|scripts\/finetune\.py/],
  [llmFoundry, /(?:^|[\s/])composer\s.{0,300}train\.py|llmfoundry\s{1,20}train/],
  [nanotron, /(?:^|\s)(?:\S*\/)?run_train\.py(?:\s|$)/],
  [litgpt, /(?:^|[\s/])litgpt\s+(?:finetune\w*|pretrain)(?:\s|$)/],
  [gptNeox, /(?:^|\s)(?:\S*\/)?deepy\.py\s/],
];

/** The same of programs whose commands are formats of their own, for they take settings beside the config. */
const TOLD: readonly (readonly [Format, RegExp])[] = [
  [llamaFactory, /(?:^|[\s/])(?:llamafactory-cli|lmf)\s{1,20}train\s|llamafactory\.(?:cli|launcher)\b/],
  [torchtune, /(?:^|[\s/])tune\s{1,20}run\s/],
  [trl, /(?:^|[\s/])trl\s{1,20}(?:sft|dpo|grpo|kto|reward|rloo)\s/],
];

/** How a config is read that a command names: the program that the command starts decides it. */
export function configFormat(words: readonly string[]): Format | undefined {
  const command = `${words.slice(0, 30).join(" ")} `;
  return [...LAUNCHERS, ...TOLD].find(([, pattern]) => pattern.test(command))?.[0];
}

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

function launcher({ id }: Format, command: RegExp): Format {
  return schemaFormat({
    id,
    carrier: "shell",
    keys: [memory("devices", "world_size", { min: 1 })],
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

export const LAUNCHED: readonly Format[] = LAUNCHERS.map(([format, command]) => launcher(format, command));
