/**
 * What a layer is not given. Layers of several kinds share the inputs of their repeat, but code picks by kind
 * (`causal_mask_mapping[layer_type]`, `position_embeddings[layer_type]` in transformers' modeling files): one argument with
 * another value. What a layer is not given, its checkpoint does not keep.
 */
import { nameOf, readIn } from "./reads";
import type { ArchitectureGraph, GraphFunction, RepeatInstruction } from "./types";

const ATTENTION = "scaled_dot_product_attention";
const MASK = 3;

/** Inputs that a function only takes as masks of its fused attention. */
function masksOf(fn: GraphFunction): ReadonlySet<string> {
  const masks = fn.body.flatMap((one) => ("op" in one && one.op === ATTENTION ? (nameOf(one.in[MASK]) ?? []) : []));
  return new Set(masks.filter((name) => fn.inputs.includes(name)));
}

/**
 * For each block of a repeat, the inputs it is not given: another kind's value of an argument stands beside its own, and a
 * mask that only other kinds attend with is theirs. What no kind reads, or only some, is given to all. A graph may state it instead.
 */
export function withheldInputs(
  { repeat }: RepeatInstruction,
  blocks: ArchitectureGraph["blocks"],
): ReadonlyMap<number, ReadonlySet<number>> {
  const functions = [...new Set(repeat.bodies.map(({ block }) => block))].map((block) => ({
    block,
    fn: blocks[block]!,
  }));
  if (functions.length < 2) return new Map();
  if (repeat.bodies.some(({ withheld }) => withheld !== undefined))
    return new Map(repeat.bodies.map(({ block, withheld }) => [block, new Set(withheld)]));
  const withheld = new Map(functions.map(({ block }) => [block, new Set<number>()]));
  const reads = functions.map(({ fn }) => readIn(fn));
  const masks = functions.map(({ fn }) => masksOf(fn));
  const readers = repeat.in.map((_, k) => functions.map(({ fn }, at) => reads[at]!.has(fn.inputs[k]!)));
  const partly = (k: number): boolean => readers[k]?.includes(true) === true && readers[k].includes(false);
  const withhold = (k: number): void =>
    functions.forEach(({ block }, at) => {
      if (!readers[k]![at]) withheld.get(block)!.add(k);
    });
  for (let k = 0; k < repeat.in.length; k++) {
    if (repeat.carry[k] !== null || !partly(k)) continue;
    const alternative = partly(k + 1) && readers[k]!.every((read, at) => !read || !readers[k + 1]![at]);
    if (alternative) {
      withhold(k);
      withhold(++k);
    } else if (functions.some(({ fn }, at) => masks[at]!.has(fn.inputs[k]!))) withhold(k);
  }
  return withheld;
}
