/**
 * litgpt's commands: `litgpt finetune_lora meta-llama/Llama-3.2-3B --train.micro_batch_size 4`. The model is the first word behind the
 * program, and what no option says has the program's standard, as `fields.json` has it of `setup` of litgpt/finetune/lora.py, full.py and pretrain.py.
 */
import type { Entry, ScalarNode } from "../../syntax/tree";
import { table } from "../../terms/table";
import { shellViews } from "../carriers";
import type { Field } from "../fields";
import type { View } from "../schema";
import type { ConfigDocument } from "../types";
import captured from "./fields.json";
import { LITGPT_KEYS } from "./keys";

/** The commands that are followed, by what `fields.json` calls them; `finetune` is `finetune_lora`. */
const PROGRAMS: Readonly<Record<string, keyof typeof captured.trainers>> = table({
  finetune: "lora",
  finetune_lora: "lora",
  finetune_full: "full",
  pretrain: "pretrain",
});

/** What a command does unless it is told otherwise: its parameters' defaults, those that all commands share among them. */
function standardsOf(program: string): readonly (readonly [string, ScalarNode["value"]])[] {
  const command = PROGRAMS[program];
  if (command === undefined) return [];
  const own: Readonly<Record<string, Field>> = captured.trainers[command];
  return LITGPT_KEYS.flatMap(({ key, default: shared }) => {
    const value = own[key]?.default ?? (key.startsWith("lora_") && command !== "lora" ? undefined : shared);
    return typeof value === "object" || value === undefined ? [] : [[key, value] as const];
  });
}

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
    if (found === undefined || program === undefined) return view;
    const { start, end } = program;
    const entries = standardsOf(found.program).map(([key, value]): Entry => {
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
