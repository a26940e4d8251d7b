/**
 * Minimal edits of lists: items that stay are left where they are with their comments, others are written over, added
 * after the last one in its layout, or taken out.
 */
import { say } from "../words/message";
import { type EditDialect, type EditOutcome, eolOf, indentOf, lineEnd, lineStart, setScalar } from "./edit";
import { spell, type Value } from "./spell";
import type { ListNode, LocatedNode, SpanEdit } from "./tree";

/** Writes a value over another one, of whatever kind both are. A text of several words names as many items. */
export function setValue(text: string, node: LocatedNode, value: Value, dialect: EditDialect): EditOutcome {
  if (node.kind !== "list") return setScalar(text, node, value, dialect);
  if (typeof value === "object" && value !== null) return setList(text, node, value, dialect);
  if (typeof value !== "string") return { refused: say("refused.list") };
  const words = value.split(/[\s,]+/);
  return words.length > 1 ? setList(text, node, words, dialect) : replaceList(text, node, value, dialect);
}

/** Makes a list hold `wanted`, in any order, by the fewest changes. */
function setList(text: string, node: ListNode, wanted: readonly string[], dialect: EditDialect): EditOutcome {
  const { items } = node;
  const current = items.map((item) => (item.kind === "scalar" ? String(item.value) : null));
  if (current.includes(null)) return { refused: say("refused.list-of-more") };
  // A tuple of one would be its item in brackets.
  if (wanted.length === 1 && text.charAt(node.start) === "(")
    return { edits: [{ start: node.start, end: node.end, newText: spell(wanted, dialect) }] };
  if (wanted.length === 0) return { refused: say("refused.empty-list") };
  const missing = wanted.filter((item) => !current.includes(item));
  const surplus = items.filter((_, k) => !wanted.includes(current[k] ?? ""));
  const edits: SpanEdit[] = [];
  for (const item of surplus.splice(0, Math.min(surplus.length, missing.length))) {
    const written = setScalar(text, item, missing.shift() ?? "", dialect);
    if ("refused" in written) return written;
    edits.push(...written.edits);
  }
  if (surplus.length > 0) edits.push(...removals(text, node, surplus, dialect));
  if (missing.length > 0) {
    const added = appended(text, node, missing, dialect);
    if ("refused" in added) return added;
    edits.push(...added.edits);
  }
  return { edits };
}

/** Replaces a whole list by one value. */
function replaceList(text: string, node: ListNode, value: string, dialect: EditDialect): EditOutcome {
  if (!isBlock(text, node, dialect))
    return { edits: [{ start: node.start, end: node.end, newText: spell(value, dialect) }] };
  const colon = text.lastIndexOf(":", node.start);
  if (colon < 0) return { refused: say("refused.list-alone") };
  const last = node.items.at(-1);
  return { edits: [{ start: colon + 1, end: last?.end ?? node.end, newText: ` ${spell(value, dialect)}` }] };
}

/** Whether a list is written as YAML's lines with dashes. */
function isBlock(text: string, node: ListNode, dialect: EditDialect): boolean {
  return (dialect === "pyyaml" || dialect === "omegaconf") && text.charAt(node.start) !== "[";
}

/** Whether a list is the words behind an option of a command. */
function isWords(text: string, node: ListNode, dialect: EditDialect): boolean {
  return dialect === "shell" && text.charAt(node.start) !== "[";
}

/** Start of the line after an offset. */
function nextLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end + 1;
}

function removals(text: string, node: ListNode, surplus: readonly LocatedNode[], dialect: EditDialect): SpanEdit[] {
  const { items } = node;
  if (isBlock(text, node, dialect))
    return surplus.map((item) => ({ start: lineStart(text, item.start), end: nextLine(text, item.end), newText: "" }));
  // What goes at the end goes with the commas before it, what goes elsewhere with those behind it.
  const kept = items.findLastIndex((item) => !surplus.includes(item));
  const edits = surplus
    .filter((item) => items.indexOf(item) < kept)
    .map((item) => ({ start: item.start, end: items[items.indexOf(item) + 1]?.start ?? item.end, newText: "" }));
  const [last, end] = [items[kept], items.at(-1)];
  if (last !== undefined && end !== undefined && last !== end)
    edits.push({ start: last.end, end: end.end, newText: "" });
  return edits;
}

function appended(text: string, node: ListNode, added: readonly string[], dialect: EditDialect): EditOutcome {
  const last = node.items.at(-1);
  if (last === undefined) {
    if (!/[[(]/.test(text.charAt(node.start))) return { refused: say("refused.no-item") };
    const inside = added.map((item) => spell(item, dialect)).join(", ");
    return { edits: [{ start: node.start + 1, end: node.end - 1, newText: inside }] };
  }
  const old = text.slice(last.start, last.end);
  const spelled = added.map((item) => spell(item, dialect, old));
  const eol = eolOf(text);
  const own = text.slice(lineStart(text, last.start), last.start);
  if (isBlock(text, node, dialect)) {
    const end = lineEnd(text, last.end);
    return { edits: [{ start: end, end, newText: spelled.map((item) => eol + own + item).join("") }] };
  }
  const ownLine = own.trim() === "" && node.items.length > 1;
  const glue = isWords(text, node, dialect) ? " " : ownLine ? `,${eol}${indentOf(text, last.start)}` : ", ";
  return { edits: [{ start: last.end, end: last.end, newText: spelled.map((item) => glue + item).join("") }] };
}
