/**
 * litgpt's commands: `litgpt finetune_lora meta-llama/Llama-3.2-3B --train.micro_batch_size 4`. The model is the first word behind the
 * program, and what no option says has the program's standard (litgpt/finetune/lora.py, full.py and litgpt/pretrain.py, `setup`).
 */
import type { Entry, ScalarNode } from "../../syntax/tree";
import { table } from "../../terms/table";
import { shellViews } from "../carriers";
import type { View } from "../schema";
import type { ConfigDocument } from "../types";

type Standards = Readonly<Record<string, string | number | boolean>>;

const TUNES: Standards = {
  precision: "bf16-true",
  devices: 1,
  "train.micro_batch_size": 1,
  "train.global_batch_size": 16,
  "optimizer.class_path": "AdamW",
};
const LORA: Standards = {
  ...TUNES,
  lora_r: 8,
  lora_alpha: 16,
  lora_dropout: 0.05,
  lora_query: true,
  lora_key: false,
  lora_value: true,
  lora_projection: false,
  lora_mlp: false,
  lora_head: false,
};

const PROGRAMS: Readonly<Record<string, Standards>> = table({
  finetune: LORA,
  finetune_lora: LORA,
  finetune_full: TUNES,
  pretrain: {
    ...TUNES,
    devices: "auto",
    "train.micro_batch_size": 4,
    "train.global_batch_size": 512,
    "train.max_norm": 1,
  },
});

/** The program of a command, and the words behind it. */
function programOf(
  words: readonly string[],
): { readonly program: string; readonly model: string | undefined } | undefined {
  const at = words.findIndex((word) => /(?:^|\/)litgpt$/.test(word));
  const program = at < 0 ? undefined : words[at + 1];
  if (program === undefined || !Object.hasOwn(PROGRAMS, program)) return undefined;
  const next = words[at + 2];
  return { program, model: next === undefined || next.startsWith("-") ? undefined : next };
}

/** Whether a command starts one of its programs without a config. */
export function startsLitgpt({ map, words }: View): boolean {
  return programOf(words) !== undefined && !map.entries.some(({ key }) => key === "config");
}

/** Commands with their model and what they leave open, before what they say. */
export function litgptCommands(document: ConfigDocument): readonly View[] {
  const commands = document.parsed.shell?.commands ?? [];
  return shellViews(document).map((view) => {
    const found = startsLitgpt(view) ? programOf(view.words) : undefined;
    const command = commands.find(({ start, end }) => start === view.map.start && end === view.map.end);
    const named = (text: string | undefined) => command?.words.find((word) => word.text === text)?.node;
    const program = named(found?.program);
    const standards = found === undefined ? undefined : PROGRAMS[found.program];
    if (found === undefined || program === undefined || standards === undefined) return view;
    const { start, end } = program;
    const entries = Object.entries(standards).map(([key, value]): Entry => {
      const node: ScalarNode = { kind: "scalar", value, raw: String(value), start, end };
      return { key, keySpan: { start, end }, value: node };
    });
    const model = named(found.model);
    const key = found.program === "pretrain" ? "model_name" : "checkpoint_dir";
    const own: readonly Entry[] =
      model === undefined ? [] : [{ key, keySpan: { start: model.start, end: model.end }, value: model }];
    return { ...view, map: { ...view.map, entries: [...entries, ...own, ...view.map.entries] } };
  });
}
