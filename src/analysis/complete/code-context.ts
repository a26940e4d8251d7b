/** What is being typed in TOML, on a command line, and in a Python call. Works on text that does not parse. */
import { ending } from "../../terms/text";
import type { TypingContext } from "./context";

/** Context in TOML: the table above and the keys of the line; undefined in comments and arrays. */
export function tomlContext(text: string, offset: number): TypingContext | undefined {
  const lineStart = text.lastIndexOf("\n", offset - 1) + 1;
  const before = text.slice(lineStart, offset);
  const table = [...text.slice(0, lineStart).matchAll(/^[ \t]*\[([\w.-]+)\]/gm)].at(-1)?.[1]?.split(".") ?? [];
  const value = /^\s*([\w.-]+)\s*=\s*(["']?[\w./-]*)$/.exec(before);
  if (value !== null) {
    const word = { start: offset - (value[2] ?? "").length, end: offset };
    return { kind: "value", path: [...table, ...(value[1] ?? "").split(".")], word };
  }
  const key = /^\s*([\w-]*)$/.exec(before);
  return key === null
    ? undefined
    : { kind: "key", path: table, word: { start: offset - (key[1] ?? "").length, end: offset } };
}

/** Context of a command's argument: `--option`, its value, or a `key=value`; the path is the whole key. */
export interface ArgumentContext extends TypingContext {
  /** `--` before an option; nothing before an override. */
  readonly dashes: string;
}

/** Context on a command line, over continued lines; undefined in comments and outside of arguments. */
export function shellContext(text: string, offset: number): ArgumentContext | undefined {
  let from = text.lastIndexOf("\n", offset - 1) + 1;
  while (from >= 2 && /\\\r?\n$/.test(text.slice(Math.max(0, from - 3), from)))
    from = text.lastIndexOf("\n", from - 2) + 1;
  const command = text.slice(from, offset);
  if (/(?:^|\s)#/.test(command)) return undefined;
  const word = ending(command, /\S/);
  const at = (length: number) => ({ start: offset - length, end: offset });
  const path = (key: string) => [key.replaceAll("-", "_")];
  const assigned = /^(--?|\+{0,2})([A-Za-z][\w.-]*)=(["']?[\w./-]*)$/.exec(word);
  if (assigned !== null)
    return { kind: "value", path: path(assigned[2] ?? ""), word: at((assigned[3] ?? "").length), dashes: "" };
  const option = /^(--)([\w.-]*)$/.exec(word);
  if (option !== null) return { kind: "key", path: [], word: at(word.length), dashes: "--" };
  const before = /(?:^|\s)--([A-Za-z][\w.-]*)[ \t]+(?:\\\r?\n\s*)?$/.exec(
    command.slice(0, command.length - word.length),
  );
  if (before !== null && /^["']?[\w./-]*$/.test(word))
    return { kind: "value", path: path(before[1] ?? ""), word: at(word.length), dashes: "" };
  return /^[A-Za-z_][\w.]*$/.test(word) && /\s\S*$/.test(command)
    ? { kind: "key", path: [], word: at(word.length), dashes: "" }
    : undefined;
}

/** Context of a keyword argument, with the name of the call. */
export interface CallContext extends TypingContext {
  readonly callee: string;
}

/** Context inside the innermost open call before an offset; undefined outside of calls and inside texts and comments. */
export function pythonContext(text: string, offset: number): CallContext | undefined {
  const open: { readonly bracket: string; readonly at: number; from: number }[] = [];
  let index = 0;
  let quoted: number | undefined;
  while (index < offset) {
    const char = text.charAt(index);
    if (char === "#") {
      const end = text.indexOf("\n", index);
      if (end < 0 || end >= offset) return undefined;
      index = end;
    } else if (char === '"' || char === "'") {
      const end = stringEnd(text, index, char);
      if (end > offset || (end === offset && text.charAt(end - 1) !== char)) quoted = index;
      index = end - 1;
    } else if (char === "(" || char === "[" || char === "{") open.push({ bracket: char, at: index, from: index + 1 });
    else if (char === ")" || char === "]" || char === "}") open.pop();
    else if (char === "," && open.length > 0) (open[open.length - 1] as { from: number }).from = index + 1;
    index++;
  }
  const inner = open.at(-1);
  const callee = inner === undefined ? undefined : /[A-Za-z_].*/.exec(ending(text.slice(0, inner.at), /[\w.]/))?.[0];
  if (inner?.bracket !== "(" || callee === undefined) return undefined;
  const argument = text.slice(inner.from, offset);
  const value = /^\s*([A-Za-z_]\w*)\s*=\s*((?:["'][^"']*)?|[\w.]*)$/.exec(argument);
  if (value !== null) {
    const typed = value[2] ?? "";
    const closing = quoted !== undefined && text.charAt(offset) === typed.charAt(0) ? 1 : 0;
    const word = { start: offset - typed.length, end: offset + closing };
    return { kind: "value", path: [value[1] ?? ""], word, callee };
  }
  const key = /^\s*([A-Za-z_]\w*)?$/.exec(argument);
  return key === null || quoted !== undefined
    ? undefined
    : { kind: "key", path: [], word: { start: offset - (key[1] ?? "").length, end: offset }, callee };
}

/** Offset after a text that starts at `start`; the end of its line when a short one is not closed. */
function stringEnd(text: string, start: number, quote: string): number {
  const triple = quote.repeat(3);
  if (text.startsWith(triple, start)) {
    const end = text.indexOf(triple, start + 3);
    return end < 0 ? text.length : end + 3;
  }
  for (let index = start + 1; index < text.length; index++) {
    const char = text.charAt(index);
    if (char === "\\") index++;
    else if (char === quote) return index + 1;
    else if (char === "\n") return index;
  }
  return text.length;
}
