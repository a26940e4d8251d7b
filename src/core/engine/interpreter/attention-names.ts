/** Keys and values of attention, by their names in a graph: what a key-value cache is handed before attention reshapes it. */
import type { GraphFunction, Operand, OpInstruction } from "../../graph/types";

/** The name of a value; undefined: the operand is no value. */
function nameOf(operand: Operand | undefined): string | undefined {
  return typeof operand === "string" && operand.startsWith("%") ? operand.slice(1) : undefined;
}

/** Whether a value is made by repeating heads (`repeat_kv`: expanded, then made contiguous). */
export function isRepeated(fn: GraphFunction, operand: Operand | undefined): boolean {
  let name = nameOf(operand);
  for (let k = fn.body.length - 1; k >= 0 && name !== undefined; k--) {
    const instruction = fn.body[k]!;
    if (!("op" in instruction) || !instruction.out.includes(name)) continue;
    if (instruction.op === "expand") return true;
    const passes = /^(?:reshape|view|contiguous|clone|alias|_unsafe_view)/.test(instruction.op);
    name = passes ? nameOf(instruction.in[0]) : undefined;
  }
  return false;
}

/** Operators behind which a cache's tensor is still the one before them: heads repeated, made contiguous, turned, cast. */
const PASSES = /^(?:reshape|contiguous|expand|unsqueeze)/;
const WRITTEN_PASSES = /^(?:reshape|contiguous|expand|unsqueeze|view|transpose|permute|to\.|_to_copy)/;
/** … that only view, or fold what a cache has (batch, heads, tokens, width) for a product: heads into the batch, repeated heads into one. */
const VIEWED_PASSES = /^(?:expand|unsqueeze|view|transpose|permute)/;
const CACHED_DIMENSIONS = 4;

type Passes = (instruction: OpInstruction, fn: GraphFunction) => boolean;

const passes: Passes = ({ op }) => PASSES.test(op);
const passesWritten: Passes = ({ op }) => WRITTEN_PASSES.test(op);

/** Whether a step is behind the cache, or leaves a value where it is. */
const passesViewed: Passes = ({ op, in: [value, sizes] }, fn) => {
  if (VIEWED_PASSES.test(op)) return true;
  if (!op.startsWith("reshape") || !Array.isArray(sizes)) return false;
  return sizes.length < CACHED_DIMENSIONS || isRepeated(fn, value);
};

/** What a value is made from by repeating heads and making them contiguous, the value itself first. */
export function sourcesOf(fn: GraphFunction, operand: Operand | undefined, through = passes): readonly string[] {
  const names: string[] = [];
  let name = nameOf(operand);
  if (name !== undefined) names.push(name);
  for (let k = fn.body.length - 1; k >= 0 && name !== undefined; k--) {
    const instruction = fn.body[k]!;
    if (!("op" in instruction) || !instruction.out.includes(name)) continue;
    name = through(instruction, fn) ? nameOf(instruction.in[0]) : undefined;
    if (name !== undefined) names.push(name);
  }
  return names;
}

/** Names of what the scores of attention that is written out are made of, and of what they weigh. */
export interface WrittenAttention {
  readonly key: readonly string[];
  readonly value: readonly string[];
}

export interface WrittenAttentions {
  /** By the product that makes the scores. */
  readonly scores: ReadonlyMap<OpInstruction, WrittenAttention>;
  /** Keys and values as they were made, by the first step that takes each: its name may go before the scores are there. */
  readonly made: ReadonlyMap<OpInstruction, readonly (readonly string[])[]>;
}

const PRODUCT = /^(?:matmul|bmm|baddbmm)(?:\.|$)/;
const SOFTMAX = /^_?softmax/;
/** What stands between the scores and the softmax, and between the softmax and the product with the values. */
const BETWEEN =
  /^(?:add|sub|mul|div|to\.|_to_copy|masked_fill|where|clamp|maximum|max\.other|tanh|view|reshape|_unsafe_view|contiguous|dropout|type_as|alias|softcap)/;
/** Steps from a product to the next one. */
const MOST_BETWEEN = 16;

const known = new WeakMap<GraphFunction, WrittenAttentions>();

/** Attention that a function writes out as two products around a softmax. */
export function writtenAttention(fn: GraphFunction): WrittenAttentions {
  let found = known.get(fn);
  if (found === undefined) {
    found = foundIn(fn);
    known.set(fn, found);
  }
  return found;
}

function foundIn(fn: GraphFunction): WrittenAttentions {
  const scores = new Map<OpInstruction, WrittenAttention>();
  const made = new Map<OpInstruction, readonly (readonly string[])[]>();
  fn.body.forEach((instruction, at) => {
    if (!("op" in instruction) || !PRODUCT.test(instruction.op)) return;
    const weights = behind(fn, at, instruction.in[0], SOFTMAX);
    if (weights === undefined) return;
    const product = behind(fn, weights.at, weights.instruction.in[0], PRODUCT)?.instruction;
    if (product === undefined) return;
    // baddbmm adds what it is given first
    const [key, value] = [product.in[product.op.startsWith("baddbmm") ? 2 : 1], instruction.in[1]];
    scores.set(product, { key: sourcesOf(fn, key, passesWritten), value: sourcesOf(fn, value, passesWritten) });
    for (const operand of [key, value]) {
      const [names, viewed] = [sourcesOf(fn, operand, passesWritten), sourcesOf(fn, operand, passesViewed)];
      // Copies and casts may stand before the cache or behind it: what is still there when the scores are made tells.
      const copied = names.length > viewed.length;
      const taker = copied ? product : takerOf(fn, viewed.at(-1));
      if (taker !== undefined) made.set(taker, [...(made.get(taker) ?? []), copied ? names : viewed.slice(-1)]);
    }
  });
  return { scores, made };
}

/** The first step that a value is given to. */
function takerOf(fn: GraphFunction, name: string | undefined): OpInstruction | undefined {
  return fn.body.find((step): step is OpInstruction => "op" in step && step.in.includes(`%${name}`));
}

/** The operator that a value comes from, through what may stand between; undefined: another one does. */
function behind(
  fn: GraphFunction,
  before: number,
  operand: Operand | undefined,
  wanted: RegExp,
): { readonly at: number; readonly instruction: OpInstruction } | undefined {
  let name = nameOf(operand);
  let steps = 0;
  for (let k = before - 1; k >= 0 && name !== undefined && steps < MOST_BETWEEN; k--) {
    const instruction = fn.body[k]!;
    if (!("op" in instruction) || !instruction.out.includes(name)) continue;
    if (wanted.test(instruction.op)) return { at: k, instruction };
    if (!BETWEEN.test(instruction.op)) return undefined;
    steps++;
    // `where(mask, scores, least)` has the scores second
    name = nameOf(instruction.in[instruction.op.startsWith("where") ? 1 : 0]);
  }
  return undefined;
}
