/** What stands in a shell's words in the place of a text: variables, arithmetic, output of commands. */
import { say } from "../../words/message";
import type { LexOptions, Piece, ShellSource, TextBuffer, Word } from "./tokens";

/** Fallbacks inside one another that are followed. */
const MAX_FALLBACKS = 20;

/** The lexer, as far as expansions move it on. */
export interface Lexing {
  position: number;
  readonly text: string;
  readonly source: ShellSource;
  readonly options: LexOptions;
  /** End (exclusive) of the bracket that opens at `from`, quotes respected. */
  matching(from: number, open: string, close: string): number;
  singleQuoted(pieces: Piece[]): void;
  /** A fallback as one word, blanks included. */
  inside(source: ShellSource, depth: number): Word;
}

/** Reads what a dollar starts; false when it is an ordinary dollar. */
export function dollar(on: Lexing, pieces: Piece[], buffer: TextBuffer, quoted: boolean): boolean {
  const start = on.position;
  const rest = on.text.slice(start, start + 200);
  const push = (piece: Piece, end: number): true => {
    buffer.flush(pieces, quoted);
    pieces.push(piece);
    on.position = end;
    return true;
  };
  if (on.options.make && rest.startsWith("$$")) {
    on.position++;
    return dollarShell(on, pieces, buffer, quoted);
  }
  const makeVariable = on.options.make ? /^\$\(([\w.-]+)\)/.exec(rest) : null;
  if (makeVariable !== null) {
    return push(
      {
        kind: "variable",
        name: makeVariable[1] ?? "",
        quoted,
        all: false,
        operator: "",
        fallback: null,
        raw: makeVariable[0],
      },
      start + makeVariable[0].length,
    );
  }
  return dollarShell(on, pieces, buffer, quoted);
}

function dollarShell(on: Lexing, pieces: Piece[], buffer: TextBuffer, quoted: boolean): boolean {
  const start = on.position;
  const push = (piece: Piece, end: number): true => {
    buffer.flush(pieces, quoted);
    pieces.push(piece);
    on.position = end;
    return true;
  };
  if (on.text.startsWith("$((", start)) {
    const end = on.matching(start + 1, "(", ")");
    const raw = on.text.slice(start, end);
    return push({ kind: "arithmetic", expression: raw.slice(3, -2), quoted, raw }, end);
  }
  // Bash's older way to write the same.
  const old = /^\$\[([^[\]\n]{1,400})\]/.exec(on.text.slice(start, start + 404));
  if (old !== null)
    return push({ kind: "arithmetic", expression: old[1]!, quoted, raw: old[0] }, start + old[0].length);
  if (on.text.startsWith("$(", start)) {
    const end = on.matching(start + 1, "(", ")");
    return push({ kind: "unknown", reason: say("open.output"), quoted, raw: on.text.slice(start, end) }, end);
  }
  if (on.text.startsWith("${", start)) return push(...braced(on, start, quoted));
  if (!quoted && on.text.startsWith("$'", start)) {
    buffer.flush(pieces, false);
    on.position++;
    on.singleQuoted(pieces);
    return true;
  }
  const name = /^\$([A-Za-z_]\w*|[0-9@*#?$!-])/.exec(on.text.slice(start, start + 120));
  if (name === null) return false;
  const variable = name[1] ?? "";
  return push(
    {
      kind: "variable",
      name: variable,
      quoted,
      all: variable === "@" || variable === "*",
      operator: "",
      fallback: null,
      raw: name[0],
    },
    start + name[0].length,
  );
}

function braced(on: Lexing, start: number, quoted: boolean): [Piece, number] {
  const end = on.matching(start + 1, "{", "}");
  const raw = on.text.slice(start, end);
  const inside = /^\$\{(!?#?[A-Za-z_]\w*|[0-9@*#]+)(\[[^\]]*\])?(:?[-=+?]|[%#/^,:@])?/.exec(raw);
  if (inside === null || !raw.endsWith("}"))
    return [{ kind: "unknown", reason: say("open.expansion"), quoted, raw }, end];
  const [head, name = "", index = "", operator = ""] = inside;
  const rest = raw.slice(head.length, -1);
  if (
    /^[!#]./.test(name) ||
    (operator !== "" && !/^:?[-=]$/.test(operator)) ||
    (index !== "" && !/^\[[@*]\]$/.test(index))
  ) {
    return [{ kind: "unknown", reason: say("open.expansion"), quoted, raw }, end];
  }
  const depth = (on.options.depth ?? 0) + 1;
  if (operator !== "" && depth > MAX_FALLBACKS)
    return [{ kind: "unknown", reason: say("open.deep"), quoted, raw }, end];
  let fallback: Word | null = null;
  if (operator !== "") {
    const from = end - 1 - rest.length;
    const inner: ShellSource = {
      text: rest,
      at: (offset) => on.source.at(Math.min(from + offset, on.text.length - 1)),
    };
    fallback =
      rest === "" ? { pieces: [], start: on.source.at(from), end: on.source.at(from) } : on.inside(inner, depth);
  }
  return [{ kind: "variable", name, quoted, all: index !== "", operator, fallback, raw }, end];
}

export function backticks(on: Lexing, pieces: Piece[], quoted: boolean): void {
  const close = on.text.indexOf("`", on.position + 1);
  const end = close < 0 ? on.text.length : close + 1;
  // A remark between continued lines: a command that prints nothing.
  if (close >= 0 && /^\s*(?:#.*)?$/.test(on.text.slice(on.position + 1, close))) {
    on.position = end;
    return;
  }
  pieces.push({
    kind: "unknown",
    reason: say("open.output"),
    quoted,
    raw: on.text.slice(on.position, end),
  });
  on.position = end;
}
