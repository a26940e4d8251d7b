/** Parameters and buffers of a graph with their sizes: what a model of this config has, before anything is loaded. */
import { say } from "../../words/message";
import { MOST_WEIGHTS, TooManyWeights } from "../engine/budget";
import type { DType } from "../engine/dtype";
import { refuseSizes } from "../engine/not-modelled";
import { type ConfigView, layerScope } from "../graph/config";
import { type Expressions, type Scope, truthy } from "../graph/expression";
import type { TensorSpec } from "../graph/types";

/** One parameter or buffer of one layer. */
export interface PlacedTensor {
  readonly name: string;
  readonly sizes: readonly number[];
  readonly dtype: DType;
  /** Takes the dtype of the states in the first forward (`engine/settling.ts`). */
  readonly settles?: boolean;
  /** Not trained. */
  readonly frozen: boolean;
  /** The name with `{i}` for the layer's index. */
  readonly pattern: string;
  readonly module: string;
  readonly index: number | null;
  /** The tensor of an earlier layer that this one uses, by its name; its modules are its own. */
  readonly sharedWith: string | null;
}

/** Whether its module is an `nn.Embedding` (or a subclass, by their names). */
export function isTable({ module }: { readonly module: string }): boolean {
  return module.endsWith("Embedding");
}

/**
 * The table that the class answers for its input embeddings: the one that a path's weight is stored as, or the model's first.
 *
 * @param names what a weight that goes by several names is stored as
 * @param path of the input embeddings, where they are not the model's first table
 */
export function inputTable(
  placed: readonly PlacedTensor[],
  names: ReadonlyMap<string, string>,
  path: string | undefined,
): PlacedTensor | undefined {
  if (path === undefined) return placed.find((item) => isTable(item) && item.sizes.length === 2);
  const name = `${path}.weight`;
  const stored = names.get(name) ?? name;
  return placed.find((item) => item.name === stored);
}

/** What follows the dtype of the states has that of the weights until the first forward. */
function dtypeOf(text: string | undefined, load: DType): DType {
  const name = text?.replace(/^\$/, "");
  return name === undefined || name === "load" || name === "states" ? load : (name as DType);
}

function sizesOf({ shape }: TensorSpec, expressions: Expressions, scope: Scope): readonly number[] {
  return shape.map((expression) => Number(expressions.evaluate(expression, scope)));
}

/**
 * Sizes that may be none: a buffer that is filled later, and experts that all tokens share, by their number or width
 * (ERNIE-4.5-300B-A47B has `moe_num_shared_experts: 0`).
 */
const MAY_BE_NONE = /^0$|\b\w*shared_expert/;

/**
 * No tensor has a negative or a broken size (c10/core/TensorImpl, "Trying to create tensor with negative dimension"). One
 * without elements can be made, but a config that makes a weight vanish (a vocabulary or a width of 0) is of no model: the
 * library divides by that size, looks up rows that are not there, or learns nothing.
 */
function checked(name: string, sizes: readonly number[], shape: TensorSpec["shape"]): readonly number[] {
  if (
    sizes.every((size, k) => Number.isInteger(size) && (size > 0 || (size === 0 && MAY_BE_NONE.test(shape[k] ?? ""))))
  )
    return sizes;
  return refuseSizes(sizes, say("engine.weight-size", { name, sizes: sizes.join(" × ") }));
}

/** What stands for the number of a module among several side by side. */
const COUNTER = /\{[hk]\}/;

/** @param sizes where they are known already */
function place(
  spec: TensorSpec,
  expressions: Expressions,
  scope: Scope,
  load: DType,
  index: number | null,
  sizes: readonly number[] | null,
): PlacedTensor[] {
  if (spec.when !== undefined && !truthy(expressions.evaluate(spec.when, scope))) return [];
  const name = index === null ? spec.name : spec.name.replaceAll("{i}", String(index));
  const tensor = {
    name,
    sizes: checked(name, sizes ?? sizesOf(spec, expressions, scope), spec.shape),
    dtype: dtypeOf(spec.dtype, load),
    pattern: spec.name,
    settles: spec.dtype === "$states",
    frozen: spec.frozen === true,
    module: spec.module,
    index,
    sharedWith: null,
  };
  if (spec.count === undefined) return [tensor];
  const count = Math.max(0, Number(expressions.evaluate(spec.count, scope)) || 0);
  if (count > MOST_WEIGHTS) throw new TooManyWeights();
  return Array.from({ length: count }, (_, head) => {
    const counted = (text: string): string => text.replace(COUNTER, String(head));
    return { ...tensor, name: counted(name), pattern: counted(spec.name) };
  });
}

/** A tensor that layers take turns at, as the one that the earlier layers of `owners` have; the first become owners. */
function inTurn(tensor: PlacedTensor, turns: number, owners: PlacedTensor[]): PlacedTensor {
  owners.push(tensor);
  const owner = owners[(owners.length - 1) % turns]!;
  return owner === tensor ? tensor : { ...tensor, sharedWith: owner.name };
}

/** Every parameter (or buffer) of the graph, layer by layer where the model repeats. */
export function placeTensors(specs: readonly TensorSpec[], view: ConfigView, load: DType): PlacedTensor[] {
  const { expressions } = view;
  const placed: PlacedTensor[] = [];
  for (let k = 0; k < specs.length; ) {
    const spec = specs[k]!;
    if (spec.layers === undefined) {
      placed.push(...place(spec, expressions, view.scope, load, null, null));
      k++;
      continue;
    }
    // Consecutive specs over the same layers belong together: layer 0 of all, then layer 1, …
    let end = k;
    const [from, to] = spec.layers;
    while (
      end < specs.length &&
      specs[end]!.layers?.[0] === from &&
      specs[end]!.layers?.[1] === to &&
      prefix(specs[end]!) === prefix(spec)
    )
      end++;
    const first = Number(expressions.evaluate(from, view.scope));
    const last = Number(expressions.evaluate(to, view.scope));
    // Layers counted by what is no number are not known to be none.
    if (Number.isNaN(first) || Number.isNaN(last)) refuseSizes([first, last], say("engine.sizes"));
    if (placed.length + (last - first) * (end - k) > MOST_WEIGHTS) throw new TooManyWeights();
    const together = specs.slice(k, end);
    const isCounted = together.some(({ count }) => count !== undefined);
    const shared = together.map((one) => {
      const differs = one.shape.some((size) => expressions.isOfLayer(size));
      return differs ? null : sizesOf(one, expressions, view.scope);
    });
    const owners = new Map<TensorSpec, PlacedTensor[]>(together.map((one) => [one, []]));
    for (let index = first; index < last; index++) {
      const kind = view.layerKind(index);
      const scope = layerScope(view.scope, index, kind);
      const ofLayer = together.map((one, n) => {
        const own = place(one, expressions, scope, load, index, shared[n]!);
        if (one.turns === undefined) return own;
        const turns = Math.max(1, Number(expressions.evaluate(one.turns, view.scope)) || 1);
        return own.map((tensor) => inTurn(tensor, turns, owners.get(one)!));
      });
      for (const tensors of isCounted ? [sideBySide(together, ofLayer)] : ofLayer) placed.push(...tensors);
    }
    k = end;
  }
  return placed;
}

/** The tensors of specs in a row; modules that are counted come one after the other, each with all of its own. */
function sideBySide(specs: readonly TensorSpec[], placed: readonly PlacedTensor[][]): PlacedTensor[] {
  const found: PlacedTensor[] = [];
  for (let k = 0; k < specs.length; ) {
    const before = countedPrefix(specs[k]!);
    let end = k + 1;
    while (before !== null && end < specs.length && countedPrefix(specs[end]!) === before) end++;
    const group = placed.slice(k, end);
    const longest = Math.max(...group.map((tensors) => tensors.length));
    if (end === k + 1) found.push(...group[0]!);
    else for (let head = 0; head < longest; head++) found.push(...group.flatMap((tensors) => tensors[head] ?? []));
    k = end;
  }
  return found;
}

/** Path before the number of a module; null without one. */
function countedPrefix({ name, count }: TensorSpec): string | null {
  return count === undefined ? null : name.split(COUNTER)[0]!;
}

/** Path before the layer index: `model.layers`. */
function prefix(spec: TensorSpec): string {
  return spec.name.split(".{i}")[0]!;
}
