/**
 * Words, operators and here-documents of a shell script, with every character's place in the file. Follows the POSIX
 * shell grammar and bash's arrays; nothing is executed. Makefile recipes use the same lexer with `$(NAME)` variables.
 */

import { type Message, say } from "../../words/message";
import type { SyntaxProblem } from "../tree";
import { backticks, dollar, type Lexing } from "./expansions";
import { type LexOptions, type Piece, type ShellSource, TextBuffer, type Token, type Word } from "./tokens";

const OPERATORS = ["&&", "||", ";;", ";", "&", "|", "(", ")", "\n"];
const WORD_END = new Set([" ", "\t", "\r", "\n", ";", "&", "|", "(", ")", "<", ">"]);

export function lexShell(source: ShellSource, options: LexOptions, problems: SyntaxProblem[]): Token[] {
  return new ShellLexer(source, options, problems).tokens();
}

interface PendingHeredoc {
  readonly delimiter: string;
  readonly quoted: boolean;
  readonly stripTabs: boolean;
}

class ShellLexer implements Lexing {
  position = 0;
  readonly text: string;
  private readonly result: Token[] = [];
  private readonly pending: PendingHeredoc[] = [];
  /** Whether only blanks stand between here and a line continuation. */
  private continued = false;
  /** Whether a comment between the command's options was reported: one says it of all. */
  private commented = false;

  constructor(
    readonly source: ShellSource,
    readonly options: LexOptions,
    private readonly problems: SyntaxProblem[],
  ) {
    this.text = source.text;
  }

  tokens(): Token[] {
    while (this.position < this.text.length) {
      const before = this.position;
      this.step();
      if (this.position === before) this.position++;
    }
    return this.result;
  }

  private step(): void {
    const character = this.peek();
    if (character === " " || character === "\t" || character === "\r") {
      this.position++;
      return;
    }
    if (character === "\\" && this.isLineEnd(this.position + 1)) {
      this.position = this.text.indexOf("\n", this.position) + 1 || this.text.length;
      this.continued = true;
      return;
    }
    if (character === "\\" && /^\\[ \t]+\r?(?:\n|$)/.test(this.text.slice(this.position, this.position + 80))) {
      this.report("lost-continuation", say("syntax.lost-continuation"), this.position, this.position + 1);
      this.position++;
      return;
    }
    if (character === "#") {
      const { position } = this;
      this.position = this.lineEnd();
      if (!this.continued) return;
      // A line of options is no command of its own: what stands below is meant for the command above.
      const below = /^(?:[ \t]*(?:#[^\r\n]*)?\r?\n)+(?=[ \t]*-{1,2}[A-Za-z])/.exec(this.text.slice(this.position));
      const end = this.position;
      if (below === null) this.continued = false;
      else this.position += below[0].length;
      const message = say(below === null ? "syntax.comment-ends-command" : "syntax.comment-between-options");
      if (!this.commented) this.report("comment-ends-command", message, position, end);
      this.commented = below !== null;
      return;
    }
    this.continued = false;
    if (character === "<" || character === ">") {
      this.redirection();
      return;
    }
    const operator = OPERATORS.find((candidate) => this.text.startsWith(candidate, this.position));
    if (operator !== undefined) {
      this.operator(operator);
      return;
    }
    if (/\d/.test(character) && /^\d+[<>]/.test(this.text.slice(this.position, this.position + 8))) {
      while (/\d/.test(this.peek())) this.position++;
      this.redirection();
      return;
    }
    this.wordOrArray();
  }

  private operator(operator: string): void {
    const start = this.position;
    this.commented = false;
    if (operator === "(" && this.text.startsWith("((", start)) {
      const close = this.text.indexOf("))", start);
      const line = this.lineEnd();
      this.position = close < 0 || close > line ? line : close + 2;
      return;
    }
    if (operator === "&" && this.text.startsWith("&>", start)) {
      this.position++;
      this.redirection();
      return;
    }
    this.position += operator.length;
    this.result.push({
      kind: "operator",
      text: operator,
      start: this.source.at(start),
      end: this.source.at(this.position - 1) + 1,
    });
    if (operator === "\n") this.heredocs();
  }

  /** `<PATH-TO-MODEL>`, where a person is to write something: read as a redirection it would leave the option without a value. */
  private placeholder(): boolean {
    const start = this.position;
    const raw = /^<[A-Za-z_][^<>\n]{0,80}[A-Za-z_)]>(?=\s|$)/.exec(this.text.slice(start, start + 90))?.[0];
    if (raw === undefined || !/\s/.test(this.text.charAt(start - 1))) return false;
    this.position += raw.length;
    const pieces: Piece[] = [{ kind: "unknown", reason: say("open.place"), quoted: true, raw }];
    const at = { start: this.source.at(start), end: this.source.at(this.position - 1) + 1 };
    this.result.push({ kind: "word", word: { pieces, ...at } });
    return true;
  }

  private redirection(): void {
    if (this.placeholder()) return;
    if (this.text.startsWith("<<<", this.position)) {
      this.position += 3;
      this.skipSpaces();
      this.word();
      return;
    }
    const heredoc = /^<<(-?)[ \t]*(["']?)([^\s"';&|<>()]+)\2/.exec(this.text.slice(this.position, this.position + 120));
    if (heredoc !== null) {
      this.position += heredoc[0].length;
      this.pending.push({
        delimiter: (heredoc[3] ?? "").replace(/^\\/, ""),
        quoted: heredoc[2] !== "" || heredoc[3]?.startsWith("\\") === true,
        stripTabs: heredoc[1] === "-",
      });
      return;
    }
    const start = this.position;
    while (this.peek() === "<" || this.peek() === ">" || this.peek() === "&" || this.peek() === "|") this.position++;
    const isOutput = /^>\|?$/.test(this.text.slice(start, this.position));
    if (this.peek() === "(") {
      this.position = this.matching(this.position, "(", ")");
      return;
    }
    this.skipSpaces();
    if (WORD_END.has(this.peek()) || this.peek() === "") return;
    const word = this.word();
    if (isOutput && word !== null) this.result.push({ kind: "output", word });
  }

  /** Bodies of the here-documents opened on the line that just ended. */
  private heredocs(): void {
    for (const pending of this.pending.splice(0)) {
      const start = this.position;
      let end = this.text.length;
      let next = this.text.length;
      for (let line = start; line < this.text.length; ) {
        const lineEnd = this.text.indexOf("\n", line);
        const stop = lineEnd < 0 ? this.text.length : lineEnd;
        const content = this.text.slice(line, stop).replace(/\r$/, "");
        if ((pending.stripTabs ? content.replace(/^\t+/, "") : content) === pending.delimiter) {
          end = line;
          next = stop;
          break;
        }
        line = stop + 1;
        if (lineEnd < 0) break;
      }
      const body = pending.quoted ? this.plainWord(start, end) : this.heredocBody(start, end);
      this.result.push({ kind: "heredoc", body, quoted: pending.quoted });
      this.position = next;
    }
  }

  private plainWord(start: number, end: number): Word {
    const offsets = Array.from({ length: end - start }, (_, index) => this.source.at(start + index));
    const piece: Piece = { kind: "text", text: this.text.slice(start, end), offsets, quoted: true };
    return { pieces: [piece], start: this.source.at(start), end: this.source.at(Math.max(start, end - 1)) + 1 };
  }

  private heredocBody(start: number, end: number): Word {
    const inner: ShellSource = { text: this.text.slice(start, end), at: (index) => this.source.at(start + index) };
    const lexer = new ShellLexer(inner, this.options, this.problems);
    return lexer.quotedBody();
  }

  /** The whole source as the inside of double quotes. */
  private quotedBody(): Word {
    const pieces: Piece[] = [];
    const buffer = new TextBuffer();
    while (this.position < this.text.length) this.doubleQuotedStep(pieces, buffer);
    buffer.flush(pieces, true);
    const last = Math.max(0, this.text.length - 1);
    return { pieces, start: this.source.at(0), end: this.source.at(last) + 1 };
  }

  private wordOrArray(): void {
    const start = this.position;
    const assignment = /^([A-Za-z_]\w*)(\+?)=\(/.exec(this.text.slice(start, start + 120));
    if (assignment === null) {
      const word = this.word();
      if (word !== null) this.result.push({ kind: "word", word });
      return;
    }
    this.position += assignment[0].length;
    const items: Word[] = [];
    while (this.position < this.text.length && this.peek() !== ")") {
      if (/\s/.test(this.peek())) this.position++;
      else if (this.peek() === "\\" && this.isLineEnd(this.position + 1)) this.position++;
      else if (this.peek() === "#") this.position = this.lineEnd();
      else {
        const before = this.position;
        const word = this.word();
        if (word !== null) items.push(word);
        if (this.position === before) this.position++;
      }
    }
    this.position++;
    const end = Math.min(this.position, this.text.length);
    this.result.push({
      kind: "array",
      name: assignment[1] ?? "",
      append: assignment[2] === "+",
      items,
      start: this.source.at(start),
      end: this.source.at(end - 1) + 1,
    });
  }

  private word(): Word | null {
    const start = this.position;
    const pieces: Piece[] = [];
    const buffer = new TextBuffer();
    while (this.position < this.text.length) {
      const character = this.peek();
      if (WORD_END.has(character)) break;
      if (character === "\\") {
        if (this.isLineEnd(this.position + 1)) {
          const next = this.text.indexOf("\n", this.position);
          const following = this.text.charAt(next + 1);
          if (next < 0 || WORD_END.has(following) || following === "" || following === "\\") break;
          this.position = next + 1;
          continue;
        }
        if (/^\\[ \t]+\r?(?:\n|$)/.test(this.text.slice(this.position, this.position + 80))) break;
        buffer.add(
          this.text.charAt(this.position + 1),
          this.source.at(Math.min(this.position + 1, this.text.length - 1)),
        );
        this.position += 2;
      } else if (character === "'") {
        buffer.flush(pieces, false);
        this.singleQuoted(pieces);
      } else if (character === '"') {
        buffer.flush(pieces, false);
        this.doubleQuoted(pieces);
      } else if (character === "$") {
        if (!dollar(this, pieces, buffer, false)) {
          buffer.add(character, this.source.at(this.position));
          this.position++;
        }
      } else if (character === "`") {
        buffer.flush(pieces, false);
        backticks(this, pieces, false);
      } else {
        buffer.add(character, this.source.at(this.position));
        this.position++;
      }
    }
    buffer.flush(pieces, false);
    this.position = Math.min(this.position, this.text.length);
    if (this.position === start) return null;
    return { pieces, start: this.source.at(start), end: this.source.at(this.position - 1) + 1 };
  }

  singleQuoted(pieces: Piece[]): void {
    const start = this.position + 1;
    const close = this.text.indexOf("'", start);
    const end = close < 0 ? this.text.length : close;
    if (close < 0) this.report("syntax", say("syntax.quote"), start - 1, start);
    const offsets = Array.from({ length: end - start }, (_, index) => this.source.at(start + index));
    pieces.push({ kind: "text", text: this.text.slice(start, end), offsets, quoted: true });
    this.position = end + 1;
  }

  private doubleQuoted(pieces: Piece[]): void {
    const open = this.position;
    this.position++;
    const buffer = new TextBuffer();
    while (this.position < this.text.length && this.peek() !== '"') this.doubleQuotedStep(pieces, buffer);
    if (this.position >= this.text.length) this.report("syntax", say("syntax.quote"), open, open + 1);
    buffer.flush(pieces, true, true);
    this.position++;
  }

  private doubleQuotedStep(pieces: Piece[], buffer: TextBuffer): void {
    const character = this.peek();
    if (character === "\\") {
      if (this.isLineEnd(this.position + 1)) {
        this.position = this.text.indexOf("\n", this.position) + 1 || this.text.length;
        return;
      }
      const next = this.text.charAt(this.position + 1);
      if (/["\\$`]/.test(next)) {
        buffer.add(next, this.source.at(this.position + 1));
        this.position += 2;
        return;
      }
    } else if (character === "$" && dollar(this, pieces, buffer, true)) return;
    else if (character === "`") {
      buffer.flush(pieces, true);
      backticks(this, pieces, true);
      return;
    }
    buffer.add(character, this.source.at(this.position));
    this.position++;
  }

  inside(source: ShellSource, depth: number): Word {
    return new ShellLexer(source, { ...this.options, depth }, []).wholeWord();
  }

  /** The source as one word, blanks included. */
  private wholeWord(): Word {
    const pieces: Piece[] = [];
    const start = this.source.at(0);
    while (this.position < this.text.length) {
      const word = this.word();
      if (word !== null) pieces.push(...word.pieces);
      if (this.position < this.text.length) {
        pieces.push({ kind: "text", text: this.peek(), offsets: [this.source.at(this.position)], quoted: false });
        this.position++;
      }
    }
    return { pieces, start, end: this.source.at(Math.max(0, this.text.length - 1)) + 1 };
  }

  matching(from: number, open: string, close: string): number {
    let depth = 0;
    for (let index = from; index < this.text.length; index++) {
      const character = this.text.charAt(index);
      if (character === "\\") index++;
      else if (character === "'" && open === "(") {
        const end = this.text.indexOf("'", index + 1);
        if (end > 0) index = end;
      } else if (character === open) depth++;
      else if (character === close && --depth === 0) return index + 1;
    }
    return this.text.length;
  }

  private isLineEnd(index: number): boolean {
    const character = this.text.charAt(index);
    return (
      character === "\n" || (character === "\r" && this.text.charAt(index + 1) === "\n") || index >= this.text.length
    );
  }

  private skipSpaces(): void {
    while (this.peek() === " " || this.peek() === "\t") this.position++;
  }

  private lineEnd(): number {
    const end = this.text.indexOf("\n", this.position);
    return end < 0 ? this.text.length : end;
  }

  private peek(): string {
    return this.text.charAt(this.position);
  }

  private report(code: string, message: Message, start: number, end: number): void {
    if (this.problems.length >= 100) return;
    const last = Math.max(0, this.text.length - 1);
    const from = this.source.at(Math.min(start, last));
    this.problems.push({
      code,
      message,
      start: from,
      end: Math.max(from, this.source.at(Math.min(Math.max(start, end - 1), last)) + 1),
    });
  }
}
