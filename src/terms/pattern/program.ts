/**
 * A pattern as a machine that is in many states at once (Thompson's construction): a text is read once from left to
 * right, whatever the pattern. No pattern can make it slow, which is what `RegExp` cannot say of a text from a file.
 */
import { type Edge, isWord, type Look, type Pattern, PatternError } from "./parse";

type State =
  | { readonly kind: "char"; readonly fits: (char: string) => boolean; readonly next: number }
  | { readonly kind: "split"; readonly ways: readonly number[] }
  | { readonly kind: "edge"; readonly at: Edge; readonly next: number }
  | {
      readonly kind: "look";
      readonly way: Look;
      readonly negative: boolean;
      readonly program: Program;
      readonly next: number;
    }
  | { readonly kind: "end" };

export interface Program {
  readonly states: readonly State[];
  readonly start: number;
  /** Characters that every match has; null where matches differ. */
  readonly width: number | null;
}

/** Steps that building a machine takes: counted repeats are written out, those of nothing too. */
const MOST_STEPS = 50_000;

class Builder {
  readonly states: State[] = [];

  /** @param budget shared with the machines inside this one */
  constructor(private readonly budget: { left: number }) {}

  add(state: State): number {
    return this.states.push(state) - 1;
  }

  /** States that match `pattern` and go on with `next`. */
  build(pattern: Pattern, next: number): number {
    this.budget.left -= 1;
    if (this.budget.left < 0) throw new PatternError("unsupported", "a pattern this large");
    switch (pattern.kind) {
      case "char":
        return this.add({ kind: "char", fits: pattern.fits, next });
      case "edge":
        return this.add({ kind: "edge", at: pattern.at, next });
      case "all":
        return pattern.items.reduceRight((after, item) => this.build(item, after), next);
      case "any":
        return this.add({ kind: "split", ways: pattern.items.map((item) => this.build(item, next)) });
      case "look": {
        const program = compile(pattern.item, this.budget);
        if (pattern.way === "behind" && program.width === null)
          throw new PatternError("invalid", "look-behind requires fixed-width pattern");
        return this.add({ kind: "look", way: pattern.way, negative: pattern.negative, program, next });
      }
      case "repeat":
        return this.repeat(pattern.item, pattern.least, pattern.most, next);
    }
  }

  private repeat(item: Pattern, least: number, most: number, next: number): number {
    let after = next;
    if (most === Number.POSITIVE_INFINITY) {
      const ways: number[] = [];
      const loop = this.add({ kind: "split", ways });
      ways.push(this.build(item, loop), next);
      after = loop;
    } else {
      for (let count = least; count < most; count++)
        after = this.add({ kind: "split", ways: [this.build(item, after), next] });
    }
    for (let count = 0; count < least; count++) after = this.build(item, after);
    return after;
  }
}

/** Characters of every match; null where they differ. */
function widthOf(pattern: Pattern): number | null {
  switch (pattern.kind) {
    case "char":
      return 1;
    case "edge":
    case "look":
      return 0;
    case "all":
      return pattern.items.map(widthOf).reduce((sum, one) => (sum === null || one === null ? null : sum + one), 0);
    case "any": {
      const [first = 0, ...others] = pattern.items.map(widthOf);
      return others.every((one) => one === first) ? first : null;
    }
    case "repeat": {
      const width = widthOf(pattern.item);
      return width !== null && pattern.least === pattern.most ? width * pattern.least : null;
    }
  }
}

/** The machine of a pattern; throws a {@link PatternError} where it would be too large. */
export function compile(pattern: Pattern, budget = { left: MOST_STEPS }): Program {
  const builder = new Builder(budget);
  const end = builder.add({ kind: "end" });
  const start = builder.build(pattern, end);
  return { states: builder.states, start, width: widthOf(pattern) };
}

/** A text that is matched, and what looks from its places have shown: each is asked once. */
export interface Subject {
  readonly chars: readonly string[];
  readonly looks: Map<Program, (boolean | undefined)[]>;
}

export interface Bounds {
  readonly from: number;
  /** Whether a match starts at `from`; else there or later. */
  readonly anchored: boolean;
  /** Where a match must end; null: anywhere. */
  readonly to: number | null;
}

/** Whether a program matches within the bounds. */
export function runs(program: Program, subject: Subject, { from, anchored, to }: Bounds): boolean {
  const { states, start } = program;
  const last = to ?? subject.chars.length;
  /** Position, plus one, at which a state was last entered. */
  const entered = new Uint32Array(states.length);
  let current: number[] = [];
  for (let at = from; at <= last; at++) {
    const pending = anchored && at > from ? current : [...current, start];
    if (pending.length === 0) return false;
    current = [];
    for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
      if (entered[id] === at + 1) continue;
      entered[id] = at + 1;
      const state = states[id] as State;
      if (state.kind === "end") {
        if (to === null || at === to) return true;
      } else if (state.kind === "char") {
        const char = subject.chars[at];
        if (char !== undefined && state.fits(char)) current.push(state.next);
      } else if (state.kind === "split") pending.push(...state.ways);
      else if (state.kind === "edge" ? isAt(state.at, subject.chars, at) : looks(state, subject, at))
        pending.push(state.next);
    }
  }
  return false;
}

function isAt(edge: Edge, chars: readonly string[], at: number): boolean {
  const last = chars.length;
  switch (edge) {
    case "start":
      return at === 0;
    case "end":
      return at === last;
    case "line-start":
      return at === 0 || chars[at - 1] === "\n";
    case "line-end":
      return at === last || chars[at] === "\n";
    // Python's `$` also stands before a line break that ends the text.
    case "last-line-end":
      return at === last || (at === last - 1 && chars[at] === "\n");
    default:
      return (isWord(chars[at - 1] ?? " ") !== isWord(chars[at] ?? " ")) === (edge === "word");
  }
}

function looks(state: State & { readonly kind: "look" }, subject: Subject, at: number): boolean {
  const { program, negative, way } = state;
  let known = subject.looks.get(program);
  if (known === undefined) {
    known = [];
    subject.looks.set(program, known);
  }
  let found = known[at];
  if (found === undefined) {
    const from = way === "ahead" ? at : at - (program.width ?? 0);
    found = from >= 0 && runs(program, subject, { from, anchored: true, to: way === "ahead" ? null : at });
    known[at] = found;
  }
  return found !== negative;
}
