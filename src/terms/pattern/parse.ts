/**
 * Python's regular expressions as a tree. Source: Lib/re/_parser.py of CPython 3.11, whose messages the errors quote.
 * What decides only *how* a text matches (groups' names, greed) is read and dropped: whether it matches is all that is
 * asked.
 */
import { table } from "../table";

export type Look = "ahead" | "behind";
export type Edge = "start" | "end" | "last-line-end" | "line-start" | "line-end" | "word" | "not-word";

export type Pattern =
  | { readonly kind: "char"; readonly fits: (char: string) => boolean }
  | { readonly kind: "edge"; readonly at: Edge }
  | { readonly kind: "all"; readonly items: readonly Pattern[] }
  | { readonly kind: "any"; readonly items: readonly Pattern[] }
  | { readonly kind: "repeat"; readonly item: Pattern; readonly least: number; readonly most: number }
  | { readonly kind: "look"; readonly way: Look; readonly negative: boolean; readonly item: Pattern };

/** Why a pattern is not matched: Python takes it for an error, or it is beyond what is matched in linear time. */
export class PatternError extends Error {
  constructor(
    readonly kind: "invalid" | "unsupported",
    message: string,
  ) {
    super(message);
  }
}

/** Longer patterns are no one's; characters. */
const LONGEST = 5000;

/** Groups inside groups. */
const DEEPEST = 100;

interface Flags {
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly dotAll: boolean;
  readonly ascii: boolean;
}

const PLAIN: Flags = { ignoreCase: false, multiline: false, dotAll: false, ascii: false };

const FLAG_NAMES: Readonly<Partial<Record<string, keyof Flags>>> = table({
  i: "ignoreCase",
  m: "multiline",
  s: "dotAll",
  a: "ascii",
});

type Test = (char: string) => boolean;

const isDigit: Test = (char) => char >= "0" && char <= "9";

/** `str.isspace`: JavaScript's, the separators of ASCII and NEL, without the byte-order mark. */
const isSpace: Test = (char) => (/\s/.test(char) && char !== "\ufeff") || "\x1c\x1d\x1e\x1f\x85".includes(char);

/** Classes by their letter; the capital is the complement. */
function classOf(letter: string, { ascii }: Flags): Test | undefined {
  const digit: Test = ascii ? isDigit : (char) => /\p{Nd}/u.test(char);
  const word: Test = ascii ? (char) => /\w/.test(char) : isWord;
  const space: Test = ascii ? (char) => " \t\n\r\f\v".includes(char) : isSpace;
  const test = { d: digit, w: word, s: space }[letter.toLowerCase()];
  if (test === undefined) return undefined;
  return letter === letter.toLowerCase() ? test : (char) => !test(char);
}

/** Whether a character belongs to a word, as `\b` sees it. */
export const isWord: Test = (char) => (char < "\x80" ? /\w/.test(char) : /[\p{L}\p{N}]/u.test(char));

const CONTROL: Readonly<Partial<Record<string, string>>> = table({
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
});

const EDGES: Readonly<Partial<Record<string, Edge>>> = table({ A: "start", Z: "end", b: "word", B: "not-word" });

function invalid(message: string): PatternError {
  return new PatternError("invalid", message);
}

function unsupported(message: string): PatternError {
  return new PatternError("unsupported", message);
}

function folded(test: Test, { ignoreCase }: Flags): Test {
  return ignoreCase ? (char) => test(char) || test(char.toLowerCase()) || test(char.toUpperCase()) : test;
}

class Reader {
  private at = 0;
  private depth = 0;
  private readonly chars: readonly string[];

  constructor(pattern: string) {
    this.chars = [...pattern];
  }

  read(): Pattern {
    const flags = this.globalFlags(PLAIN);
    const found = this.alternatives(flags);
    if (this.at < this.chars.length) throw invalid("unbalanced parenthesis");
    return found;
  }

  private get next(): string {
    return this.chars[this.at] ?? "";
  }

  private take(): string {
    return this.chars[this.at++] ?? "";
  }

  private skip(text: string): boolean {
    if (![...text].every((char, index) => this.chars[this.at + index] === char)) return false;
    this.at += [...text].length;
    return true;
  }

  /** Text up to a character, which is taken, too. */
  private until(end: string, missing: string): string {
    const close = this.chars.indexOf(end, this.at);
    if (close < 0) throw invalid(missing);
    const text = this.chars.slice(this.at, close).join("");
    this.at = close + 1;
    return text;
  }

  /** `(?i)` at the very start holds for everything. */
  private globalFlags(flags: Flags): Flags {
    const start = this.at;
    if (!this.skip("(?")) return flags;
    const letters = this.letters();
    if (letters === "" || !this.skip(")")) {
      this.at = start;
      return flags;
    }
    return this.globalFlags(this.withFlags(flags, letters, true));
  }

  private letters(): string {
    let letters = "";
    while (/^[a-zA-Z]$/.test(this.next) && this.next !== "P") letters += this.take();
    return letters;
  }

  private withFlags(flags: Flags, letters: string, on: boolean): Flags {
    let changed = flags;
    for (const letter of letters) {
      if (letter === "u") continue;
      if (letter === "x") throw unsupported("the flag x");
      const name = FLAG_NAMES[letter];
      if (name === undefined) throw invalid("unknown flag");
      changed = { ...changed, [name]: on };
    }
    return changed;
  }

  private alternatives(flags: Flags): Pattern {
    if (++this.depth > DEEPEST) throw unsupported("groups nested too deep");
    const items = [this.sequence(flags)];
    while (this.skip("|")) items.push(this.sequence(flags));
    this.depth -= 1;
    return items.length === 1 ? (items[0] as Pattern) : { kind: "any", items };
  }

  private sequence(flags: Flags): Pattern {
    const items: Pattern[] = [];
    while (this.at < this.chars.length && this.next !== "|" && this.next !== ")") {
      const item = this.item(flags);
      if (item !== undefined) items.push(this.repeated(item));
    }
    return { kind: "all", items };
  }

  private repeated(item: Pattern): Pattern {
    const times = this.times();
    if (times === undefined) return item;
    if (item.kind === "edge") throw invalid("nothing to repeat");
    if (times.most < times.least) throw invalid("min repeat greater than max repeat");
    // A lazy repeat matches the same texts; a possessive one may not.
    if (!this.skip("?") && this.skip("+")) throw unsupported("a possessive repeat");
    if (this.times() !== undefined) throw invalid("multiple repeat");
    return { kind: "repeat", item, ...times };
  }

  private times(): { readonly least: number; readonly most: number } | undefined {
    if (this.skip("*")) return { least: 0, most: Number.POSITIVE_INFINITY };
    if (this.skip("+")) return { least: 1, most: Number.POSITIVE_INFINITY };
    if (this.skip("?")) return { least: 0, most: 1 };
    if (this.next !== "{") return undefined;
    const text = this.chars.slice(this.at, this.at + 24).join("");
    const match = /^\{(\d{0,10})(,?)(\d{0,10})\}/.exec(text);
    // Braces that hold no numbers are text.
    if (match === null || match[0] === "{}") return undefined;
    this.at += match[0].length;
    const [, from = "", comma = "", to = ""] = match;
    const least = from === "" ? 0 : Number(from);
    return { least, most: comma === "" ? least : to === "" ? Number.POSITIVE_INFINITY : Number(to) };
  }

  /** One item, without what repeats it; undefined for a comment. */
  private item(flags: Flags): Pattern | undefined {
    const char = this.take();
    switch (char) {
      case ".":
        return { kind: "char", fits: flags.dotAll ? () => true : (one) => one !== "\n" };
      case "^":
        return { kind: "edge", at: flags.multiline ? "line-start" : "start" };
      case "$":
        return { kind: "edge", at: flags.multiline ? "line-end" : "last-line-end" };
      case "(":
        return this.group(flags);
      case "[":
        return { kind: "char", fits: folded(this.set(flags), flags) };
      case "\\":
        return this.escape(flags);
      case "*":
      case "+":
      case "?":
        throw invalid("nothing to repeat");
      default:
        return literal(char, flags);
    }
  }

  private escape(flags: Flags): Pattern {
    const char = this.take();
    if (char === "") throw invalid("bad escape (end of pattern)");
    const edge = EDGES[char];
    if (edge !== undefined) return { kind: "edge", at: edge };
    if (/^[1-9]$/.test(char)) throw unsupported("a reference to a group");
    const test = classOf(char, flags);
    return test === undefined ? literal(this.escaped(char), flags) : { kind: "char", fits: folded(test, flags) };
  }

  /** The character that an escape stands for, in a set or out of one. */
  private escaped(char: string): string {
    const digits = { x: 2, u: 4, U: 8 }[char];
    if (digits !== undefined) {
      const code = this.chars.slice(this.at, this.at + digits).join("");
      if (!new RegExp(`^[0-9a-fA-F]{${digits}}$`).test(code) || Number.parseInt(code, 16) > 0x10ffff)
        throw invalid("incomplete escape");
      this.at += digits;
      return String.fromCodePoint(Number.parseInt(code, 16));
    }
    if (/^[0-7]$/.test(char)) {
      let code = char;
      while (code.length < 3 && /^[0-7]$/.test(this.next)) code += this.take();
      return String.fromCodePoint(Number.parseInt(code, 8));
    }
    if (char === "N") throw unsupported("a character by its name");
    const control = CONTROL[char];
    if (control !== undefined) return control;
    if (/^[a-zA-Z]$/.test(char)) throw invalid("bad escape");
    return char;
  }

  private set(flags: Flags): Test {
    const negative = this.skip("^");
    const tests: Test[] = [];
    for (let first = true; first || this.next !== "]"; first = false) {
      if (this.at >= this.chars.length) throw invalid("unterminated character set");
      const from = this.member(flags);
      if (this.next !== "-" || this.chars[this.at + 1] === "]") {
        tests.push(typeof from === "string" ? (char) => char === from : from);
        continue;
      }
      this.take();
      if (this.at >= this.chars.length) throw invalid("unterminated character set");
      const to = this.member(flags);
      const low = typeof from === "string" ? from.codePointAt(0) : undefined;
      const high = typeof to === "string" ? to.codePointAt(0) : undefined;
      if (low === undefined || high === undefined || high < low) throw invalid("bad character range");
      tests.push((char) => {
        const code = char.codePointAt(0) ?? -1;
        return low <= code && code <= high;
      });
    }
    this.take();
    return negative ? (char) => !tests.some((test) => test(char)) : (char) => tests.some((test) => test(char));
  }

  private member(flags: Flags): string | Test {
    const char = this.take();
    if (char !== "\\") return char;
    const letter = this.take();
    if (letter === "") throw invalid("unterminated character set");
    return classOf(letter, flags) ?? this.escaped(letter);
  }

  private group(flags: Flags): Pattern | undefined {
    if (!this.skip("?")) return this.closed(flags);
    if (this.skip("#")) {
      this.until(")", "missing ), unterminated comment");
      return undefined;
    }
    if (this.skip("P<")) {
      const name = this.until(">", "missing >, unterminated name");
      if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name)) throw invalid("bad character in group name");
      return this.closed(flags);
    }
    if (this.skip("P=") || this.skip("(")) throw unsupported("a reference to a group");
    if (this.skip(">")) throw unsupported("an atomic group");
    for (const [mark, way, negative] of LOOKS) {
      if (this.skip(mark)) return { kind: "look", way, negative, item: this.closed(flags) };
    }
    const on = this.letters();
    const off = this.skip("-") ? this.letters() : undefined;
    if (!this.skip(":")) throw invalid(on === "" ? "unknown extension" : "global flags not at the start");
    return this.closed(this.withFlags(this.withFlags(flags, on, true), off ?? "", false));
  }

  private closed(flags: Flags): Pattern {
    const item = this.alternatives(flags);
    if (!this.skip(")")) throw invalid("missing ), unterminated subpattern");
    // A group stands as one item: what is repeated is never an edge alone.
    return { kind: "all", items: [item] };
  }
}

const LOOKS: readonly (readonly [mark: string, way: Look, negative: boolean])[] = [
  ["=", "ahead", false],
  ["!", "ahead", true],
  ["<=", "behind", false],
  ["<!", "behind", true],
];

function literal(char: string, flags: Flags): Pattern {
  return { kind: "char", fits: folded((one) => one === char, flags) };
}

/** Reads a pattern; throws a {@link PatternError}. */
export function parsePattern(pattern: string): Pattern {
  if (pattern.length > LONGEST) throw unsupported("a pattern this long");
  return new Reader(pattern).read();
}
