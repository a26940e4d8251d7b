/**
 * The variables a script sets, and what words become with them: expansion as bash does it, as far as the script itself
 * tells the values.
 */
import { type Message, say } from "../../words/message";
import type { Span } from "../tree";
import { calculate } from "./arithmetic";
import { apartByBlanks, concatenate, type Field, FieldBuilder } from "./fields";
import type { Piece, Token, Word } from "./tokens";

export type Variable =
  | { readonly kind: "text"; readonly field: Field }
  | { readonly kind: "array"; readonly fields: readonly Field[] }
  | { readonly kind: "unknown"; readonly reason: Message };

const SCRIPT_ARGUMENT = say("open.argument");
const MAX_FIELDS = 20_000;
/** Characters that all words of a script become. */
const MAX_CHARACTERS = 1024 * 1024;

/** What is known of a script's variables at the place that is being read. */
export class Variables {
  private readonly known = new Map<string, Variable>();
  private fields = 0;
  private characters = 0;

  get(name: string): Variable | undefined {
    return this.known.get(name);
  }

  set(name: string, value: Variable): void {
    this.known.set(name, value);
  }

  entries(): Iterable<[string, Variable]> {
    return this.known;
  }

  /** Name and value of `NAME=value`, `NAME+=value` or `NAME=(…)`; null for any other word. */
  assignment(token: Token): [string, Variable] | null {
    if (token.kind === "array") {
      const items = token.items.flatMap((word) => this.expand(word));
      const before = token.append ? this.known.get(token.name) : undefined;
      const fields =
        before?.kind === "array"
          ? [...before.fields, ...items].slice(0, MAX_FIELDS)
          : before?.kind === "text"
            ? [before.field, ...items]
            : items;
      return [token.name, { kind: "array", fields }];
    }
    if (token.kind !== "word") return null;
    const first = token.word.pieces[0];
    if (first?.kind !== "text" || first.quoted) return null;
    const match = /^([A-Za-z_]\w*)(\+?)=/.exec(first.text);
    if (match === null) return null;
    const [whole, name = "", append = ""] = match;
    const rest: Piece = { ...first, text: first.text.slice(whole.length), offsets: first.offsets.slice(whole.length) };
    const start = first.offsets[whole.length] ?? token.word.start + whole.length;
    const value = this.joined({ pieces: [rest, ...token.word.pieces.slice(1)], start, end: token.word.end });
    const nameSpan: Span = { start: token.word.start, end: token.word.start + name.length };
    const before = append === "+" ? this.known.get(name) : undefined;
    return [
      name,
      {
        kind: "text",
        field: before?.kind === "text" ? this.appended(before.field, value) : { ...value, name: nameSpan },
      },
    ];
  }

  /** A value with another behind it. */
  appended(before: Field, value: Field): Field {
    this.characters += before.text.length;
    return this.characters > MAX_CHARACTERS
      ? { ...before, unknown: before.unknown ?? say("open.large") }
      : concatenate(before, value);
  }

  /** Sets a variable; `uncertain`: under a condition that the script does not decide. */
  assign(name: string, value: Variable, uncertain: boolean): void {
    const before = this.known.get(name);
    const same = before?.kind === "text" && value.kind === "text" && before.field.text === value.field.text;
    if (uncertain && same && before.kind === "text") {
      // Written in several branches: there is no single place to change.
      this.known.set(name, {
        kind: "text",
        field: { ...before.field, offsets: before.field.offsets.map(() => -1) },
      });
      return;
    }
    // `MODEL=x` before a loop over the script's arguments is what holds without them.
    const given = value.kind === "text" && value.field.unknown === SCRIPT_ARGUMENT;
    if (uncertain && given && before?.kind === "text" && before.field.unknown === null) {
      this.known.set(name, { kind: "text", field: { ...before.field, standard: name } });
      return;
    }
    // The other way round: what a script's argument left open is given (`if [ -z "$MODEL" ]; then MODEL=x; fi`).
    const open = before?.kind === "text" && before.field.unknown === SCRIPT_ARGUMENT;
    if (uncertain && open && value.kind === "text" && value.field.unknown === null) {
      this.known.set(name, { kind: "text", field: { ...value.field, standard: name } });
      return;
    }
    const conditional = uncertain && before !== undefined && value.kind !== "array" && !same;
    this.known.set(name, conditional ? { kind: "unknown", reason: say("open.depends", { name }) } : value);
  }

  /** The word's text as one field (assignments and quotes do not split). */
  joined(word: Word): Field {
    const quoted = word.pieces.map((piece): Piece => ({ ...piece, quoted: true }));
    const fields = this.expand({ ...word, pieces: quoted });
    const [first, ...others] = fields;
    if (first === undefined) return { text: "", offsets: [], unknown: null, start: word.start, end: word.end };
    return others.length === 0 ? first : apartByBlanks(first, others);
  }

  /** The fields a word becomes. */
  expand(word: Word): Field[] {
    if (this.isRest(word)) return [];
    const builder = new FieldBuilder(word);
    for (const piece of word.pieces) {
      if (this.fields > MAX_FIELDS || this.characters + builder.size > MAX_CHARACTERS) return [];
      this.expandPiece(piece, builder, 0);
    }
    const fields = builder.finish();
    this.fields += fields.length;
    for (const { text } of fields) this.characters += text.length;
    return this.fields > MAX_FIELDS || this.characters > MAX_CHARACTERS ? [] : fields;
  }

  /** Whether a word is all of the script's arguments (`"$@"`), of which nothing is known: without any it is no word. */
  private isRest({ pieces }: Word): boolean {
    const isAll = (piece: Piece): boolean =>
      piece.kind === "variable" && piece.name === "@" && !this.known.has(piece.name);
    return pieces.some(isAll) && pieces.every((piece) => isAll(piece) || (piece.kind === "text" && piece.text === ""));
  }

  private expandPiece(piece: Piece, builder: FieldBuilder, depth: number): void {
    if (piece.kind === "text") {
      builder.text(piece.text, piece.offsets);
      return;
    }
    if (piece.kind === "unknown") {
      builder.unknown(piece.raw, piece.reason);
      return;
    }
    if (piece.kind === "arithmetic") {
      const value = this.arithmetic(piece.expression);
      if (value === null) builder.unknown(piece.raw, say("open.arithmetic"));
      else builder.computed(String(value));
      return;
    }
    this.expandVariable(piece, builder, depth);
  }

  private expandVariable(piece: Piece & { kind: "variable" }, builder: FieldBuilder, depth: number): void {
    const variable = depth > 20 ? undefined : this.known.get(piece.name);
    const empty = variable?.kind === "text" && variable.field.text === "" && piece.operator.startsWith(":");
    // An argument of the script that is not given is empty, too (`MODEL=$2`, then `${MODEL:-name}`).
    const given = variable?.kind === "text" && variable.field.unknown === SCRIPT_ARGUMENT;
    const missing = given && piece.operator.startsWith(":") && piece.fallback !== null;
    if (variable === undefined || empty || missing) {
      if (piece.fallback !== null)
        for (const inner of piece.fallback.pieces)
          this.expandPiece({ ...inner, quoted: piece.quoted || inner.quoted }, builder, depth + 1);
      else if (/^[@*]$/.test(piece.name)) return;
      else
        builder.unknown(
          piece.raw,
          /^\d$/.test(piece.name) ? SCRIPT_ARGUMENT : say("open.outside", { name: piece.name }),
        );
      return;
    }
    if (variable.kind === "unknown") {
      builder.unknown(piece.raw, variable.reason);
      return;
    }
    if (variable.kind === "array") {
      const fields = piece.all || piece.quoted ? variable.fields : variable.fields.slice(0, 1);
      fields.forEach((field, index) => {
        if (index > 0) builder.split();
        // Without quotes around them, elements are split at their blanks (bash's manual, Word Splitting).
        const whole = piece.quoted || !/\s/.test(field.text);
        if (builder.standsAlone && whole) builder.whole(field);
        else if (whole && field.unknown !== null) builder.field(field);
        else if (piece.quoted) builder.field(field);
        else builder.splitting(field);
      });
      return;
    }
    if (piece.quoted) builder.field(variable.field);
    else builder.splitting(variable.field);
  }

  /** Value of `$((…))` when every name in it is a known number. */
  private arithmetic(expression: string): number | null {
    let known = true;
    const numbers = expression.replace(
      /\$?\{?([A-Za-z_]\w*)(?::-([^}]*))?\}?/g,
      (_, name: string, fallback: string | undefined) => {
        const variable = this.known.get(name);
        const text = variable?.kind === "text" && variable.field.unknown === null ? variable.field.text : fallback;
        if (text === undefined || !/^-?\d+$/.test(text.trim())) known = false;
        return text ?? "";
      },
    );
    return known ? calculate(numbers) : null;
  }
}
