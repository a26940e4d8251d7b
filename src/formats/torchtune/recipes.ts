/** Configs that torchtune's recipes have by name: `tune run lora_finetune_single_device --config llama3_1/8B_lora_single_device`. */
import type { Entry, LocatedNode, Span } from "../../syntax/tree";
import type { View } from "../schema";
import recipes from "./recipes.json";

const NAMES: ReadonlyMap<string, string> = new Map(Object.entries(recipes.names));
/** What only a model with adapters is built with. */
const OF_ADAPTERS = /^model\.(?:lora_|apply_lora_to_)/;

/** A command with what the config that it names says; the command's own words stand behind, and overrule it. */
export function withRecipe(view: View): View {
  const named = view.map.entries.findLast(({ key }) => key === "config")?.value;
  const words = named?.kind === "scalar" ? NAMES.get(String(named.value))?.split(" ") : undefined;
  if (named === undefined || words === undefined) return view;
  const [builder = "", ...changes] = words;
  const adapts = /\.q?lora_/.test(builder);
  const said = new Map<string, string>([["model._component_", `torchtune.models.${builder}`]]);
  for (const [key, value] of Object.entries(recipes.common)) if (adapts || !OF_ADAPTERS.test(key)) said.set(key, value);
  for (const change of changes) {
    const at = change.indexOf("=");
    if (at < 0) said.delete(change.slice(1));
    else said.set(change.slice(0, at), change.slice(at + 1));
  }
  const entries = [...said].map(([key, text]): Entry => ({ key, keySpan: named, value: nodeOf(text, named) }));
  return { ...view, map: { ...view.map, entries: [...entries, ...view.map.entries] } };
}

/** A command as it is changed: its config has blocks, which the command's words may set keys of. */
export function withBlocks(view: View): View {
  const own = withRecipe(view).map.entries.at(0);
  const block = own === undefined || view.map.entries.includes(own) ? [] : [{ ...own, key: "tokenizer.path" }];
  return { ...view, map: { ...view.map, entries: [...block, ...view.map.entries] } };
}

/** A value as the config's YAML has it, at the place of its name. */
function nodeOf(text: string, { start, end }: Span): LocatedNode {
  if (text.startsWith("["))
    return {
      kind: "list",
      items: text
        .slice(1, -1)
        .split(",")
        .map((item) => nodeOf(item, { start, end })),
      start,
      end,
    };
  const value =
    text === "True" ? true : text === "False" ? false : /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
  return { kind: "scalar", value, raw: text, start, end };
}
