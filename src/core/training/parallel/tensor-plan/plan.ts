/**
 * Which modules of a model are split over GPUs, and how (transformers/distributed/tensor_parallel.py): by columns, whose outputs
 * stay split or are gathered; by rows, whose inputs are split already or are split there. An embedding that is the head, too, is
 * split by rows of its vocabulary (transformers/configuration_utils.py).
 */
import { table } from "../../../../terms/table";
import captured from "./plans.json";
import type { Style } from "./style";

export interface TensorPlan {
  readonly degree: number;
  /** What is split, with `*` for the number of a layer. */
  readonly modules: readonly { readonly path: string; readonly style: Style }[];
  /** How the module at a path is split; undefined: it is whole on every GPU. */
  styleOf(path: string): Style | undefined;
}

/** What peft's adapter has inside: the layer it stands for, and its factors. */
const ADAPTER = /^(.+)\.(base_layer|lora_A|lora_B)$/;

/** The factor whose sizes are those that a style splits. */
const FACTORS: Readonly<Record<string, Style>> = table({ lora_A: "rows", lora_B: "columns" });

/** The number of a layer, or what stands for it in a graph's names. */
const LAYER = /\.(?:\d+|\{i\})(?=\.|$)/g;

const BY_FAMILY = new Map(
  captured.plans.flatMap(({ families, modules }) =>
    families.map((family) => [family, modules as Readonly<Record<string, Style>>] as const),
  ),
);

/** The embedding of every family whose head may be the same matrix. */
export const EMBEDDING = "model.embed_tokens";

/**
 * The plan of a family; null where transformers has none, or one that splits more than linear layers.
 *
 * @param isTied whether the head is the embedding's matrix
 */
export function planOf(family: string, degree: number, isTied: boolean): TensorPlan | null {
  const rows = BY_FAMILY.get(family);
  if (rows === undefined) return null;
  const modules = new Map(Object.entries(rows));
  if (isTied) modules.set(EMBEDDING, "vocabulary");
  const known = new Map<string, Style | undefined>();
  const styleOf = (path: string): Style | undefined => {
    if (!known.has(path)) known.set(path, modules.get(path.replace(LAYER, ".*")) ?? insideAdapter(path));
    return known.get(path);
  };
  const insideAdapter = (path: string): Style | undefined => {
    const [, outer, part] = ADAPTER.exec(path) ?? [];
    const style = outer === undefined ? undefined : styleOf(outer);
    return part === "base_layer" || style === FACTORS[part ?? ""] ? style : undefined;
  };
  return { degree, modules: [...modules].map(([path, style]) => ({ path, style })), styleOf };
}

const PARAMETER = /^(.+)\.(weight|bias)$/;

/** Sizes of one GPU's part of a parameter. Biases of rows are whole: they are added to the sum. */
export function partOf(plan: TensorPlan, name: string, sizes: readonly number[]): readonly number[] {
  const [, path, attribute] = PARAMETER.exec(name) ?? [];
  const style = path === undefined ? undefined : plan.styleOf(path);
  const [rows, ...rest] = sizes;
  if (style === undefined || rows === undefined) return sizes;
  if (style === "columns" || style === "gathered-columns" || style === "vocabulary")
    return [rows / plan.degree, ...rest];
  return attribute === "bias" ? sizes : [rows, ...rest.map((size) => size / plan.degree)];
}
