/** Which weights of a model something means, by their names and by parts of the model. */

/** An end of a slice of a list: negative numbers count from its end, `{ divided: 2 }` is half of its length, rounded down. */
export type Bound = number | { readonly divided: number };

/** The index that an end of a slice stands for in a list of so many. */
export function indexOf(bound: Bound, count: number): number {
  if (typeof bound === "object") return Math.floor(count / bound.divided);
  return bound < 0 ? count + bound : bound;
}

/**
 * A step into a model: the name of a module, some of a list of modules by their bounds (negative ones count from its end, null: up to it) or indices, or what
 * a method of transformers' models gives, by its name (`base_model`, `get_input_embeddings`; transformers/modeling_utils.py).
 */
export type PartStep =
  | string
  | { readonly from: Bound; readonly to: Bound | null; readonly step?: number }
  | { readonly at: readonly number[] }
  | { readonly method: "base" | "input-embeddings" | "output-embeddings" | "encoder" | "decoder" };

/** Weights whose names a pattern is found in, and whether they are trained. */
export interface WeightRule {
  /** A regular expression, searched in the name, or in what of it stands behind the part. */
  readonly pattern: string;
  readonly trained: boolean;
  /** Classes of the modules whose own weights are meant; absent: all. */
  readonly modules?: readonly string[];
  /** Classes of modules that are not meant by themselves. */
  readonly except?: readonly string[];
  /** A regular expression that the name of a module around the weight fits, in place of the weight's own; with classes, of the module itself. */
  readonly around?: string;
  /** The part of the model whose weights are meant; absent: all of it. */
  readonly part?: readonly PartStep[];
  /** The module that a loop calls beside the model, whose weights are meant; absent: those of the model. */
  readonly beside?: string;
  /** The model already has its adapter there: names and parts are those that peft gives. */
  readonly adapted?: true;
}
