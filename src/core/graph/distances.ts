/**
 * Names of values in stored functions (`capture/storing/distances.py`): how far back a value was made, so that alike stretches of
 * code read alike wherever they stand. `%-0` is the newest at that place, `%-3` the one three before it; a value that is made
 * is `+` (the next number) or `+n`. A list that a loop collects has its `*` before either; other names are themselves.
 */
import type { GraphFunction, Instruction, Operand } from "./types";

const BACK = /^(\*?)-(\d+)$/;
const NEXT = /^(\*?)\+(\d*)$/;
const DTYPE = /^\$dtype\(%(.+)\)$/;

/** The fields that name what is made, in order: values, and the lists that a loop collects them in. */
const MADE = ["out", "collect"] as const;

/** An instruction with its numbers, and the newest number after it. */
interface Numbered {
  readonly instruction: Instruction;
  readonly newest: number;
}

/**
 * Numbers the functions of one file. Instructions that the file says once stay one object wherever they have the same
 * numbers, as do functions.
 */
export function numbering(): (stored: GraphFunction) => GraphFunction {
  const functions = new Map<GraphFunction, GraphFunction>();
  const instructions = new Map<Instruction, Map<number, Numbered>>();

  const numberedAt = (stored: Instruction, newest: number): Numbered => {
    const known = instructions.get(stored) ?? new Map<number, Numbered>();
    instructions.set(stored, known);
    const numbered = known.get(newest) ?? numberedInstruction(stored, newest);
    known.set(newest, numbered);
    return numbered;
  };

  return (stored) => {
    const known = functions.get(stored);
    if (known !== undefined) return known;
    let newest = -1;
    const body = stored.body.map((one) => {
      const numbered = numberedAt(one, newest);
      newest = numbered.newest;
      return numbered.instruction;
    });
    const result = { ...stored, body, outputs: stored.outputs.map((name) => nameAt(name, newest)) };
    functions.set(stored, result);
    return result;
  };
}

function numberedInstruction(stored: Instruction, newest: number): Numbered {
  if (!("repeat" in stored)) return fields(stored, newest) as Numbered;
  const repeat = fields(stored.repeat, newest);
  return { instruction: { ...stored, repeat: repeat.instruction } as Instruction, newest: repeat.newest };
}

/** The fields of an instruction: what it reads is numbered from the newest before it, then what it makes. */
function fields(stored: object, before: number): { readonly instruction: object; readonly newest: number } {
  let newest = before;
  const made = (name: string): string => {
    const step = NEXT.exec(name);
    if (step === null) return nameAt(name, newest);
    newest += Number(step[2] || 1);
    return `${step[1]}${newest}`;
  };
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(stored)) result[key] = readField(key, value, before);
  for (const key of MADE)
    if (key in result)
      result[key] = (result[key] as (string | null)[]).map((name) => (name === null ? null : made(name)));
  return { instruction: result, newest };
}

function readField(key: string, value: unknown, newest: number): unknown {
  if (key === "in") return operandAt(value as Operand, newest);
  if (key === "kw" || key === "attrs")
    return Object.fromEntries(
      Object.entries(value as Record<string, Operand>).map(([name, item]) => [name, operandAt(item, newest)]),
    );
  return key === "drop" || key === "store" ? (value as string[]).map((name) => nameAt(name, newest)) : value;
}

function operandAt(operand: Operand, newest: number): Operand {
  if (Array.isArray(operand)) return operand.map((item: Operand) => operandAt(item, newest));
  if (typeof operand !== "string") return operand;
  if (operand.startsWith("%")) return `%${nameAt(operand.slice(1), newest)}`;
  const dtype = DTYPE.exec(operand);
  return dtype === null ? operand : `$dtype(%${nameAt(dtype[1]!, newest)})`;
}

function nameAt(name: string, newest: number): string {
  const back = BACK.exec(name);
  return back === null ? name : `${back[1]}${newest - Number(back[2])}`;
}
