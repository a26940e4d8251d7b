/** Which values the instructions of a graph read. */
import type { GraphFunction, Instruction, Operand } from "./types";

/** The value an operand names, without its sign. */
export const nameOf = (operand: Operand | undefined): string | undefined =>
  typeof operand === "string" && operand.startsWith("%") ? operand.slice(1) : undefined;

/** The value of a name, written with its sign or without. */
export const bareName = (name: string): string => (name.startsWith("%") ? name.slice(1) : name);

/** The value of a function's k-th output. */
export function outputOf({ outputs }: Pick<GraphFunction, "outputs">, k: number): string | undefined {
  const name = outputs[k];
  return name === undefined ? undefined : bareName(name);
}

/** Names an operand refers to. */
function namesIn(operand: Operand): string[] {
  if (Array.isArray(operand)) return operand.flatMap((item: Operand) => namesIn(item));
  const name = nameOf(operand);
  if (name !== undefined) return [name];
  // `$dtype(%0)` asks a value for its dtype.
  return typeof operand === "string" ? [...operand.matchAll(/%([\w.]+)/g)].map((match) => match[1]!) : [];
}

function readsOf(instruction: Instruction): string[] {
  if ("op" in instruction) return [...instruction.in, ...Object.values(instruction.kw ?? {})].flatMap(namesIn);
  if ("call" in instruction) return [...instruction.in, ...Object.values(instruction.attrs ?? {})].flatMap(namesIn);
  if ("block" in instruction) return instruction.in.flatMap(namesIn);
  return "repeat" in instruction ? instruction.repeat.in.flatMap(namesIn) : [];
}

/** Values that a function's instructions read or that it hands out. */
export function readIn({ outputs, body }: Pick<GraphFunction, "outputs" | "body">): ReadonlySet<string> {
  return new Set([...outputs.map(bareName), ...body.flatMap(readsOf)]);
}

/** Names of what an instruction makes. */
export function madeBy(instruction: Instruction): readonly string[] {
  if ("repeat" in instruction) return namesMade(instruction.repeat.out);
  return "out" in instruction ? namesMade(instruction.out) : [];
}

function namesMade(out: readonly (string | null)[]): readonly string[] {
  return out.filter((name) => name !== null).map(bareName);
}

/** Values that instructions read and that none of them made before. */
export function outsideNames(body: readonly Instruction[]): ReadonlySet<string> {
  const [made, outside] = [new Set<string>(), new Set<string>()];
  for (const instruction of body) {
    for (const name of readsOf(instruction)) if (!made.has(name)) outside.add(name);
    for (const name of madeBy(instruction)) made.add(name);
  }
  return outside;
}

/** Module path of the layer that a function is the forward of, up to its index; null where no name in it has one. */
export function layerPath({ body }: Pick<GraphFunction, "body">): string | null {
  for (const instruction of body)
    for (const path of pathsIn(instruction)) {
      const at = path.indexOf("{i}");
      if (at >= 0) return path.slice(0, at + "{i}".length);
    }
  return null;
}

/** Paths of modules and parameters that an instruction names. */
function pathsIn(instruction: Instruction): string[] {
  if ("scope" in instruction) return [instruction.scope];
  if ("call" in instruction) return [instruction.path];
  return "op" in instruction ? instruction.in.filter((one) => typeof one === "string").map((one) => one.slice(1)) : [];
}
