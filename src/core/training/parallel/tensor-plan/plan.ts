/**
 * Which modules of a model are split over GPUs, and how (transformers/distributed/tensor_parallel.py): by columns, whose outputs
 * stay split or are gathered; by rows, whose inputs are split already or are split there.
 */
import { PLANS } from "./plans";

export type Style = "columns" | "rows" | "gathered-columns" | "split-rows";

export interface TensorPlan {
  readonly degree: number;
  /** How the module at a path is split; undefined: it is whole on every GPU. */
  styleOf(path: string): Style | undefined;
}

/** The number of a layer, or what stands for it in a graph's names. */
const LAYER = /\.(?:\d+|\{i\})(?=\.|$)/g;

const BY_FAMILY = new Map(
  PLANS.flatMap(({ families, modules }) => families.map((family) => [family, modules] as const)),
);

/** The plan of a family; null where transformers has none, or one that splits more than linear layers. */
export function planOf(family: string, degree: number): TensorPlan | null {
  const rows = BY_FAMILY.get(family);
  if (rows === undefined) return null;
  const modules = new Map(Object.entries(rows));
  const known = new Map<string, Style | undefined>();
  const styleOf = (path: string): Style | undefined => {
    if (!known.has(path)) known.set(path, modules.get(path.replace(LAYER, ".*")));
    return known.get(path);
  };
  return { degree, styleOf };
}

const PARAMETER = /^(.+)\.(weight|bias)$/;

/** Sizes of one GPU's part of a parameter. Biases of rows are whole: they are added to the sum. */
export function partOf(plan: TensorPlan, name: string, sizes: readonly number[]): readonly number[] {
  const [, path, attribute] = PARAMETER.exec(name) ?? [];
  const style = path === undefined ? undefined : plan.styleOf(path);
  const [rows, ...rest] = sizes;
  if (style === undefined || rows === undefined) return sizes;
  if (style === "columns" || style === "gathered-columns") return [rows / plan.degree, ...rest];
  return attribute === "bias" ? sizes : [rows, ...rest.map((size) => size / plan.degree)];
}
