/** How much of a module is followed. No script of a person's comes near; one that is written to grow stops there. */
import { MAX_DEPTH } from "../text";
import type { LocatedNode } from "../tree";

/** Dotted names are shorter; what matches names need not take longer ones. Characters. */
export const LONGEST_NAME = 300;
/** Parts of one value, those that stand in it several times counted each time. */
export const MAX_PARTS = 20_000;
/** Parts of all values that a module hands to those who ask. */
export const MAX_HANDED = 500_000;
/** Values smaller than this are handed on whatever was handed on before. */
const SMALL = 16;
/** Expressions that one name may stand for. */
export const MAX_BINDINGS = 64;
/** Conditions around one statement. */
export const MAX_GUARDS = 64;
/** Items put one by one into a dictionary (`name["key"] = value`). */
export const MAX_PUT = 1000;
/** Ways to parts of objects, and conditions asked of their names, that are followed in a module. */
export const MAX_WAYS = 200_000;

/** A text weighs a part for so many characters, as a power of two. */
const CHARACTERS = 4;

interface Measure {
  readonly parts: number;
  readonly depth: number;
}

const ONE: Measure = { parts: 1, depth: 1 };
const measured = new WeakMap<readonly unknown[], Measure>();

function insideOf(node: LocatedNode): readonly (LocatedNode | { readonly value: LocatedNode })[] {
  if (node.kind === "list") return node.items;
  if (node.kind === "map") return node.entries;
  return (node.kind === "unknown" ? node.alternatives : undefined) ?? [];
}

function measureOf(node: LocatedNode): Measure {
  if (node.kind === "scalar")
    return typeof node.value === "string" ? { parts: 1 + (node.value.length >> CHARACTERS), depth: 1 } : ONE;
  const inside = insideOf(node);
  if (inside.length === 0) return ONE;
  const known = measured.get(inside);
  if (known !== undefined) return known;
  let parts = 1;
  let depth = 0;
  for (const one of inside) {
    const own = measureOf("kind" in one ? one : one.value);
    parts += own.parts;
    depth = Math.max(depth, own.depth);
  }
  const measure = { parts, depth: depth + 1 };
  measured.set(inside, measure);
  return measure;
}

/** Parts of a value. */
export function partsOf(node: LocatedNode): number {
  return measureOf(node).parts;
}

/** Whether a value has more parts, or is nested deeper, than anything that reads it should go through. */
export function isTooLarge(node: LocatedNode): boolean {
  const { parts, depth } = measureOf(node);
  return parts > MAX_PARTS || depth > MAX_DEPTH;
}

/** Counts what a module hands to those who ask. */
export class Handed {
  private parts = 0;

  /** Whether a value may still be handed on. */
  takes(value: LocatedNode): boolean {
    const parts = partsOf(value);
    if (parts <= SMALL) return true;
    this.parts += parts;
    return this.parts <= MAX_HANDED;
  }
}

/** Items of a range or of a comprehension that are made; longer ones are none of a config's. */
export const MAX_ITEMS = 4096;
