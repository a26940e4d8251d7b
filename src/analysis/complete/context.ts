/** What is being typed at a place: a key below some path, or the value of a key. Works on text that does not parse. */

import type { Span } from "../../syntax/tree";
import { ending } from "../../terms/text";

export interface TypingContext {
  readonly kind: "key" | "value";
  /** Keys from the root down; for a value the last one is its own. */
  readonly path: readonly string[];
  /** The word typed so far, quotes included. */
  readonly word: Span;
}

const KEY = /^(\s*(?:- )?)(["']?)([\w.-]+)\2\s*:/;

/** Context in YAML, by indentation; undefined inside comments, block texts and flow collections. */
export function yamlContext(text: string, offset: number): TypingContext | undefined {
  const lineStart = text.lastIndexOf("\n", offset - 1) + 1;
  const before = text.slice(lineStart, offset);
  if (/^\s*#|\s#/.test(before) || /[{[]/.test(before)) return undefined;
  const value = /^(\s*(?:- )?)(["']?)([\w.-]+)\2\s*:\s+(\S*)$/.exec(before);
  if (value !== null) {
    const word = { start: offset - (value[4] ?? "").length, end: offset };
    return { kind: "value", path: [...parents(text, lineStart, (value[1] ?? "").length), value[3] ?? ""], word };
  }
  const key = /^(\s*(?:- )?)([\w.-]*)$/.exec(before);
  if (key === null) return undefined;
  const word = { start: offset - (key[2] ?? "").length, end: offset };
  return { kind: "key", path: parents(text, lineStart, (key[1] ?? "").length), word };
}

/** Keys of the lines above that enclose a line of this indentation, outermost first. */
function parents(text: string, lineStart: number, indent: number): string[] {
  const path: string[] = [];
  let least = indent;
  const lines = text.slice(0, Math.max(0, lineStart - 1)).split("\n");
  for (let index = lines.length - 1; index >= 0 && least > 0; index--) {
    const match = KEY.exec(lines[index] ?? "");
    const own = (match?.[1] ?? "").length;
    if (match === null || own >= least) continue;
    path.unshift(match[3] ?? "");
    least = own;
  }
  return path;
}

/** Keys that stand beside a place of a YAML mapping: those of its column, up and down to where the mapping ends. */
export function siblingKeys(text: string, offset: number): ReadonlySet<string> {
  const lines = text.split("\n");
  const at = text.slice(0, offset).split("\n").length - 1;
  const own = lines[at] ?? "";
  const column = /^\s*(?:- )?/.exec(own)?.[0].length ?? 0;
  const found = new Set<string>();
  const look = (index: number): boolean => {
    const line = lines[index] ?? "";
    if (line.trim() === "") return true;
    const indent = /^\s*/.exec(line)?.[0].length ?? 0;
    const match = KEY.exec(line);
    if ((match?.[1] ?? "").length === column && match?.[3] !== undefined) found.add(match[3]);
    return indent >= column;
  };
  // The first line of a list's item is the last that belongs to it on the way up.
  if (!own.trimStart().startsWith("- ")) for (let index = at - 1; index >= 0 && look(index); index--);
  for (let index = at + 1; index < lines.length && !startsItem(lines[index] ?? "", column) && look(index); index++);
  return found;
}

function startsItem(line: string, column: number): boolean {
  return line.trimStart().startsWith("- ") && /^\s*- /.exec(line)?.[0].length === column;
}

interface Level {
  /** Key whose value is open; null in a list or before a key. */
  key: string | null;
  readonly list: boolean;
  /** After `:` and before `,`. */
  value: boolean;
}

/** Context in JSON with comments, by brackets; undefined inside comments and lists. */
export function jsonContext(text: string, offset: number): TypingContext | undefined {
  const levels: Level[] = [];
  let index = 0;
  let wordStart = offset;
  let lastString = "";
  while (index < offset) {
    const char = text.charAt(index);
    const level = levels.at(-1);
    if (char === '"') {
      const end = stringEnd(text, index);
      if (end > offset || (end === offset && text.charAt(end - 1) !== '"')) {
        wordStart = index;
        break;
      }
      lastString = text.slice(index + 1, end - 1);
      index = end;
      continue;
    }
    if (char === "/" && text.charAt(index + 1) === "/") {
      const end = text.indexOf("\n", index);
      if (end < 0 || end >= offset) return undefined;
      index = end;
    } else if (char === "{" || char === "[") levels.push({ key: null, list: char === "[", value: false });
    else if (char === "}" || char === "]") levels.pop();
    else if (char === ":" && level !== undefined) {
      level.key = lastString;
      level.value = true;
    } else if (char === "," && level !== undefined) level.value = false;
    index++;
  }
  if (wordStart === offset) wordStart = offset - ending(text.slice(0, offset), /[\w.-]/).length;
  const inner = levels.at(-1);
  if (inner === undefined || inner.list) return undefined;
  const path = levels.flatMap((level) => (level.value && level.key !== null ? [level.key] : []));
  const closing = text.charAt(offset) === '"' && text.charAt(wordStart) === '"' ? 1 : 0;
  return { kind: inner.value ? "value" : "key", path, word: { start: wordStart, end: offset + closing } };
}

/** Offset after a string that starts at `start`; the end of its line when it is not closed. */
function stringEnd(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const char = text.charAt(index);
    if (char === "\\") index++;
    else if (char === '"') return index + 1;
    else if (char === "\n") return index;
  }
  return text.length;
}
