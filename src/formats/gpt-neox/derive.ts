/** What several keys of a gpt-neox config say together (`megatron/model/transformer.py`, `megatron/neox_arguments`). */
import type { Deriving } from "../deriving";
import { lookUp, type View, valueAt } from "../schema";
import type { LocatedSetting } from "../types";

/** Keys that have no row of their own and decide the shape below. */
export const DERIVED: ReadonlySet<string> = new Set(["activation", "mlp_multiple_of"]);

export function derive(d: Deriving, { map }: View): void {
  d.make(d.said("pipeline_parallel", 0), "pipeline_parallel", 1);
  const width = d.find("hidden_size");
  if (typeof width?.value !== "number") return;
  d.made.push(...unlikeGraph(d));
  const gated = ["swiglu", "geglu", "reglu", "glu", "bilinear"].includes(String(valueAt(map, "activation")));
  d.make(width, "model_type", gated ? "llama" : "gpt_neox");
  if (gated) {
    const inner = d.find("ffn_hidden_size");
    const asked = typeof inner?.value === "number" ? inner.value : 4 * width.value;
    d.make(inner ?? width, "ffn_hidden_size", gatedWidth(asked, valueAt(map, "mlp_multiple_of")));
  }
  // The default is `[[["global"], num_layers]]`: scores of all tokens.
  const attention = mentions(lookUp(map, "attention_config"), "flash") ? "flash_attention_2" : "eager";
  const from = d.find("attention_config") ?? width;
  if (!d.has("attention")) d.make({ ...from, node: width.node }, "attention", attention);
}

/** Experts, and fewer heads of keys and values than of queries: the captured code has neither. */
function unlikeGraph(d: Deriving): readonly LocatedSetting[] {
  const heads = d.find("num_attention_heads")?.value;
  const found = [
    { setting: d.find("num_query_groups"), isUsual: (value: unknown) => value === heads, direction: "less" },
    { setting: d.find("num_experts"), isUsual: (value: unknown) => value === 1, direction: "more" },
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
