/** Changes of one value of a document: the place is found by the project's own parsers, so that every format is reached. */
import { parseDocument } from "../../src/formats/parse";
import type { LocatedNode, Span } from "../../src/syntax/tree";

/** Numbers no library takes, and those just beyond what a machine or a number can hold. */
export const NUMBERS: readonly string[] = [
  "-1",
  "0",
  "0.5",
  "1e3",
  "1e9",
  "9007199254740993",
  "2147483648",
  "1e308",
  "1e309",
  "-1e309",
  ".nan",
  "NaN",
  "null",
  "[]",
  "{}",
  '"12"',
  "true",
];

/** Names that every JavaScript object has, and texts that do something where they are shown. */
export const NAMES: readonly string[] = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "__defineGetter__",
  "prototype",
];

export interface Scalar extends Span {
  readonly path: string;
  readonly kind: "number" | "text" | "boolean";
  /** The place of the key, for maps. */
  readonly key?: Span;
}

/** Every scalar that stands in a document's own text. */
export function scalarsOf(uri: string, text: string): Scalar[] {
  const found: Scalar[] = [];
  const visit = (node: LocatedNode, path: string, key?: Span): void => {
    if (node.kind === "map")
      for (const entry of node.entries) visit(entry.value, `${path}.${entry.key}`, entry.keySpan);
    else if (node.kind === "list") {
      for (const [index, item] of node.items.entries()) visit(item, `${path}[${index}]`);
    } else if (node.kind === "scalar" && node.source === undefined && node.value !== null) {
      const kind = typeof node.value === "string" ? "text" : (typeof node.value as "number" | "boolean");
      found.push({ path, kind, start: node.start, end: node.end, ...(key === undefined ? {} : { key }) });
    }
  };
  const parsed = parseDocument(uri, text)?.parsed;
  if (parsed?.root) visit(parsed.root, "");
  for (const call of parsed?.python?.calls ?? []) visit(call.keywords, call.callee);
  return found;
}

export function replaced(text: string, { start, end }: Span, by: string): string {
  return text.slice(0, start) + by + text.slice(end);
}
