/**
 * Jupyter notebooks: the code cells as one Python module, with every place translated back into the JSON text.
 * Cell magics and shell escapes (`%pip`, `!accelerate launch`) are blanked, since Python does not know them.
 */

import { say } from "../words/message";
import { parseJson } from "./json";
import { readModule, rootOf } from "./python";
import { blankSpan, MAX_LENGTH } from "./text";
import type { Entry, LocatedNode, MapNode, ParsedDocument, PythonModule, Span } from "./tree";

/** Reads a notebook. Never throws; offsets are those of `original`. */
export function parseNotebook(original: string): ParsedDocument {
  const json = parseJson(original, MAX_LENGTH.notebook);
  const problems = json.problems.filter(
    (problem) => problem.code !== "not-strict-json" && problem.code !== "duplicate-key",
  );
  const source = codeOf(original, json.root);
  if (source === undefined) return { root: null, problems, syntax: "notebook" };
  if (source.text.length > MAX_LENGTH.other)
    return {
      root: null,
      problems: [...problems, { code: "too-large", message: say("syntax.cells"), start: 0, end: 0 }],
      syntax: "notebook",
    };
  const module = readModule(withoutMagics(source.text));
  const python = movedModule(module, source);
  return { root: rootOf(python, original.length), problems, syntax: "notebook", python };
}

function codeOf(original: string, root: LocatedNode | null): PythonText | undefined {
  const cells = child(root, "cells");
  if (cells?.kind !== "list") return undefined;
  const source = new PythonText(original);
  for (const cell of cells.items) {
    const kind = child(cell, "cell_type");
    if (kind?.kind !== "scalar" || kind.value !== "code") continue;
    const lines = child(cell, "source");
    const parts = lines?.kind === "list" ? lines.items : lines === undefined ? [] : [lines];
    for (const part of parts)
      if (part.kind === "scalar" && typeof part.value === "string") source.add(part.start, part.end);
    source.endCell();
  }
  return source;
}

/** The Python of a notebook's cells up to an offset of its text, and where a place of it stands in that text. */
export function notebookCode(
  original: string,
  offset: number,
): { readonly text: string; readonly offset: number; readonly place: (at: Span) => Span } | undefined {
  const source = codeOf(original, parseJson(original, MAX_LENGTH.notebook).root);
  if (source === undefined) return undefined;
  return { text: withoutMagics(source.text), offset: source.inner(offset), place: (at) => source.place(at) };
}

function child(node: LocatedNode | null | undefined, key: string): LocatedNode | undefined {
  return node?.kind === "map" ? node.entries.find((entry) => entry.key === key)?.value : undefined;
}

function withoutMagics(text: string): string {
  let result = text;
  for (const match of text.matchAll(/^[ \t]*[%!?][^\n]*(?:\\\n[^\n]*)*/gm))
    result = blankSpan(result, match.index, match.index + match[0].length);
  return result;
}

/** Python text put together from JSON string literals, with the place of each character. */
class PythonText {
  text = "";
  private readonly offsets: number[] = [];

  constructor(private readonly original: string) {}

  /** Adds the decoded content of the string literal `[start, end)` (quotes included). */
  add(start: number, end: number): void {
    const parts: string[] = [];
    let position = start + 1;
    while (position < end - 1) {
      const character = this.original.charAt(position);
      const sequence = this.original.slice(position, Math.min(end, position + lengthAt(this.original, position)));
      parts.push(character === "\\" ? decode(sequence) : character);
      this.offsets.push(position);
      position += sequence.length;
    }
    this.text += parts.join("");
  }

  endCell(): void {
    this.offsets.push(this.offsets[this.offsets.length - 1] ?? 0);
    this.text += "\n";
  }

  place(at: Span): Span {
    const start = this.at(at.start);
    return { start, end: at.end > at.start ? this.at(at.end - 1) + this.width(at.end - 1) : start };
  }

  /** Index of the character at an offset of the notebook, or of the first behind it. */
  inner(offset: number): number {
    const found = this.offsets.findIndex((at) => at >= offset);
    return found < 0 ? this.text.length : found;
  }

  private at(index: number): number {
    return this.offsets[Math.min(index, this.offsets.length - 1)] ?? 0;
  }

  private width(index: number): number {
    return lengthAt(this.original, this.at(index));
  }
}

/** Characters that a character of a JSON string is written with; those of an escape, as many as its digits. */
function lengthAt(text: string, at: number): number {
  return /^(?:\\u[\da-f]{0,4}|\\.)/i.exec(text.slice(at, at + 6))?.[0].length ?? 1;
}

function decode(sequence: string): string {
  try {
    const value: unknown = JSON.parse(`"${sequence}"`);
    return typeof value === "string" && value.length === 1 ? value : "?";
  } catch {
    return "?";
  }
}

function movedModule(module: PythonModule, text: PythonText): PythonModule {
  return {
    calls: module.calls.map((call) => ({
      callee: call.callee,
      calleeSpan: text.place(call.calleeSpan),
      positional: call.positional.map((node) => moved(node, text)),
      keywords: moved(call.keywords, text) as MapNode,
      ...text.place(call),
    })),
    classes: module.classes.map((type) => ({
      name: type.name,
      bases: type.bases,
      fields: moved(type.fields, text) as MapNode,
      ...text.place(type),
    })),
    assignments: moved(module.assignments, text) as MapNode,
    imports: module.imports,
    options: moved(module.options, text) as MapNode,
  };
}

function moved(node: LocatedNode, text: PythonText): LocatedNode {
  const at = text.place(node);
  switch (node.kind) {
    case "scalar":
      return node.source === undefined ? { ...node, ...at } : { ...node, ...at, source: text.place(node.source) };
    case "unknown":
      return { ...node, ...at };
    case "list":
      return { ...node, ...at, items: node.items.map((item) => moved(item, text)) };
    case "map":
      return {
        ...node,
        ...at,
        entries: node.entries.map(
          (entry): Entry => ({ key: entry.key, keySpan: text.place(entry.keySpan), value: moved(entry.value, text) }),
        ),
      };
  }
}
