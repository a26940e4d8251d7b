/** Taking a key out of a document with its value, whatever its syntax; comments, order and layout of the rest stay. */
import { say } from "../words/message";
import { type EditDialect, type EditOutcome, lineEnd, lineStart, one, ownEntries } from "./edit";
import type { Entry, MapNode, SpanEdit } from "./tree";

/** Removes one key with its value. */
export function removeEntry(text: string, parent: MapNode, entry: Entry, dialect: EditDialect): EditOutcome {
  if (dialect === "shell") return removeFlag(text, entry);
  const own = ownEntries(parent);
  const index = own.indexOf(entry);
  if (index < 0) return { refused: say("refused.elsewhere") };
  if (dialect === "toml" && text.charAt(parent.start) !== "{") return removeLines(text, entry);
  const flow = /[{(]/.test(text.charAt(parent.start)) && /[})]/.test(text.charAt(parent.end - 1));
  if (flow || dialect === "json") return removeBracketed(text, own, index, dialect);
  if (own.length === 1 && parent.start > 0) return { refused: say("refused.only-key") };
  const column = text.slice(lineStart(text, entry.keySpan.start), entry.keySpan.start);
  if (column.trim() === "") return removeLines(text, entry);
  const next = own[index + 1];
  return next === undefined ? { refused: say("refused.only-key") } : one(entry.keySpan.start, next.keySpan.start, "");
}

/** The lines from the key to the end of its value, line end included. */
function removeLines(text: string, entry: Entry): EditOutcome {
  const start = lineStart(text, entry.keySpan.start);
  const end = lineEnd(text, Math.max(entry.value.end, entry.keySpan.end));
  const next = text.indexOf("\n", end);
  if (next >= 0) return one(start, next + 1, "");
  return one(Math.max(0, start - (text.slice(0, start).endsWith("\r\n") ? 2 : start > 0 ? 1 : 0)), text.length, "");
}

function removeBracketed(text: string, own: readonly Entry[], index: number, dialect: EditDialect): EditOutcome {
  const entry = own[index] as Entry;
  const previous = own[index - 1];
  const next = own[index + 1];
  let start = entry.keySpan.start;
  let end = entry.value.end;
  const comma = commaAfter(text, end, next?.keySpan.start ?? text.length, dialect);
  const edits: SpanEdit[] = [];
  if (comma !== null) end = comma + 1;
  else if (next === undefined && previous !== undefined) {
    const before = commaAfter(text, previous.value.end, start, dialect);
    if (before !== null) edits.push({ start: before, end: before + 1, newText: "" });
  }
  const lead = text.slice(lineStart(text, start), start);
  const rest = text.slice(end, lineEnd(text, end));
  if (lead.trim() === "" && rest.trim() === "" && text.indexOf("\n", end) >= 0) {
    start -= lead.length;
    end = text.indexOf("\n", end) + 1;
  } else if (comma !== null) while (text.charAt(end) === " ") end++;
  else if (edits.length > 0 && edits[0]?.end !== undefined) {
    const gap = text.slice(edits[0].end, start);
    if (/^[ \t]*$/.test(gap)) start = edits[0].end;
  }
  edits.push({ start, end, newText: "" });
  return { edits };
}

/** Offset of the next comma outside of comments, or null when something else comes first. */
function commaAfter(text: string, from: number, limit: number, dialect: EditDialect): number | null {
  for (let at = from; at < Math.min(limit, text.length); at++) {
    const character = text.charAt(at);
    if (character === ",") return at;
    if (character === "#" && dialect !== "toml") at = lineEnd(text, at);
    else if (text.startsWith("//", at) && dialect === "json") at = lineEnd(text, at);
    else if (text.startsWith("/*", at) && dialect === "json") {
      const close = text.indexOf("*/", at);
      if (close < 0) return null;
      at = close + 1;
    } else if (!/\s/.test(character)) return null;
  }
  return null;
}

/** Characters of the backslash, the blanks before it and the line break that continue a line into the one at `line`. */
function continuation(text: string, line: number): number {
  const end = /\r?\n$/.exec(text.slice(Math.max(0, line - 2), line))?.[0].length ?? 0;
  if (end === 0 || text.charAt(line - end - 1) !== "\\") return 0;
  let from = line - end - 1;
  while (from > 0 && /[ \t]/.test(text.charAt(from - 1))) from--;
  return line - from;
}

function removeFlag(text: string, entry: Entry): EditOutcome {
  const start = entry.keySpan.start;
  const end = Math.max(entry.keySpan.end, entry.value.start >= entry.keySpan.end ? entry.value.end : entry.keySpan.end);
  const line = lineStart(text, start);
  const lead = text.slice(line, start);
  const rest = text.slice(end, lineEnd(text, end));
  if (lead.trim() === "" && /^[ \t]*\\?$/.test(rest)) {
    const previous = continuation(text, line);
    if (/\\$/.test(rest) || previous === 0) {
      const next = text.indexOf("\n", end);
      if (next >= 0) return one(line, next + 1, "");
    }
    if (previous > 0) return one(line - previous, end + rest.length, "");
  }
  let from = start;
  while (from > line && /[ \t]/.test(text.charAt(from - 1))) from--;
  return from === line ? one(start, end, "") : one(from, end, "");
}
