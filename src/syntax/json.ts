/**
 * JSON as its readers take it: strict JSON, JSON with comments and trailing commas, and HJSON (what DeepSpeed itself
 * parses with). One tolerant reader gives the tree; what only HJSON accepts is reported as `not-strict-json`, what
 * nobody accepts as `syntax`, so that a format can grade it by who opens the file.
 *
 * HJSON rules follow hjson-py: an unquoted value is a literal or a number only when nothing but a comment, a comma
 * or a closing bracket follows it on its line; otherwise it is a string to the end of the line.
 */

import { table } from "../terms/table";
import { type Message, say } from "../words/message";
import { MAX_DEPTH, MAX_LENGTH, prepareText } from "./text";
import type { Entry, ListNode, LocatedNode, MapNode, ParsedDocument, Span, SyntaxProblem } from "./tree";

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const PLAIN_TEXT: Readonly<Record<string, RegExp>> = table({ '"': /[^"\\\r\n]*/y, "'": /[^'\\\r\n]*/y });
const PUNCTUATION = new Set(["{", "}", "[", "]", ",", ":"]);
const ESCAPES: Readonly<Record<string, string>> = table({ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" });

/** Reads JSON or HJSON. Never throws; offsets are those of `original`. */
export function parseJson(original: string, limit: number = MAX_LENGTH.json): ParsedDocument {
  const prepared = prepareText(original, limit);
  if (prepared.tooLarge) return { root: null, problems: prepared.problems, syntax: "json" };
  const reader = new JsonReader(prepared.text);
  const root = reader.document();
  return { root, problems: [...prepared.problems, ...reader.problems], syntax: "json" };
}

class JsonReader {
  readonly problems: SyntaxProblem[] = [];
  private position = 0;
  private stopped = false;
  /** The line break last looked for, and from where. */
  private line = { from: 0, end: -1 };

  constructor(private readonly text: string) {}

  document(): LocatedNode | null {
    this.skipBlank();
    if (this.atEnd()) return null;
    const start = this.position;
    let root: LocatedNode | null;
    if (this.peek() === "{" || this.peek() === "[") root = this.value(0);
    else if (this.looksLikeMember()) root = this.bareRoot(start);
    else root = this.value(0);
    this.skipBlank();
    if (!this.atEnd()) this.report("syntax", say("syntax.trailing"), this.position, this.lineEnd());
    return root;
  }

  /** HJSON allows the outer braces to be left out. */
  private bareRoot(start: number): MapNode {
    this.report("not-strict-json", say("syntax.opening-brace"), start, start + 1);
    const entries = this.members(0, false);
    return { kind: "map", entries, start, end: this.position };
  }

  private value(depth: number): LocatedNode | null {
    const start = this.position;
    if (depth > MAX_DEPTH) {
      this.report("too-deep", say("syntax.deep-rest", { depth: MAX_DEPTH }), start, start + 1);
      this.stop();
      return null;
    }
    const character = this.peek();
    if (character === "{") {
      this.position++;
      const entries = this.members(depth + 1, true);
      return { kind: "map", entries, start, end: this.position };
    }
    if (character === "[") return this.list(depth + 1);
    if (character === '"' || character === "'") return this.quoted();
    if (character === "" || PUNCTUATION.has(character)) {
      this.report("syntax", say("syntax.value-here"), start, Math.min(start + 1, this.text.length));
      return null;
    }
    return this.unquoted();
  }

  private members(depth: number, braced: boolean): Entry[] {
    const entries: Entry[] = [];
    const seen = new Map<string, Span>();
    const open = this.position - 1;
    while (true) {
      this.skipBlank();
      if (this.atEnd()) {
        if (braced && !this.stopped) this.report("syntax", say("syntax.this-brace"), open, open + 1);
        return entries;
      }
      const character = this.peek();
      if (character === "}") {
        if (braced) this.position++;
        return entries;
      }
      if (character === "," || character === "]" || character === "[" || character === "{" || character === ":") {
        this.report("syntax", say("syntax.unexpected", { character }), this.position, this.position + 1);
        this.position++;
        continue;
      }
      const entry = this.member(depth);
      if (entry !== null) {
        const first = seen.get(entry.key);
        if (first !== undefined) {
          const message = say("syntax.duplicate", { key: entry.key });
          this.report("duplicate-key", message, entry.keySpan.start, entry.keySpan.end);
        }
        seen.set(entry.key, entry.keySpan);
        entries.push(entry);
      }
      this.separator("}");
    }
  }

  private member(depth: number): Entry | null {
    const keyStart = this.position;
    const key = this.key();
    const keySpan: Span = { start: keyStart, end: this.position };
    const afterKey = this.position;
    this.skipBlank();
    if (this.peek() !== ":") {
      this.report("syntax", say("syntax.colon"), keySpan.start, Math.max(keySpan.end, keyStart + 1));
      this.position = afterKey;
      this.recover();
      return null;
    }
    this.position++;
    const afterColon = this.position;
    this.skipBlank();
    if (this.text.slice(afterColon, this.position).includes("\n") && this.looksLikeMember()) {
      this.report("syntax", say("syntax.no-value", { key }), keySpan.start, keySpan.end);
      return {
        key,
        keySpan,
        value: { kind: "unknown", raw: "", reason: say("open.no-value"), start: afterColon, end: afterColon },
      };
    }
    const value = this.value(depth);
    if (value === null)
      return {
        key,
        keySpan,
        value: { kind: "unknown", raw: "", reason: say("open.no-value"), start: afterColon, end: afterColon },
      };
    return { key, keySpan, value };
  }

  private key(): string {
    const character = this.peek();
    if (character === '"' || character === "'") {
      const node = this.quoted();
      return String(node.kind === "scalar" ? node.value : "");
    }
    const start = this.position;
    while (!this.atEnd() && !/[\s,:[\]{}"']/.test(this.peek())) this.position++;
    if (this.position === start) this.position++;
    this.report(
      "not-strict-json",
      say("syntax.strict-key"),
      start,
      this.position,
      `"${this.text.slice(start, this.position)}"`,
    );
    return this.text.slice(start, this.position);
  }

  private list(depth: number): ListNode {
    const start = this.position;
    this.position++;
    const items: LocatedNode[] = [];
    while (true) {
      this.skipBlank();
      if (this.atEnd()) {
        if (!this.stopped) this.report("syntax", say("syntax.this-bracket"), start, start + 1);
        break;
      }
      if (this.peek() === "]") {
        this.position++;
        break;
      }
      if (this.peek() === "}") {
        this.report("syntax", say("syntax.this-bracket"), start, start + 1);
        break;
      }
      const before = this.position;
      const item = this.value(depth);
      if (item !== null) items.push(item);
      if (this.position === before) this.position++;
      this.separator("]");
    }
    return { kind: "list", items, start, end: this.position };
  }

  /** After a member or an item: a comma, or (HJSON) none; reports trailing and missing commas. */
  private separator(close: string): void {
    const end = this.position;
    this.skipBlank();
    if (this.atEnd()) return;
    if (this.peek() === ",") {
      const comma = this.position;
      this.position++;
      this.skipBlank();
      if (this.peek() === close) this.report("not-strict-json", say("syntax.strict-comma"), comma, comma + 1, "");
      return;
    }
    if (this.peek() === "}" || this.peek() === "]") return;
    this.report("not-strict-json", say("syntax.comma"), Math.max(0, end - 1), end, `${this.text.slice(end - 1, end)},`);
  }

  private quoted(): LocatedNode {
    const start = this.position;
    const quote = this.peek();
    if (this.text.startsWith("'''", start)) return this.multiLine();
    if (quote === "'") this.report("not-strict-json", say("syntax.strict-quotes"), start, start + 1);
    this.position++;
    let value = "";
    while (true) {
      const plain = PLAIN_TEXT[quote] as RegExp;
      plain.lastIndex = this.position;
      const run = plain.exec(this.text)?.[0] ?? "";
      value += run;
      this.position += run.length;
      const character = this.peek();
      if (character === quote) {
        this.position++;
        break;
      }
      if (character === "\\") {
        value += this.escape();
        continue;
      }
      this.report("syntax", say("syntax.quote"), start, this.position);
      break;
    }
    return { kind: "scalar", value, raw: this.text.slice(start, this.position), start, end: this.position };
  }

  private escape(): string {
    const next = this.text.charAt(this.position + 1);
    if (next === "u") {
      const hex = this.text.slice(this.position + 2, this.position + 6);
      if (/^[0-9a-fA-F]{4}$/.test(hex)) {
        this.position += 6;
        return String.fromCharCode(Number.parseInt(hex, 16));
      }
    }
    const known = ESCAPES[next] ?? (next === '"' || next === "\\" || next === "/" || next === "'" ? next : undefined);
    if (known === undefined) {
      this.report("syntax", say("syntax.escape"), this.position, this.position + 1);
      this.position++;
      return "\\";
    }
    this.position = Math.min(this.position + 2, this.text.length);
    return known;
  }

  private multiLine(): LocatedNode {
    const start = this.position;
    this.report("not-strict-json", say("syntax.strict-triple"), start, start + 3);
    const close = this.text.indexOf("'''", start + 3);
    if (close < 0) this.report("syntax", say("syntax.triple"), start, start + 3);
    const end = close < 0 ? this.text.length : close;
    const value = this.text.slice(start + 3, end).trim();
    this.position = close < 0 ? end : close + 3;
    return { kind: "scalar", value, raw: this.text.slice(start, this.position), start, end: this.position };
  }

  private unquoted(): LocatedNode {
    const start = this.position;
    const lineEnd = this.lineEnd();
    const literal = this.literalAt(start, lineEnd);
    if (literal !== undefined) {
      this.position = literal.end;
      return {
        kind: "scalar",
        value: literal.value,
        raw: this.text.slice(start, literal.end),
        start,
        end: literal.end,
      };
    }
    const line = this.text.slice(start, lineEnd);
    const swallowed = beforeClosing(line);
    const content = (swallowed ?? line).trimEnd();
    const end = start + Math.max(content.length, 1);
    this.position = end;
    if (swallowed !== undefined) {
      this.report("syntax", say("syntax.swallowed"), start, end);
      const cut = content.indexOf(",");
      if (cut > 0) this.position = start + cut;
      const raw = this.text.slice(start, this.position);
      return { kind: "scalar", value: raw.trim(), raw, start, end: this.position };
    }
    this.report("not-strict-json", say("syntax.strict-text"), start, end);
    return { kind: "scalar", value: content, raw: content, start, end };
  }

  private literalAt(start: number, lineEnd: number): { value: number | boolean | null; end: number } | undefined {
    let value: number | boolean | null | undefined;
    let end = start;
    for (const [word, meaning] of [
      ["true", true],
      ["false", false],
      ["null", null],
    ] as const) {
      if (this.text.startsWith(word, start)) {
        value = meaning;
        end = start + word.length;
      }
    }
    if (value === undefined) {
      NUMBER.lastIndex = start;
      const match = NUMBER.exec(this.text);
      if (match === null) return undefined;
      value = Number(match[0]);
      end = start + match[0].length;
    }
    let next = end;
    while (next < lineEnd && /[ \t\r\f\v]/.test(this.text.charAt(next))) next++;
    const follows = this.text.charAt(next);
    const closed =
      next >= lineEnd ||
      follows === "," ||
      follows === "}" ||
      follows === "]" ||
      follows === "#" ||
      /^\/[/*]/.test(this.text.slice(next, next + 2));
    return closed ? { value, end } : undefined;
  }

  private looksLikeMember(): boolean {
    const line = this.text.slice(this.position, Math.min(this.lineEnd(), this.position + 400));
    return /^(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,:[\]{}"'#]+)\s*:(?!\/\/)/.test(line);
  }

  /** Skips to the end of the line, or to a bracket or comma on it. */
  private recover(): void {
    const end = this.lineEnd();
    while (this.position < end && !/[,{}[\]]/.test(this.peek())) this.position++;
    if (this.position === end && !this.atEnd()) this.position++;
  }

  private skipBlank(): void {
    while (!this.atEnd()) {
      const code = this.text.charCodeAt(this.position);
      if (code <= 32 || code === 0xa0 || code === 0x2028 || code === 0x2029 || code === 0xfeff) this.position++;
      else if (code === 35) this.comment(this.lineEnd());
      else if (code !== 47) return;
      else if (this.text.startsWith("//", this.position)) this.comment(this.lineEnd());
      else if (this.text.startsWith("/*", this.position)) {
        const close = this.text.indexOf("*/", this.position + 2);
        if (close < 0) this.report("syntax", say("syntax.comment"), this.position, this.position + 2);
        this.comment(close < 0 ? this.text.length : close + 2);
      } else return;
    }
  }

  private comment(end: number): void {
    this.report("not-strict-json", say("syntax.strict-comment"), this.position, end, "");
    this.position = end;
  }

  private peek(): string {
    return this.text.charAt(this.position);
  }

  private atEnd(): boolean {
    return this.position >= this.text.length;
  }

  private lineEnd(): number {
    // Files on one line are long: their end is looked for once.
    if (this.position < this.line.from || this.position > this.line.end) {
      const found = this.text.indexOf("\n", this.position);
      this.line = { from: this.position, end: found < 0 ? this.text.length : found };
    }
    const { end } = this.line;
    if (end === this.text.length) return end;
    return this.text.charAt(end - 1) === "\r" && end - 1 >= this.position ? end - 1 : end;
  }

  private stop(): void {
    this.stopped = true;
    this.position = this.text.length;
  }

  private report(code: string, message: Message, start: number, end: number, mend?: string): void {
    if (this.stopped || this.problems.length >= 200) return;
    this.problems.push({ code, message, start, end: Math.max(end, start), ...(mend === undefined ? {} : { mend }) });
  }
}

/** Text before the closing brackets that end a line, which an unquoted text took with it; undefined when none do. */
function beforeClosing(line: string): string | undefined {
  let tail = line.length;
  while (tail > 0 && /[}\],\s]/.test(line.charAt(tail - 1))) tail--;
  const closing = line.slice(tail).search(/[}\]]/);
  const before = line.slice(0, tail + Math.max(0, closing)).trimEnd();
  return closing < 0 || /[[{]/.test(before) ? undefined : before;
}
