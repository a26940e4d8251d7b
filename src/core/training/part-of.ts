/**
 * Parts of a model by the way to them, over the names of its weights. What transformers' methods give stands in
 * transformers/modeling_utils.py: `base_model` is the attribute `base_model_prefix`, or the model itself where it has none;
 * `get_input_embeddings` and `get_output_embeddings` are the tables at its ends; `get_encoder` and `get_decoder` its halves.
 */
import { indexOf, type PartStep } from "../../terms/weights";
import type { PlacedTensor } from "./placed";
import { isTable } from "./placed";

/** What is asked of a weight here. */
export type Named = Pick<PlacedTensor, "name" | "module" | "index">;
type Names = readonly Named[];

/**
 * @param tied names of weights that stand under another one
 * @returns what stands behind the part in a weight's name; null where the weight is not in it
 */
export function partOf(
  part: readonly PartStep[],
  placed: Names,
  tied: ReadonlyMap<string, string>,
): (name: string) => string | null {
  const names = [...placed.map(({ name }) => name), ...tied.keys()];
  let expression = "^";
  const ranges: Exclude<PartStep, string | { readonly method: string }>[] = [];
  for (const step of part) {
    if (typeof step === "string") expression += `${escaped(step)}(?:\\.|$)`;
    else if ("method" in step) expression += METHODS[step.method](placed, names);
    else {
      ranges.push(step);
      expression += "(\\d+)\\.";
    }
  }
  const pattern = new RegExp(expression);
  const counts = ranges.map((_, k) =>
    Math.max(0, ...names.map((name) => Number(pattern.exec(name)?.[k + 1] ?? -1) + 1)),
  );
  return (name) => {
    const match = pattern.exec(name);
    if (match === null) return null;
    const chosen = ranges.every((range, k) => {
      const count = counts[k] ?? 0;
      const index = Number(match[k + 1]);
      if ("at" in range) return range.at.some((one) => indexOf(one, count) === index);
      const { from, to, step = 1 } = range;
      const begin = indexOf(from, count);
      return index >= begin && (to === null || index < indexOf(to, count)) && (index - begin) % step === 0;
    });
    return chosen ? name.slice(match[0].length) : null;
  };
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

const first = (name: string): string => name.slice(0, name.indexOf(".") + 1);

/** The attribute that all layers stand in; nothing where they stand in several, or where the model is its own base. */
function base(placed: Names): string {
  const prefixes = new Set(placed.flatMap(({ name, index }) => (index === null ? [] : [first(name)])));
  const [prefix = ""] = prefixes;
  const apart = placed.some(({ name }) => !name.startsWith(prefix));
  return prefixes.size === 1 && apart && !/^(?:encoder|decoder|layers?|h|blocks?)\.$/.test(prefix)
    ? escaped(prefix)
    : "";
}

/** The path of a weight's module, with its dot. */
const moduleOf = (name: string): string => name.slice(0, name.lastIndexOf(".") + 1);

const METHODS: Readonly<
  Record<Extract<PartStep, { readonly method: string }>["method"], (placed: Names, names: readonly string[]) => string>
> = {
  base,
  "input-embeddings": (placed) => {
    const table = placed.find((item) => item.index === null && isTable(item));
    return table === undefined ? "(?!)" : escaped(moduleOf(table.name));
  },
  "output-embeddings": (placed, names) => {
    const behind = base(placed);
    const heads = names.filter(
      (name) => /(?:head|embed_out|output|decoder)\.weight$/.test(name) && !/\.\d+\./.test(name),
    );
    const head = heads.find((name) => behind === "" || !new RegExp(`^${behind}`).test(name));
    return head === undefined ? "(?!)" : escaped(moduleOf(head));
  },
  encoder: () => "(?:[\\w.]+\\.)?encoder\\.",
  decoder: () => "(?:[\\w.]+\\.)?decoder\\.",
};
