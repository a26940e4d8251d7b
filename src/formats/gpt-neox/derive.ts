/** What several keys of a gpt-neox config say together (`megatron/model/transformer.py`, `megatron/neox_arguments`). */
import { derived, lookUp, type View, valueAt } from "../schema";
import type { LocatedSetting } from "../types";

/** Keys that have no row of their own and decide the shape below. */
export const DERIVED: ReadonlySet<string> = new Set(["activation", "mlp_multiple_of"]);

export function derive(settings: readonly LocatedSetting[], { map }: View): readonly LocatedSetting[] {
  const result: LocatedSetting[] = [];
  const find = (name: string) => settings.findLast((setting) => setting.name === name);
  const stage = find("pipeline_parallel");
  if (stage?.value === 0) result.push(derived(stage, "pipeline_parallel", 1));
  const width = find("hidden_size");
  if (typeof width?.value !== "number") return result;
  result.push(...unlikeGraph(settings));
  const gated = ["swiglu", "geglu", "reglu", "glu", "bilinear"].includes(String(valueAt(map, "activation")));
  result.push(derived(width, "model_type", gated ? "llama" : "gpt_neox"));
  if (gated) {
    const inner = find("ffn_hidden_size");
    const asked = typeof inner?.value === "number" ? inner.value : 4 * width.value;
    result.push(derived(inner ?? width, "ffn_hidden_size", gatedWidth(asked, valueAt(map, "mlp_multiple_of"))));
  }
  // The default is `[[["global"], num_layers]]`: scores of all tokens.
  const kinds = lookUp(map, "attention_config");
  if (find("attention") === undefined) {
    const attention = mentions(kinds, "flash") ? "flash_attention_2" : "eager";
    result.push({ ...derived(find("attention_config") ?? width, "attention", attention), node: width.node });
  }
  return result;
}

/** Experts, and fewer heads of keys and values than of queries: the captured code has neither. */
function unlikeGraph(settings: readonly LocatedSetting[]): readonly LocatedSetting[] {
  const find = (name: string) => settings.findLast((setting) => setting.name === name);
  const heads = find("num_attention_heads")?.value;
  const found = [
    { setting: find("num_query_groups"), isUsual: (value: unknown) => value === heads, direction: "less" },
    { setting: find("num_experts"), isUsual: (value: unknown) => value === 1, direction: "more" },
  ] as const;
  return found.flatMap(({ setting, isUsual, direction }) =>
    setting === undefined || setting.value === null || isUsual(setting.value)
      ? []
      : [{ ...setting, name: null, uncounted: true, direction, valueSpan: setting.keySpan }],
  );
}

/** Two thirds of the width asked for, halved for the two inputs of the gate, rounded up. */
function gatedWidth(asked: number, multipleOf: unknown): number {
  const multiple = typeof multipleOf === "number" && multipleOf > 0 ? multipleOf : 1;
  const half = Math.floor(Math.floor((asked * 2) / 3) / 2);
  return Math.ceil(half / multiple) * multiple;
}

function mentions(node: ReturnType<typeof lookUp>, word: string): boolean {
  if (node?.kind === "list") return node.items.some((item) => mentions(item, word));
  return node?.kind === "scalar" && node.value === word;
}
