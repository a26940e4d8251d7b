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

type Rows = readonly { readonly families: readonly string[]; readonly modules: object }[];

function byFamily(rows: Rows): ReadonlyMap<string, Readonly<Record<string, Style>>> {
  return new Map(
    rows.flatMap(({ families, modules }) =>
      families.map((family) => [family, modules as Readonly<Record<string, Style>>] as const),
    ),
  );
}

const OF_LAYERS = byFamily(captured.plans);
const OF_EXPERTS = byFamily(captured.experts);

/** The embedding of every family whose head may be the same matrix. */
export const EMBEDDING = "model.embed_tokens";

/** A plan but for the family. */
export interface PlanOptions {
  readonly degree: number;
  /** The head is the embedding's matrix. */
  readonly isTied: boolean;
  /** Whole experts are shared out, and nothing else is split (`enable_expert_parallel`). */
  readonly sharesExperts?: true;
}

/** The plan of a family; null where transformers has none, or one whose ways of splitting are not followed. */
export function planOf(family: string, { degree, isTied, sharesExperts }: PlanOptions): TensorPlan | null {
  const rows = (sharesExperts ? OF_EXPERTS : OF_LAYERS).get(family);
  if (rows === undefined) return null;
  const modules = new Map(Object.entries(rows));
  if (isTied && sharesExperts !== true) modules.set(EMBEDDING, "vocabulary");
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

/** How a parameter is split: a plan names stacks of experts' matrices themselves, of other parameters their modules. */
export function styleOfParameter(plan: TensorPlan, name: string): Style | undefined {
  const path = PARAMETER.exec(name)?.[1];
  return plan.styleOf(name) ?? (path === undefined ? undefined : plan.styleOf(path));
}

/** Which dimension of a parameter a style splits, counted from the end where it is negative. */
const DIMENSION: Readonly<Record<Style, number>> = {
  columns: 0,
  "gathered-columns": 0,
  vocabulary: 0,
  experts: 0,
  "packed-columns": -2,
  rows: -1,
  "split-rows": -1,
};

/** Sizes of one GPU's part of a parameter. Biases of rows are whole: they are added to the sum. */
export function partOf(plan: TensorPlan, name: string, sizes: readonly number[]): readonly number[] {
  const style = styleOfParameter(plan, name);
  if (style === undefined) return sizes;
  const split = DIMENSION[style];
  if (split === -1 && name.endsWith(".bias")) return sizes;
  const which = split < 0 ? sizes.length + split : split;
  return sizes.map((size, k) => (k === which ? size / plan.degree : size));
}
