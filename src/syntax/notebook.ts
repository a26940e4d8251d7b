/**
 * Jupyter notebooks: the code cells as one Python module, with every place translated back into the JSON text.
 * Cell magics and shell escapes (`%pip`, `!accelerate launch`) are blanked there, since Python does not know them: shell
 * escapes and cells that a shell runs (`%%bash`) are a script of their own.
 */

import { say } from "../words/message";
import { parseJson } from "./json";
import { moved } from "./moved";
import { type GivenOptions, readModule, rootOf } from "./python";
import { readScript } from "./shell";
import { blank, MAX_LENGTH } from "./text";
import type { Entry, LocatedNode, ParsedDocument, PythonModule, ShellScript, Span, WrittenText } from "./tree";

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
  const module = readModule(withoutMagics(source));
  const python = moved(module, (at) => source.place(at));
  const shell = shellOf(source, module);
  return {
    root: rootOf(python, original.length),
    problems,
    syntax: "notebook",
    python,
    ...(shell === undefined ? {} : { shell }),
  };
}

/** A cell that is written to a file instead of being run; `-a` adds to one. */
const FILE_CELL = /^\s*%%writefile[ \t]+(?!-)(["']?)([^\s"']+)\1[ \t]*(?:\n|$)/;

/** Files that the cells of a notebook write, with their text; places are those of that text. */
export function notebookFiles(original: string): {
  readonly text: string;
  readonly place: (at: Span) => Span;
  readonly files: readonly WrittenText[];
} {
  const source = codeOf(original, parseJson(original, MAX_LENGTH.notebook).root);
  if (source === undefined || source.text.length > MAX_LENGTH.other) return { text: "", place: (at) => at, files: [] };
  const cells = source.cells.flatMap(({ start, end }): WrittenText[] => {
    const magic = FILE_CELL.exec(source.text.slice(start, end));
    return magic === null ? [] : [{ path: magic[2] ?? "", start: start + magic[0].length, end, literal: true }];
  });
  const scripts = scriptOf(source, [])?.written ?? [];
  return { text: source.text, place: (at) => source.place(at), files: [...cells, ...scripts] };
}

/** Cells that a shell runs whole. */
const SHELL_CELL = /^\s*%%(?:bash|sh|shell|script\s+(?:bash|sh)\b)[^\n]*/;
/** A line that a shell runs, with the lines it goes on in; `%pip` and its like run the command of their name. */
const SHELL_LINE = /^([ \t]*(?:!{1,2}|%(?=(?:pip|conda|mamba|uv)[ \t])))((?:[^\n]*\\\n)*[^\n]*)/gm;
const MOST_COMMANDS = 200;
/** A line that Python does not know, with the lines it goes on in. */
const MAGIC = /^([ \t]*)[%!?](?:[^\n]*\\\n)*[^\n]*/gm;
/** Python's statement that does nothing. */
const NOTHING = "pass";

/** A part of a text that stands where another of its length stood. */
interface Kept {
  readonly start: number;
  readonly content: string;
}

/** A text with other parts, which are given in their order. */
function withParts(text: string, parts: readonly Kept[]): string {
  let at = 0;
  const pieces = parts.flatMap(({ start, content }) => {
    const before = text.slice(at, start);
    at = start + content.length;
    return [before, content];
  });
  return pieces.join("") + text.slice(at);
}

/** What the shell is given, at the notebook's places; undefined when nothing is. */
function shellOf(source: PythonText, { assignments }: PythonModule): ShellScript | undefined {
  const script = scriptOf(source, assignments.entries);
  if (script === undefined) return undefined;
  const place = (at: Span): Span => source.place(at);
  return {
    commands: script.commands.map((command) => moved(command, place)),
    variables: moved(script.variables, place),
    directives: { ...script.directives, entries: [] },
  };
}

/** What the shell is given, at the places of the cells' text. Names of Python stand in it as `$name` and `{name}`. */
function scriptOf(source: PythonText, assigned: readonly Entry[]): ShellScript | undefined {
  const known = assigned.filter(({ key, value }) => /^\w+$/.test(key) && value.kind === "scalar");
  const blanked = source.text.replace(/[^\n]/g, " ");
  const kept: Kept[] = [];
  const keep = (start: number, content: string): void => {
    kept.push({ start, content });
  };
  for (const { start, end } of source.cells) {
    const cell = source.text.slice(start, end);
    const magic = SHELL_CELL.exec(cell);
    if (magic !== null) {
      keep(start + magic[0].length, cell.slice(magic[0].length));
      continue;
    }
    let count = 0;
    for (const { 1: mark = "", 2: content = "", index } of cell.matchAll(SHELL_LINE)) {
      if (++count > MOST_COMMANDS) break;
      // `{name}` is Python's value, as long as in a shell: one character less, which a blank stands for.
      const named = content.replace(/\{(\w+)\}/g, (all, name: string) =>
        known.some(({ key }) => key === name) ? `$${name}\u0000` : all,
      );
      keep(start + index + mark.length, named);
    }
  }
  const text = withParts(blanked, kept);
  return text === blanked ? undefined : readScript(text, known);
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

/**
 * A notebook read together with modules that it imports, and with values of its options.
 *
 * @param given values, whose places are behind those of everything else
 * @param together the Python of its cells with those modules behind it; undefined: the cells alone
 * @param first where they begin in that text; in what is returned they begin behind the notebook's own text
 */
export function notebookWith(original: string, given: GivenOptions, together?: string, first?: number): ParsedDocument {
  const source = codeOf(original, parseJson(original, MAX_LENGTH.notebook).root);
  const text = together ?? (source === undefined ? "" : withoutMagics(source));
  if (source === undefined || text.length > MAX_LENGTH.other) return { root: null, problems: [], syntax: "notebook" };
  const from = first ?? text.length + 1;
  const behind = original.length + 1 - from;
  const place = (at: Span): Span => {
    if (at.start < from) return source.place(at);
    return at.start > text.length ? at : { start: at.start + behind, end: at.end + behind };
  };
  const python = moved(readModule(text, given, first), place);
  return { root: rootOf(python, original.length), problems: [], syntax: "notebook", python };
}

/** The Python of a notebook's cells up to an offset of its text, and where a place of it stands in that text. */
export function notebookCode(
  original: string,
  offset: number,
): { readonly text: string; readonly offset: number; readonly place: (at: Span) => Span } | undefined {
  const source = codeOf(original, parseJson(original, MAX_LENGTH.notebook).root);
  if (source === undefined) return undefined;
  return { text: withoutMagics(source), offset: source.inner(offset), place: (at) => source.place(at) };
}

function child(node: LocatedNode | null | undefined, key: string): LocatedNode | undefined {
  return node?.kind === "map" ? node.entries.find((entry) => entry.key === key)?.value : undefined;
}

function withoutMagics({ text, cells }: PythonText): string {
  const shells = cells.flatMap(({ start, end }) => {
    const content = text.slice(start, end);
    return SHELL_CELL.test(content) ? [{ start, content: blank(content) }] : [];
  });
  const magics = [...text.matchAll(MAGIC)].map(({ 0: magic, 1: lead = "", index }) => ({
    start: index,
    content: statement(blank(magic), lead.length),
  }));
  return withParts(withParts(text, shells), magics);
}

/** A block that does nothing but call a magic is still a block. */
function statement(text: string, at: number): string {
  const free = " ".repeat(NOTHING.length);
  return text.startsWith(free, at) ? text.slice(0, at) + NOTHING + text.slice(at + NOTHING.length) : text;
}

/** Python text put together from JSON string literals, with the place of each character. */
class PythonText {
  text = "";
  /** Where each cell stands in the text. */
  readonly cells: Span[] = [];
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
    this.cells.push({ start: this.cells[this.cells.length - 1]?.end ?? 0, end: this.text.length + 1 });
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
