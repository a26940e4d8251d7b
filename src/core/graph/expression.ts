/**
 * Expressions of captured graphs (see `Expression` in `types.ts`): parsed once, evaluated for a run and a layer.
 */
import { table } from "../../terms/table";

export type Value = number | string | boolean | null;

/** Looks a name up; undefined names evaluate to null. */
export type Scope = (name: string) => Value | undefined;

type Evaluator = (scope: Scope) => Value;

const TOKEN = /\s*(?:(\d+(?:\.\d+)?(?:e[-+]?\d+)?)|'([^']*)'|([A-Za-z_][\w.]*)|(\/\/|==|!=|<=|>=|[-+*/%()<>,]))/gy;

interface Token {
  readonly kind: "number" | "string" | "name" | "operator";
  readonly text: string;
}

function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const match = TOKEN.exec(source);
    if (match === null) break;
    if (match[1] !== undefined) tokens.push({ kind: "number", text: match[1] });
    else if (match[2] !== undefined) tokens.push({ kind: "string", text: match[2] });
    else if (match[3] !== undefined) tokens.push({ kind: "name", text: match[3] });
    else tokens.push({ kind: "operator", text: match[4]! });
  }
  return tokens;
}

const FUNCTIONS: Readonly<Record<string, (...values: number[]) => number>> = table({
  min: Math.min,
  max: Math.max,
  ceil_div: (a = 0, b = 1) => Math.ceil(a / b),
  floor: Math.floor,
  ceil: Math.ceil,
});

/** Binding power of binary operators, loosest first. */
const BINARY: Readonly<Record<string, { power: number; apply: (a: Value, b: Value) => Value }>> = table({
  or: { power: 1, apply: (a, b) => (truthy(a) ? a : b) },
  and: { power: 2, apply: (a, b) => (truthy(a) ? b : a) },
  "==": { power: 4, apply: (a, b) => equal(a, b) },
  "!=": { power: 4, apply: (a, b) => !equal(a, b) },
  "<": { power: 4, apply: (a, b) => number(a) < number(b) },
  "<=": { power: 4, apply: (a, b) => number(a) <= number(b) },
  ">": { power: 4, apply: (a, b) => number(a) > number(b) },
  ">=": { power: 4, apply: (a, b) => number(a) >= number(b) },
  "+": { power: 5, apply: (a, b) => number(a) + number(b) },
  "-": { power: 5, apply: (a, b) => number(a) - number(b) },
  "*": { power: 6, apply: (a, b) => number(a) * number(b) },
  "/": { power: 6, apply: (a, b) => number(a) / number(b) },
  "//": { power: 6, apply: (a, b) => Math.floor(number(a) / number(b)) },
  "%": { power: 6, apply: (a, b) => ((number(a) % number(b)) + number(b)) % number(b) },
});

function number(value: Value): number {
  return typeof value === "number" ? value : typeof value === "boolean" ? Number(value) : Number.NaN;
}

function equal(a: Value, b: Value): boolean {
  if (typeof a === "boolean" || typeof b === "boolean") {
    return typeof a !== "string" && typeof b !== "string" && a !== null && b !== null && Number(a) === Number(b);
  }
  return a === b;
}

export function truthy(value: Value): boolean {
  return value !== null && value !== false && value !== 0 && value !== "";
}

class Parser {
  private at = 0;
  constructor(private readonly tokens: readonly Token[]) {}

  private peek(): Token | undefined {
    return this.tokens[this.at];
  }

  private take(text: string): boolean {
    if (this.peek()?.text !== text || this.peek()?.kind === "string") return false;
    this.at++;
    return true;
  }

  expression(power = 0): Evaluator {
    let left = this.prefix();
    for (;;) {
      const token = this.peek();
      const rule =
        token === undefined || token.kind === "string" || token.kind === "number" ? undefined : BINARY[token.text];
      if (rule === undefined || rule.power <= power) return left;
      this.at++;
      const before = left;
      const right = this.expression(rule.power);
      left = (scope) => rule.apply(before(scope), right(scope));
    }
  }

  private prefix(): Evaluator {
    const token = this.peek();
    if (token === undefined) return () => null;
    this.at++;
    if (token.kind === "number") {
      const value = Number(token.text);
      return () => value;
    }
    if (token.kind === "string") return () => token.text;
    if (token.text === "(") {
      const inner = this.expression();
      this.take(")");
      return inner;
    }
    if (token.text === "-") {
      const inner = this.expression(7);
      return (scope) => -number(inner(scope));
    }
    if (token.text === "not") {
      const inner = this.expression(3);
      return (scope) => !truthy(inner(scope));
    }
    if (token.text === "null" || token.text === "None") return () => null;
    if (token.text === "true" || token.text === "True") return () => true;
    if (token.text === "false" || token.text === "False") return () => false;
    const apply = FUNCTIONS[token.text];
    if (apply !== undefined && this.take("(")) {
      const values = [this.expression()];
      while (this.take(",")) values.push(this.expression());
      this.take(")");
      return (scope) => apply(...values.map((value) => number(value(scope))));
    }
    return (scope) => scope(token.text) ?? null;
  }
}

/** An expression as it is evaluated. */
interface Parsed {
  readonly evaluator: Evaluator;
  readonly ofLayer: boolean;
}

/** The expressions of a family's graphs, parsed when they are met first: they are kept as long as the family is. */
export class Expressions {
  private readonly parsed = new Map<string, Parsed>();

  /** @param reads what stands for an expression's text */
  constructor(private readonly reads: (source: string) => string = (source) => source) {}

  private parse(source: string): Parsed {
    let found = this.parsed.get(source);
    if (found === undefined) {
      found = { evaluator: new Parser(tokenize(this.reads(source))).expression(), ofLayer: isOfLayer(source) };
      this.parsed.set(source, found);
    }
    return found;
  }

  /** Evaluates an expression; a malformed one gives null or NaN, never an exception. */
  evaluate(source: string, scope: Scope): Value {
    return this.parse(source).evaluator(scope);
  }

  /** As {@link isOfLayer}, remembered. */
  isOfLayer(source: string): boolean {
    return this.parse(source).ofLayer;
  }
}

/** Whether an expression names what differs between layers: their index (`i`) or their kind. */
export function isOfLayer(source: string): boolean {
  return /\b(i|kind)\b/.test(source);
}

/** Whether an expression names a size of the run (`RunSizes`), which the next run may have another of. */
export function isOfRun(source: string): boolean {
  return /\b[BSTIAC]\b/.test(source);
}
