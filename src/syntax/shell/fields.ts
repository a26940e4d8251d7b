/** Words of a command as expansion leaves them: text with the place of every character. */
import { type Message, say } from "../../words/message";
import { MAX_LENGTH } from "../text";
import type { Span } from "../tree";
import type { Piece, ShellSource, Word } from "./tokens";

/** Expanded text with the place of each character; `unknown` says why it is not complete. */
export interface Field extends Span {
  readonly text: string;
  readonly offsets: readonly number[];
  readonly unknown: Message | null;
  /** Where the variable's name is written, for the value of an assignment. */
  readonly name?: Span;
  /** A variable that the script's own arguments may set otherwise. */
  readonly standard?: string;
}

/** Characters of one field; variables that are put into one another grow no further. */
const LONGEST = MAX_LENGTH.other;

export class FieldBuilder {
  private readonly done: Field[] = [];
  private text_ = "";
  private offsets: number[] = [];
  private reason: Message | null = null;
  private standard: string | undefined;
  private open = false;
  private parts = 1;
  /** Characters and elements put into it so far. */
  size = 0;

  constructor(private readonly word: Word) {}

  /** The word is one expansion and nothing else. */
  get standsAlone(): boolean {
    return this.word.pieces.length === 1 && !this.open;
  }

  /** An element of an array stands where the array has it. */
  whole(field: Field): void {
    this.size += field.text.length + 1;
    this.done.push(field);
  }

  text(text: string, offsets: readonly number[]): void {
    this.open = true;
    this.size += text.length + 1;
    if (this.text_.length + text.length > LONGEST) {
      this.reason ??= say("open.large");
      return;
    }
    this.text_ += text;
    for (const offset of offsets) this.offsets.push(offset);
  }

  computed(text: string): void {
    this.open = true;
    this.text_ += text;
    for (let index = 0; index < text.length; index++) this.offsets.push(-1);
  }

  unknown(raw: string, reason: Message): void {
    this.computed(raw);
    this.reason ??= reason;
  }

  field(field: Field): void {
    this.text(field.text, field.offsets);
    this.reason ??= field.unknown;
    this.standard ??= field.standard;
  }

  /** Appends with word splitting at blanks, as an unquoted variable does. */
  splitting(field: Field): void {
    if (field.unknown !== null && !/\s/.test(withoutCommands(field.text))) {
      this.field(field);
      return;
    }
    // The output of a command is one unknown piece, whatever blanks its text has.
    const quotes = /(["'])(.*?)\1|(?:\$\([^()]*(?:\([^()]*\)[^()]*)*\)|`[^`]*`|[^\s"'])+|["']/g;
    this.parts = field.text.trim().search(/\s/) < 0 ? 1 : 2;
    let last = 0;
    this.standard ??= field.standard;
    for (const match of field.text.matchAll(quotes)) {
      const start = match.index;
      if (start > last && this.open) this.split();
      else if (start > last && last > 0) this.split();
      const inner = match[1] !== undefined && match[0].length >= 2 ? 1 : 0;
      this.text(
        field.text.slice(start + inner, start + match[0].length - inner),
        field.offsets.slice(start + inner, start + match[0].length - inner),
      );
      if (field.unknown !== null && match[0].includes("$")) this.reason ??= field.unknown;
      last = start + match[0].length;
    }
    if (last < field.text.length && this.open) this.split();
  }

  split(): void {
    if (this.open) {
      const inside = this.offsets.filter((offset) => offset >= 0);
      const standard = this.standard === undefined ? {} : { standard: this.standard };
      this.done.push({
        text: this.text_,
        offsets: this.offsets,
        unknown: this.reason,
        ...standard,
        ...this.place(inside),
      });
    }
    this.text_ = "";
    this.offsets = [];
    this.reason = null;
    this.standard = undefined;
    this.open = false;
  }

  finish(): Field[] {
    this.split();
    return this.done;
  }

  /** A field made of one run of characters elsewhere stands there; anything else stands at the word. */
  private place(offsets: readonly number[]): Span {
    const first = offsets[0];
    const last = offsets[offsets.length - 1];
    if (first === undefined || last === undefined) return { start: this.word.start, end: this.word.end };
    const contiguous = offsets.length === this.text_.length && last - first === offsets.length - 1;
    const inside = first >= this.word.start && last < this.word.end;
    if (inside || !contiguous) return { start: this.word.start, end: this.word.end };
    // A text of many words (`ARGS="--a 1 --b 2"`) is where its words are read; a single value is read at its use.
    return this.parts > 1 || /^-/.test(this.text_)
      ? { start: first, end: last + 1 }
      : { start: this.word.start, end: this.word.end };
  }
}

export function concatenate(a: Field, b: Field): Field {
  if (a.text.length + b.text.length > LONGEST) return { ...a, unknown: a.unknown ?? say("open.large") };
  return {
    text: a.text + b.text,
    offsets: [...a.offsets, ...b.offsets],
    unknown: a.unknown ?? b.unknown,
    start: a.start,
    end: Math.max(a.end, b.end),
  };
}

/** Fields as one, with a blank between each and the next. */
export function apartByBlanks(first: Field, others: readonly Field[]): Field {
  const all = [first, ...others];
  return {
    text: all.map(({ text }) => text).join(" "),
    offsets: all.flatMap(({ offsets }, index) => (index === 0 ? offsets : [-1, ...offsets])),
    unknown: all.find(({ unknown }) => unknown !== null)?.unknown ?? null,
    start: first.start,
    end: all.reduce((last, { end }) => Math.max(last, end), first.end),
  };
}

export function blankField(at: Span): Field {
  return { text: " ", offsets: [-1], unknown: null, start: at.start, end: at.end };
}

export function sourceOf(field: Field): ShellSource {
  return {
    text: field.text,
    at: (index) => Math.max(0, field.offsets[Math.min(index, field.offsets.length - 1)] ?? field.start),
  };
}

/** The word's text when it is fully literal. */
export function literal(word: Word): string | null {
  return word.pieces.every((piece) => piece.kind === "text")
    ? word.pieces.map((piece) => (piece.kind === "text" ? piece.text : "")).join("")
    : null;
}

/** The word as if it stood in double quotes: one field, never dropped. */
export function quotedWord(word: Word): Word {
  const pieces = word.pieces.map((piece): Piece => ({ ...piece, quoted: true }));
  return { ...word, pieces: pieces.length > 0 ? pieces : [] };
}

export function spanOf(field: Span): Span {
  return { start: field.start, end: field.end };
}

/** A text without what commands in it stand for: from the first beginning of one to the last end, line by line. */
function withoutCommands(text: string): string {
  return text
    .split("\n")
    .map((line) => between(between(line, "$(", ")"), "`", "`"))
    .join("\n");
}

function between(line: string, open: string, close: string): string {
  const from = line.indexOf(open);
  const to = line.lastIndexOf(close);
  return from < 0 || to <= from ? line : line.slice(0, from) + line.slice(to + close.length);
}
