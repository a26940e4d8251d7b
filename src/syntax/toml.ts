/**
 * TOML 1.0 with places. A small reader of its own: the packaged parsers either give no positions or stop at the
 * first error, and a config is read while it is being typed. A line that cannot be read is reported and skipped.
 */

import { type Message, say } from "../words/message";
import { MAX_DEPTH, MAX_LENGTH, prepareText } from "./text";
import { basicString, literalString, multiLine, TomlError } from "./toml-strings";
import type {
  Entry,
  ListNode,
  LocatedNode,
  MapNode,
  ParsedDocument,
  ScalarNode,
  Span,
  SyntaxProblem,
  UnknownNode,
} from "./tree";

interface OpenMap {
  readonly entries: Entry[];
  start: number;
  end: number;
  /** Set once `[header]` or a key defined it, to report a second definition. */
  defined: boolean;
  readonly children: Map<string, OpenMap | OpenMap[]>;
  readonly at: Map<string, Span>;
  /** Keys of `entries`. */
  readonly keys: Set<string>;
}

const BARE = /[A-Za-z0-9_-]+/y;
const NUMBER =
  /[+-]?(?:0x[0-9a-fA-F](?:_?[0-9a-fA-F])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*|(?:\d(?:_?\d)*)(?:\.\d(?:_?\d)*)?(?:[eE][+-]?\d(?:_?\d)*)?|inf|nan)/y;
const DATE =
  /\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})?)?|\d{2}:\d{2}:\d{2}(?:\.\d+)?/y;
/** Reads TOML. Never throws; offsets are those of `original`. */
export function parseToml(original: string): ParsedDocument {
  const prepared = prepareText(original, MAX_LENGTH.other);
  if (prepared.tooLarge) return { root: null, problems: prepared.problems, syntax: "toml" };
  const reader = new TomlReader(prepared.text);
  const root = reader.document();
  return { root, problems: [...prepared.problems, ...reader.problems].slice(0, 200), syntax: "toml" };
}

class TomlReader {
  readonly problems: SyntaxProblem[] = [];
  position = 0;
  private readonly root: OpenMap = open(0);

  constructor(readonly text: string) {}

  document(): MapNode {
    let table = this.root;
    table.defined = true;
    while (this.position < this.text.length) {
      this.skipLines();
      if (this.position >= this.text.length) break;
      const lineStart = this.position;
      try {
        if (this.peek() === "[") table = this.header();
        else this.member(table, 0);
        this.endOfLine();
      } catch (error) {
        if (!(error instanceof TomlError)) throw error;
        const place = Math.min(this.position, this.text.length);
        this.problems.push({
          code: "syntax",
          message: error.problem,
          start: Math.min(lineStart, place),
          end: Math.max(place, lineStart + 1),
        });
        const next = this.text.indexOf("\n", Math.max(place, lineStart));
        this.position = next < 0 ? this.text.length : next + 1;
      }
    }
    this.root.end = this.text.length;
    return close(this.root, 0);
  }

  private header(): OpenMap {
    const start = this.position;
    const array = this.text.startsWith("[[", start);
    this.position += array ? 2 : 1;
    const path = this.keyPath();
    const closing = array ? "]]" : "]";
    if (!this.text.startsWith(closing, this.position)) throw new TomlError(say("syntax.closing", { closing }));
    this.position += closing.length;
    const last = path[path.length - 1] as Entry;
    const parent = this.descend(this.root, path.slice(0, -1));
    if (parent.keys.has(last.key)) this.duplicate(last);
    const existing = parent.children.get(last.key);
    const table = open(start);
    if (array) {
      if (Array.isArray(existing)) existing.push(table);
      else {
        if (existing !== undefined) this.duplicate(last);
        parent.children.set(last.key, [table]);
        parent.at.set(last.key, last.keySpan);
      }
    } else if (existing !== undefined && !Array.isArray(existing)) {
      if (existing.defined) this.duplicate(last);
      existing.defined = true;
      existing.start = start;
      existing.end = this.position;
      return existing;
    } else {
      if (existing !== undefined) this.duplicate(last);
      parent.children.set(last.key, table);
      parent.at.set(last.key, last.keySpan);
    }
    table.defined = true;
    table.end = this.position;
    return table;
  }

  private member(table: OpenMap, depth: number): void {
    const path = this.keyPath();
    if (this.peek() !== "=") throw new TomlError(say("syntax.equals"));
    this.position++;
    this.skipSpaces();
    const last = path[path.length - 1] as Entry;
    const parent = this.descend(table, path.slice(0, -1));
    if (parent.keys.has(last.key) || parent.children.has(last.key)) this.duplicate(last);
    let value: LocatedNode;
    const before = this.position;
    try {
      value = this.value(depth);
    } catch (error) {
      if (error instanceof TomlError)
        parent.entries.push({ ...last, value: this.unknown(before, say("open.unreadable")) });
      throw error;
    }
    parent.keys.add(last.key);
    parent.entries.push({ ...last, value });
    table.end = this.position;
  }

  private descend(from: OpenMap, path: readonly Entry[]): OpenMap {
    let table = from;
    for (const step of path) {
      const child = table.children.get(step.key);
      if (Array.isArray(child)) table = child[child.length - 1] as OpenMap;
      else if (child !== undefined) table = child;
      else {
        if (table.keys.has(step.key)) this.duplicate(step);
        const created = open(step.keySpan.start);
        created.end = step.keySpan.end;
        table.children.set(step.key, created);
        table.at.set(step.key, step.keySpan);
        table = created;
      }
    }
    return table;
  }

  private duplicate(entry: Entry): void {
    this.problems.push({ code: "duplicate-key", message: say("syntax.twice", { key: entry.key }), ...entry.keySpan });
  }

  private keyPath(): Entry[] {
    const path: Entry[] = [];
    while (path.length <= MAX_DEPTH) {
      this.skipSpaces();
      const start = this.position;
      let key: string;
      const character = this.peek();
      if (character === '"') key = basicString(this);
      else if (character === "'") key = literalString(this);
      else {
        BARE.lastIndex = start;
        const match = BARE.exec(this.text);
        if (match === null) throw new TomlError(say("syntax.key"));
        this.position += match[0].length;
        key = match[0];
      }
      const keySpan = { start, end: this.position };
      path.push({ key, keySpan, value: this.unknown(this.position, say("open.no-value")) });
      this.skipSpaces();
      if (this.peek() !== ".") return path;
      this.position++;
    }
    throw new TomlError(say("syntax.deeper", { depth: MAX_DEPTH }));
  }

  private value(depth: number): LocatedNode {
    if (depth > MAX_DEPTH) throw new TomlError(say("syntax.deeper", { depth: MAX_DEPTH }));
    const start = this.position;
    const character = this.peek();
    if (character === '"')
      return this.scalar(start, this.text.startsWith('"""', start) ? multiLine(this, '"""') : basicString(this));
    if (character === "'")
      return this.scalar(start, this.text.startsWith("'''", start) ? multiLine(this, "'''") : literalString(this));
    if (character === "[") return this.list(depth);
    if (character === "{") return this.inlineTable(depth);
    for (const [word, meaning] of [
      ["true", true],
      ["false", false],
    ] as const) {
      if (this.text.startsWith(word, start) && !/[\w-]/.test(this.text.charAt(start + word.length))) {
        this.position += word.length;
        return this.scalar(start, meaning);
      }
    }
    DATE.lastIndex = start;
    const date = DATE.exec(this.text);
    if (date !== null) {
      this.position += date[0].length;
      return this.scalar(start, date[0]);
    }
    NUMBER.lastIndex = start;
    const number = NUMBER.exec(this.text);
    if (number !== null && !/[\w.]/.test(this.text.charAt(start + number[0].length)) && !/^[+-]?0\d/.test(number[0])) {
      this.position += number[0].length;
      return this.scalar(start, numeric(number[0]));
    }
    if (character === "" || character === "\n" || character === "\r" || character === "#")
      throw new TomlError(say("syntax.value"));
    throw new TomlError(say("syntax.toml-value"));
  }

  private list(depth: number): ListNode {
    const start = this.position;
    this.position++;
    const items: LocatedNode[] = [];
    while (true) {
      this.skipLines();
      if (this.peek() === "]") break;
      if (this.peek() === "") throw new TomlError(say("syntax.list"));
      items.push(this.value(depth + 1));
      this.skipLines();
      if (this.peek() === ",") this.position++;
      else if (this.peek() !== "]") throw new TomlError(say("syntax.comma-bracket"));
    }
    this.position++;
    return { kind: "list", items, start, end: this.position };
  }

  private inlineTable(depth: number): MapNode {
    const table = open(this.position);
    this.position++;
    this.skipLines();
    while (this.peek() !== "}") {
      if (this.peek() === "") throw new TomlError(say("syntax.brace"));
      this.member(table, depth + 1);
      this.skipLines();
      if (this.peek() === ",") {
        this.position++;
        this.skipLines();
      } else if (this.peek() !== "}") throw new TomlError(say("syntax.comma-brace"));
    }
    this.position++;
    table.end = this.position;
    return close(table, depth);
  }

  private endOfLine(): void {
    this.skipSpaces();
    if (this.peek() === "#") this.skipComment();
    const character = this.peek();
    if (character !== "" && character !== "\n" && character !== "\r") throw new TomlError(say("syntax.after-value"));
  }

  private skipSpaces(): void {
    while (this.peek() === " " || this.peek() === "\t") this.position++;
  }

  private skipLines(): void {
    while (this.position < this.text.length) {
      if (/\s/.test(this.peek())) this.position++;
      else if (this.peek() === "#") this.skipComment();
      else return;
    }
  }

  private skipComment(): void {
    const end = this.text.indexOf("\n", this.position);
    this.position = end < 0 ? this.text.length : end;
  }

  private scalar(start: number, value: ScalarNode["value"]): ScalarNode {
    return { kind: "scalar", value, raw: this.text.slice(start, this.position), start, end: this.position };
  }

  private unknown(start: number, reason: Message): UnknownNode {
    const end = Math.max(start, this.position);
    return { kind: "unknown", raw: this.text.slice(start, end), reason, start, end };
  }

  private peek(): string {
    return this.text.charAt(this.position);
  }
}

function open(start: number): OpenMap {
  return { entries: [], start, end: start, defined: false, children: new Map(), at: new Map(), keys: new Set() };
}

/** Turns the tables under construction into nodes, in document order. */
function close(table: OpenMap, depth: number): MapNode {
  const entries: Entry[] = [...table.entries];
  for (const [key, child] of table.children) {
    const keySpan = table.at.get(key) ?? { start: table.start, end: table.start };
    if (depth > 2 * MAX_DEPTH) continue;
    if (Array.isArray(child)) {
      const items = child.map((item) => close(item, depth + 1));
      const end = items[items.length - 1]?.end ?? keySpan.end;
      entries.push({ key, keySpan, value: { kind: "list", items, start: items[0]?.start ?? keySpan.start, end } });
    } else entries.push({ key, keySpan, value: close(child, depth + 1) });
  }
  entries.sort((a, b) => a.keySpan.start - b.keySpan.start);
  return { kind: "map", entries, start: table.start, end: Math.max(table.end, table.start) };
}

function numeric(text: string): number {
  const plain = text.replaceAll("_", "");
  const sign = plain.startsWith("-") ? -1 : 1;
  const digits = plain.replace(/^[+-]/, "");
  if (digits === "inf") return sign * Infinity;
  if (digits === "nan") return Number.NaN;
  return sign * Number(digits);
}
