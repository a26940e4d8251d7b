/** Strings of TOML 1.0: in one line or several, with escapes or without. */
import { table } from "../terms/table";
import { type Message, say } from "../words/message";

/** Why a line cannot be read. */
export class TomlError extends Error {
  constructor(readonly problem: Message) {
    super(problem.id);
  }
}

/** Where the reader stands. */
interface Reading {
  readonly text: string;
  position: number;
}

const ESCAPES: Readonly<Record<string, string>> = table({
  b: "\b",
  t: "\t",
  n: "\n",
  f: "\f",
  r: "\r",
  e: "\x1b",
  '"': '"',
  "\\": "\\",
});

export function basicString(on: Reading): string {
  on.position++;
  let value = "";
  while (true) {
    const character = on.text.charAt(on.position);
    if (character === '"') {
      on.position++;
      return value;
    }
    if (character === "" || character === "\n") throw new TomlError(say("syntax.quote"));
    if (character === "\\") value += escaped(on);
    else {
      value += character;
      on.position++;
    }
  }
}

export function literalString(on: Reading): string {
  const close = on.text.indexOf("'", on.position + 1);
  const line = on.text.indexOf("\n", on.position);
  if (close < 0 || (line >= 0 && line < close)) {
    on.position = line < 0 ? on.text.length : line;
    throw new TomlError(say("syntax.quote"));
  }
  const value = on.text.slice(on.position + 1, close);
  on.position = close + 1;
  return value;
}

export function multiLine(on: Reading, quotes: '"""' | "'''"): string {
  on.position += 3;
  if (on.text.startsWith("\r\n", on.position)) on.position += 2;
  else if (on.text.charAt(on.position) === "\n") on.position++;
  let value = "";
  while (!on.text.startsWith(quotes, on.position)) {
    if (on.text.charAt(on.position) === "") throw new TomlError(say("syntax.quotes"));
    if (quotes === '"""' && on.text.charAt(on.position) === "\\") {
      const continuation = /^\\[ \t]*\r?\n\s*/.exec(on.text.slice(on.position, on.position + 1000));
      if (continuation !== null) on.position += continuation[0].length;
      else value += escaped(on);
      continue;
    }
    value += on.text.charAt(on.position);
    on.position++;
  }
  on.position += 3;
  // Up to two quotes may stand right before the closing ones.
  for (let extra = 0; extra < 2 && on.text.charAt(on.position) === quotes.charAt(0); extra++) {
    value += quotes.charAt(0);
    on.position++;
  }
  return value;
}

function escaped(on: Reading): string {
  const next = on.text.charAt(on.position + 1);
  const length = next === "u" ? 4 : next === "U" ? 8 : 0;
  if (length > 0) {
    const hex = on.text.slice(on.position + 2, on.position + 2 + length);
    const code = /^[0-9a-fA-F]+$/.test(hex) && hex.length === length ? Number.parseInt(hex, 16) : Number.NaN;
    if (!(code <= 0x10ffff)) throw new TomlError(say("syntax.escape"));
    on.position += 2 + length;
    return String.fromCodePoint(code);
  }
  const known = ESCAPES[next];
  if (known === undefined) throw new TomlError(say("syntax.escape"));
  on.position += 2;
  return known;
}
