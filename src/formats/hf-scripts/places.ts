/** Where a setting that is not there yet is written: into the call, or the command, that takes it. */
import type { PythonCall } from "../../syntax/tree";
import type { Target } from "../edit";
import type { View } from "../schema";
import type { ConfigDocument, EditContext, EditResult, KeySpec } from "../types";
import { classesByCommand, takes, takesHere } from "./accepted";
import { lastName } from "./called";
import { ACCELERATOR } from "./training";

const named = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** What calls that are no class of the tables take (transformers/modeling_utils.py, accelerate/accelerator.py, unsloth). */
const OTHERS: readonly (readonly [RegExp, ReadonlySet<string>])[] = [
  [
    /(?:^|\.)Fast(?:Language|Vision|Text|Diffusion)?Model\.from_pretrained$/,
    named("max_seq_length dtype load_in_4bit load_in_8bit"),
  ],
  [
    /(?:^|\.)Fast(?:Language|Vision|Text|Diffusion)?Model\.get_peft_model$/,
    named("r target_modules lora_alpha lora_dropout bias use_gradient_checkpointing use_rslora modules_to_save"),
  ],
  [/from_pretrained$/, named("torch_dtype attn_implementation use_cache")],
  [ACCELERATOR, named("gradient_accumulation_steps mixed_precision")],
  [/DataLoader$/, named("batch_size")],
];

function accepts(call: PythonCall, argument: string, document: ConfigDocument, { libraries }: EditContext): boolean {
  const other = OTHERS.find(([pattern]) => pattern.test(call.callee));
  if (other !== undefined) return other[1].has(argument);
  const { python } = document.parsed;
  return python !== undefined && takesHere(lastName(call.callee), argument, python, libraries) === true;
}

/**
 * The call of a module that takes a key.
 * @param prefixes those of calls, without the empty one
 */
export function callPlace(
  key: KeySpec,
  view: View,
  document: ConfigDocument,
  context: EditContext,
  prefixes: readonly string[],
): Target | undefined {
  const strip = prefixes.find((prefix) => key.key.startsWith(prefix)) ?? "";
  const [argument = ""] = key.key.slice(strip.length).split(".");
  const calls = (view.calls ?? []).filter(
    ({ prefix, call }) => prefix === strip && (strip !== "" || call.keywords === view.target),
  );
  const found = calls.findLast(({ call }) => accepts(call, argument, document, context))?.call;
  return found === undefined ? undefined : { map: found.keywords, path: "", strip };
}

/** Options that stand without a value lose the one that was written. */
export function bareSwitches(result: EditResult, { program }: EditContext): EditResult {
  if ("refused" in result || program === undefined || program.switches.size === 0) return result;
  const edits = result.edits.map((edit) => ({
    ...edit,
    newText: edit.newText.replace(
      /(^|\s)--([a-z][a-z0-9_-]{0,60})[= ](?:True|true)\b/g,
      (all, before: string, option: string) =>
        program.switches.has(option.replaceAll("-", "_")) ? `${before}--${option}` : all,
    ),
  }));
  return { edits };
}

/** The command, when the program that it starts takes the option. */
export function commandPlace(key: KeySpec, view: View, { libraries, program }: EditContext): Target | undefined {
  if (view.target === undefined) return undefined;
  const [option = ""] = key.key.split(".");
  const stated = view.target.entries.map((entry) => entry.key);
  const classes = program?.classes ?? classesByCommand(view.words, stated);
  const taken = program?.options.has(option) === true || classes.some((name) => takes(name, option, libraries));
  return taken ? { map: view.target, path: "" } : undefined;
}
