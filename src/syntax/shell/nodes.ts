/** What an argument or a variable of a script is worth, as a node of the tree. */
import type { LocatedNode, ScalarNode, Span } from "../tree";
import type { Field } from "./fields";

/** What argparse and friends make of an argument: numbers and booleans typed, the rest text. */
export function typed(text: string): ScalarNode["value"] {
  if (/^[-+]?\d+(?:_\d+)*$/.test(text) || /^[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?$/.test(text))
    return Number(text.replaceAll("_", ""));
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  if (/^(?:null|None)$/.test(text)) return null;
  return text;
}

/** Node of (a part of) a field: `at` is where it stands, `source` where its characters are written. */
export function nodeOf(
  field: Field,
  document: string,
  at: Span,
  from = 0,
): LocatedNode & { kind: "scalar" | "unknown" } {
  const span: Span = { start: at.start, end: Math.max(at.end, at.start) };
  const raw = document.slice(span.start, span.end);
  if (
    field.unknown !== null &&
    (from === 0 || field.text.slice(from).includes("$") || field.text.slice(from).includes("`"))
  ) {
    return { kind: "unknown", raw, text: field.text.slice(from), reason: field.unknown, ...span };
  }
  const value = typed(field.text.slice(from));
  const standard = field.standard === undefined ? {} : { standard: field.standard };
  const offsets = field.offsets.slice(from);
  const first = offsets[0];
  const last = offsets[offsets.length - 1];
  const contiguous = first !== undefined && last !== undefined && first >= 0 && last - first === offsets.length - 1;
  if (!contiguous) return { kind: "scalar", value, raw, ...standard, ...span };
  const quoted = raw.length >= 2 && /^(["'])[\s\S]*\1$/.test(raw) ? 1 : 0;
  if (first === span.start + quoted && last + 1 === span.end - quoted)
    return { kind: "scalar", value, raw, ...standard, ...span };
  return { kind: "scalar", value, raw, ...standard, source: { start: first, end: last + 1 }, ...span };
}
