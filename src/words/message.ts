/** A sentence by its id, with what fills its `{holes}`; the tables of each language hold the text. */
import type { English } from "./en";
import type { EFFECTS } from "./en/effects";
import { inCode, printable } from "./printable";

export type MessageId = keyof English;

/** What a key does to memory. */
export type EffectId = keyof typeof EFFECTS;

export interface Message {
  readonly id: MessageId;
  readonly args: Readonly<Record<string, Argument>>;
}

export type Argument = string | number | Message;

/**
 * Names of the holes of a text: `{count}`; `{count|GPU|GPUs}`, a word that goes with a count; `{tokens|,}`, a number with a comma
 * between its thousands.
 */
type Holes<Text extends string> = Text extends `${string}{${infer Hole}}${infer Rest}`
  ? (Hole extends `${infer Name}|${string}` ? Name : Hole) | Holes<Rest>
  : never;

type HolesOf<Id extends MessageId> = Holes<English[Id]>;

type Filled<Id extends MessageId> = Readonly<Record<HolesOf<Id>, Argument>>;

/** A sentence to say. An id that no table has, and a hole that is left open, do not compile. */
export function say<Id extends MessageId>(
  id: Id,
  ...[args]: [HolesOf<Id>] extends [never] ? [] : [args: Filled<Id>]
): Message {
  return { id, args: args ?? {} };
}

const HOLE = /\{(\w+)(?:\|([^{|}]*)(?:\|([^{}]*))?)?\}/g;

/** A whole number with commas between its thousands, without `Intl`, whose start costs a program a twentieth of its own. */
function thousands(value: number): string {
  const digits = BigInt(Math.abs(value)).toString();
  const groups: string[] = [];
  for (let end = digits.length; end > 0; end -= 3) groups.unshift(digits.slice(Math.max(0, end - 3), end));
  return `${value < 0 ? "-" : ""}${groups.join(",")}`;
}

/**
 * A text with its holes filled; a hole without an argument is left as it is.
 *
 * @param shown makes a value fit for where the text is shown; between backticks it is made so already
 */
export function fill(
  template: string,
  args: Message["args"],
  nested: (message: Message) => string,
  shown: (value: string) => string = printable,
): string {
  return template.replace(HOLE, (hole, name: string, one: string | undefined, many: string | undefined, at: number) => {
    const value = args[name];
    if (value === undefined) return hole;
    if (one !== undefined && many !== undefined) return Number(value) === 1 ? one : many;
    if (one !== undefined && Number.isInteger(Number(value))) return thousands(Number(value));
    if (typeof value === "object") return nested(value);
    return template.charAt(at - 1) === "`" ? inCode(String(value)) : shown(String(value));
  });
}
