/** Rewriting the functions of a graph: some instructions go, others come in their place. */
import { bareName } from "./reads";
import type { GraphFunction, Instruction, Operand } from "./types";

/** Values named anywhere in an operand. */
export function valuesOf(operand: Operand): string[] {
  if (typeof operand === "string") return operand.startsWith("%") ? [operand.slice(1)] : [];
  return Array.isArray(operand) ? operand.flatMap((item: Operand) => valuesOf(item)) : [];
}

export function reads(instruction: Instruction): string[] {
  return "in" in instruction ? instruction.in.flatMap(valuesOf) : [];
}

export function writes(instruction: Instruction): string[] {
  if (!("out" in instruction)) return [];
  return instruction.out.filter((name): name is string => name !== null).map(bareName);
}

/** An operator's name without its overload. */
export const base = (operator: string): string => operator.split(".")[0]!;

/** A function without some instructions and with others in place; what a new one reads lives until it. */
export function rebuild(
  fn: GraphFunction,
  removed: ReadonlySet<number>,
  replaced: ReadonlyMap<number, Instruction | readonly Instruction[]>,
): GraphFunction {
  const last = new Map<string, number>();
  for (const [at, made] of replaced)
    for (const name of [made].flat().flatMap(reads)) last.set(name, Math.max(at, last.get(name) ?? at));
  const late = new Map<number, string[]>();
  const drops = fn.body.map((instruction, k): Instruction => {
    if (!("drop" in instruction)) return instruction;
    const kept = instruction.drop.filter((name) => {
      const until = last.get(bareName(name));
      if (until === undefined || until < k) return true;
      late.set(until, [...(late.get(until) ?? []), name]);
      return false;
    });
    return { drop: kept };
  });
  const body = drops.flatMap((instruction, k): Instruction[] => {
    const other = replaced.get(k);
    const delayed = late.get(k);
    if (other !== undefined) return delayed === undefined ? [other].flat() : [other, { drop: delayed }].flat();
    return removed.has(k) ? [] : [instruction];
  });
  return { ...fn, body };
}
