/** Parts of a script that run under a condition, followed as far as the script itself decides it. */
import { table } from "../../terms/table";
import { type Field, literal, quotedWord } from "./fields";
import type { Token, Word } from "./tokens";

const OPENS = new Set(["if", "for", "while", "until", "case", "select"]);
const CLOSES = new Set(["fi", "done", "esac"]);

interface Branch {
  readonly word: string;
  /** Whether the current part runs; null when that depends on the outside. */
  taken: boolean | null;
  /** An earlier part is known to have run. */
  decided: boolean;
  uncertain?: boolean;
  /** Value a `case` looks at; null when it is not known. */
  subject?: string | null;
  /** The next `)` closes a pattern of the `case`. */
  expecting?: boolean;
}

const COMPARE: Readonly<Record<string, (a: string, b: string) => boolean>> = table({
  "=": (a, b) => a === b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "-eq": (a, b) => Number(a) === Number(b),
  "-ne": (a, b) => Number(a) !== Number(b),
  "-lt": (a, b) => Number(a) < Number(b),
  "-le": (a, b) => Number(a) <= Number(b),
  "-gt": (a, b) => Number(a) > Number(b),
  "-ge": (a, b) => Number(a) >= Number(b),
});

/** The conditions that are open at the place that is being read. */
export class Branches {
  private readonly open: Branch[] = [];

  constructor(private readonly expand: (word: Word) => readonly Field[]) {}

  private get top(): Branch | undefined {
    return this.open[this.open.length - 1];
  }

  /** What stands here never runs. */
  get skipped(): boolean {
    return this.open.some((branch) => branch.taken === false);
  }

  /** Whether what stands here runs depends on the outside. */
  get uncertain(): boolean {
    return this.open.some((branch) => branch.taken !== true);
  }

  /** Follows if/else whose condition the script itself decides; true when the rest of the command is its condition. */
  follow(word: string, rest: readonly Token[]): boolean {
    const top = this.top;
    if (OPENS.has(word)) {
      const taken = word === "if" ? this.condition(rest) : null;
      this.open.push({ word, taken, decided: taken === true });
      return word === "if" || word === "while" || word === "until";
    }
    if (CLOSES.has(word)) this.open.pop();
    if (top === undefined || top.word !== "if") return false;
    if (word === "elif") {
      const next = top.decided ? false : this.condition(rest);
      // After a branch that may have been taken, nothing below it is certain.
      top.taken = top.taken === null && next === true ? null : next;
      top.decided ||= next === true;
      return true;
    }
    if (word === "else") top.taken = top.decided ? false : top.taken === null || top.uncertain === true ? null : true;
    if (top.taken === null) top.uncertain = true;
    return false;
  }

  /** `case WORD`: what the clauses that follow are matched with. */
  matches(word: Token | undefined): void {
    const { top } = this;
    if (top === undefined) return;
    const subject = word?.kind === "word" ? this.expand(quotedWord(word.word))[0] : undefined;
    top.taken = false;
    top.expecting = true;
    top.subject = subject === undefined || subject.unknown !== null ? null : subject.text;
  }

  /** `pattern)` of a case: decides whether the clause runs; true when the operator belonged to the pattern. */
  pattern(operator: string, pending: readonly Token[]): boolean {
    const top = this.top;
    if (top?.word !== "case" || top.expecting !== true) return false;
    if (operator === "|") return true;
    if (operator !== ")") return false;
    const patterns = pending.map((token) => (token.kind === "word" ? literal(token.word) : null));
    top.expecting = false;
    const subject = top.subject ?? null;
    if (subject === null || patterns.includes(null)) top.taken = null;
    else if (patterns.some((pattern) => pattern === "*" || pattern === subject)) top.taken = !top.decided;
    else top.taken = patterns.some((pattern) => /[*?[]/.test(pattern ?? "")) && !top.decided ? null : false;
    top.decided ||= top.taken === true;
    return true;
  }

  /** `;;`: the next pattern of a case follows. */
  endClause(): void {
    const { top } = this;
    if (top?.word !== "case") return;
    top.expecting = true;
    top.taken = false;
  }

  /** Value of `[ … ]` or `[[ … ]]` when both sides are known, else null. */
  private condition(tokens: readonly Token[]): boolean | null {
    const fields = tokens.flatMap((token) => (token.kind === "word" ? this.expand(quotedWord(token.word)) : []));
    const open = fields[0]?.text;
    const close = fields[fields.length - 1]?.text;
    if (!((open === "[" && close === "]") || (open === "[[" && close === "]]"))) return null;
    const inner = fields.slice(1, -1);
    if (inner.some((field) => field.unknown !== null)) return null;
    const words = inner.map((field) => field.text);
    const [first = "", second = "", third = ""] = words;
    if (words.length === 2) return first === "-z" ? second === "" : first === "-n" ? second !== "" : null;
    if (words.length !== 3 || /[*?]/.test(third)) return null;
    return COMPARE[second]?.(first, third) ?? null;
  }
}
