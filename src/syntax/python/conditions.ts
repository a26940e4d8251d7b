/** What conditions ask of the names of parts of objects, of their classes, of the rounds of a loop. */

import type { SyntaxNode } from "@lezer/common";
import { table } from "../../terms/table";
import { MAX_DEPTH } from "../text";
import type { LocatedNode, PythonPath, PythonTest } from "../tree";
import type { Flow } from "./flow";
import type { Binding } from "./names";
import { childNamed, childrenOf, junction } from "./nodes";
import { bare, MAX_PICKED, type Paths } from "./paths";
import type { Evaluator } from "./values";

const ANY = /^(?:any|all)$/;
const HOW: Readonly<Record<string, "begins" | "ends">> = table({ startswith: "begins", endswith: "ends" });
/** Functions of `re`, and methods of what `re.compile` gives. */
const MATCHES: Readonly<Record<string, "search" | "match" | "fullmatch">> = table({
  search: "search",
  match: "match",
  fullmatch: "fullmatch",
});

/** What the names of a comprehension stand for in one of its rounds. */
type Rounds = ReadonlyMap<string, LocatedNode>;

const NO_ROUNDS: Rounds = new Map();

const HOLDS: Readonly<Record<string, (index: number, numbers: readonly number[]) => boolean>> = table({
  "<": (index, [bound = 0]) => index < bound,
  "<=": (index, [bound = 0]) => index <= bound,
  ">": (index, [bound = 0]) => index > bound,
  ">=": (index, [bound = 0]) => index >= bound,
  "==": (index, [bound]) => index === bound,
  "!=": (index, [bound]) => index !== bound,
  in: (index, numbers) => numbers.includes(index),
  "not in": (index, numbers) => !numbers.includes(index),
});
/** Names in a condition that are looked at. */
const MAX_NAMES = 16;

/** Tests that must hold together, or of which one must. */
function together(kind: "and" | "or", tests: readonly PythonTest[]): PythonTest {
  const [only] = tests;
  return tests.length === 1 && only !== undefined ? only : { kind, tests };
}

/** Pieces of a name between its dots. */
const MAX_PIECES = 16;

/** A regular expression that a name is asked for. */
type Matched = Extract<PythonTest, { kind: "text" }> & { readonly how: Numbered["how"] };

/** A number that is read of a name, as the pattern that the name fits where it is one of these. */
interface Numbered {
  readonly how: "search" | "match" | "fullmatch";
  readonly pattern: (numbers: readonly number[]) => string;
  readonly subject: PythonPath;
}

function anyOf(numbers: readonly number[]): string {
  return numbers.length === 0 ? "(?!)" : numbers.join("|");
}

/** Where the group of a number stands in a pattern, if all that it takes is digits. */
function groupIn(pattern: string, number: number): { readonly start: number; readonly end: number } | undefined {
  let count = 0;
  for (let at = 0; at < pattern.length; at++) {
    if (pattern[at] === "\\") at++;
    else if (pattern[at] === "(" && pattern[at + 1] !== "?" && ++count === number) {
      const inside = /^\((?:\\d|\[0-9\])\+\)/.exec(pattern.slice(at, at + 16));
      return inside === null ? undefined : { start: at, end: at + inside[0].length };
    }
  }
  return undefined;
}

export class Conditions {
  constructor(
    private readonly flow: Flow,
    private readonly evaluator: Evaluator,
    private readonly paths: Paths,
  ) {}

  /** What a condition asks. */
  test(node: SyntaxNode): PythonTest {
    return this.tested(node, NO_ROUNDS, 0);
  }

  private tested(node: SyntaxNode, rounds: Rounds, depth: number): PythonTest {
    const open: PythonTest = { kind: "open", raw: this.evaluator.slice(node) };
    if (depth > MAX_DEPTH || this.paths.isFar()) return open;
    const parts = childrenOf(node).filter(({ name }) => name !== "Comment");
    if (node.name === "ParenthesizedExpression") {
      const [inner] = bare(node);
      return inner === undefined ? open : this.tested(inner, rounds, depth + 1);
    }
    const lists = junction(node);
    if (lists !== undefined) {
      const all = lists.map((list) =>
        together(
          "and",
          list.map((one) => {
            const test = this.tested(one.node, rounds, depth + 1);
            return one.negated ? { kind: "not" as const, test } : test;
          }),
        ),
      );
      return together("or", all);
    }
    if (node.name === "BinaryExpression")
      return this.compared(parts, rounds) ?? this.numbered(parts) ?? this.roundsOf(node) ?? open;
    if (node.name === "CallExpression") return this.asked(node, rounds, depth) ?? open;
    // `m` of `m = re.search(PATTERN, name)`.
    const match = node.name === "VariableName" ? this.bound(node) : undefined;
    return (match && this.matched(match, rounds)) ?? open;
  }

  private compared(parts: readonly SyntaxNode[], rounds: Rounds): PythonTest | undefined {
    const [left, ...rest] = parts;
    const right = rest.at(-1);
    const operator = rest
      .slice(0, -1)
      .map((part) => this.evaluator.slice(part))
      .join(" ");
    if (left === undefined || right === undefined) return undefined;
    if (operator === "in" || operator === "not in") {
      const found = this.contained(left, right, rounds);
      return found === undefined || operator === "in" ? found : { kind: "not", test: found };
    }
    if (operator === "is" || operator === "is not") {
      // A match, or None.
      const matched = right.name === "None" && left.name === "CallExpression" ? this.matched(left, rounds) : undefined;
      return matched === undefined || operator === "is not" ? matched : { kind: "not", test: matched };
    }
    if (operator !== "==" && operator !== "!=") return undefined;
    const [text] = this.texts(right, rounds) ?? [];
    const subject = this.subject(left);
    if (text === undefined || subject === undefined) return undefined;
    const same: PythonTest = { kind: "text", how: "is", text, subject };
    return operator === "==" ? same : { kind: "not", test: same };
  }

  /** `int(name.split(".")[2]) < 6` as a pattern of the name; the number may have a name of its own. */
  private numbered(parts: readonly SyntaxNode[]): PythonTest | undefined {
    const [left, ...rest] = parts;
    const right = rest.at(-1);
    const asked = left && (this.pieceOf(left) ?? this.groupOf(left));
    if (asked === undefined || right === undefined) return undefined;
    const operator = rest
      .slice(0, -1)
      .map((part) => this.evaluator.slice(part))
      .join(" ");
    const value = this.evaluator.evaluate(right);
    const given = value.kind === "list" ? value.items : [value];
    const numbers = given.flatMap((one) => (one.kind === "scalar" && typeof one.value === "number" ? [one.value] : []));
    const holds = Object.hasOwn(HOLDS, operator) ? HOLDS[operator] : undefined;
    if (holds === undefined || numbers.length === 0 || numbers.length < given.length) return undefined;
    const at = Array.from({ length: MAX_PICKED }, (_, k) => k).filter((k) => holds(k, numbers));
    return { kind: "text", how: asked.how, text: asked.pattern(at), subject: asked.subject };
  }

  /** What a name with nothing else is bound to. */
  private bound(node: SyntaxNode): SyntaxNode | undefined {
    const [binding, ...others] = node.name === "VariableName" ? (this.flow.bindingsAt(node) ?? []) : [];
    const plain = others.length === 0 && binding?.element === undefined;
    return node.name !== "VariableName" ? node : plain ? (binding?.expression ?? undefined) : undefined;
  }

  /** A number that is read of a name: the piece between its dots (`int(name.split(".")[2])`), or how many there are (`len(name.split("."))`). */
  private pieceOf(node: SyntaxNode): Numbered | undefined {
    const expression = this.bound(node);
    const list = expression?.name === "CallExpression" ? childNamed(expression, "ArgList") : null;
    const callee = expression?.firstChild ?? null;
    if (callee === null || list === null) return undefined;
    const [item] = bare(list);
    const called = this.evaluator.slice(callee);
    if (called === "len") {
      const subject = item && this.split(item);
      const pieces = (at: readonly number[]) => {
        const counts = at
          .filter((count) => count > 0 && count <= MAX_PIECES)
          .map((count) => `[^.]*(?:\\.[^.]*){${count - 1}}`);
        return `(?:${counts.length === 0 ? "(?!)" : counts.join("|")})$`;
      };
      return subject && { how: "match", pattern: pieces, subject };
    }
    if (called !== "int") return undefined;
    const [split, bracket, at] = item?.name === "MemberExpression" ? childrenOf(item) : [];
    const index = bracket?.name === "[" && at !== undefined ? this.paths.number(at) : undefined;
    if (split === undefined || index === undefined || index < 0 || index > MAX_PIECES) return undefined;
    const subject = this.split(split);
    const pattern = (all: readonly number[]) => `(?:[^.]*\\.){${index}}(?:${anyOf(all)})(?:\\.|$)`;
    return subject && { how: "match", pattern, subject };
  }

  /** The name whose pieces between dots `name.split(".")` gives. */
  private split(node: SyntaxNode): PythonPath | undefined {
    const call = this.bound(node);
    const callee = call?.name === "CallExpression" ? call.firstChild : null;
    const dots = childNamed(call, "ArgList");
    if (callee?.name !== "MemberExpression" || callee.firstChild === null || dots === null) return undefined;
    const isSplit =
      this.evaluator.slice(callee.lastChild ?? callee) === "split" &&
      /^\(\s?["']\.["']\s?\)$/.test(this.evaluator.slice(dots));
    return isSplit ? this.subject(callee.firstChild) : undefined;
  }

  /** `int(m.group(1))` of a match: the pattern with these numbers in the group's place. */
  private groupOf(node: SyntaxNode): Numbered | undefined {
    const expression = this.bound(node);
    const called = expression?.firstChild ? this.evaluator.slice(expression.firstChild) : "";
    const list = expression?.name === "CallExpression" ? childNamed(expression, "ArgList") : null;
    const [group] = called === "int" && list !== null ? bare(list) : [];
    const callee = group?.name === "CallExpression" ? group.firstChild : null;
    const given = childNamed(group, "ArgList");
    if (callee?.name !== "MemberExpression" || callee.firstChild === null || given === null) return undefined;
    const [index] = bare(given);
    const at = index && this.paths.number(index);
    const match = this.bound(callee.firstChild);
    const test = match && this.matched(match, NO_ROUNDS);
    if (this.evaluator.slice(callee.lastChild ?? callee) !== "group" || at === undefined || test?.kind !== "text")
      return undefined;
    const place = groupIn(test.text, at);
    if (place === undefined) return undefined;
    const { start, end } = place;
    const pattern = (all: readonly number[]) =>
      `${test.text.slice(0, start)}(?:${anyOf(all)})(?![0-9])${test.text.slice(end)}`;
    return { how: test.how, pattern, subject: test.subject };
  }

  /** `i < 6` of `for i, layer in enumerate(layers)`: the rounds in which it holds. */
  private roundsOf(node: SyntaxNode): PythonTest | undefined {
    const names: SyntaxNode[] = [];
    node.cursor().iterate((cursor) => {
      if (cursor.name === "VariableName" && names.length < MAX_NAMES) names.push(cursor.node);
    });
    for (const name of names) {
      const [binding, ...others] = this.flow.bindingsAt(name) ?? [];
      const source = others.length > 0 || binding === undefined ? undefined : this.counted(binding);
      if (source === undefined) continue;
      const path = source && this.paths.of(source);
      const index = this.evaluator.slice(name);
      const chosen = this.paths.fromEnd(index, node) ?? this.paths.holding(index, [node]);
      return path && chosen.kind !== "unknown" ? { kind: "rounds", chosen, over: path } : undefined;
    }
    return undefined;
  }

  /** The sequence whose rounds a loop's name counts: `enumerate(layers)`, `range(len(layers))`. */
  private counted({ loop, element }: Binding): SyntaxNode | undefined {
    const over = loop?.over;
    const list = over?.name === "CallExpression" ? childNamed(over, "ArgList") : null;
    if (list == null || over?.firstChild == null) return undefined;
    const callee = this.evaluator.slice(over.firstChild);
    const [first, ...more] = bare(list);
    if (callee === "enumerate") return element === 0 ? first : undefined;
    const counts = callee === "range" && more.length === 0 && first?.name === "CallExpression" ? first : undefined;
    const inner = childNamed(counts, "ArgList");
    const isLength = counts?.firstChild != null && this.evaluator.slice(counts.firstChild) === "len";
    return isLength && inner !== null ? bare(inner)[0] : undefined;
  }

  /** `"norm" in name`, or `name in NAMES`. */
  private contained(left: SyntaxNode, right: SyntaxNode, rounds: Rounds): PythonTest | undefined {
    const [text] = this.texts(left, rounds) ?? [];
    const within = this.subject(right);
    if (text !== undefined && within !== undefined) return { kind: "text", how: "contains", text, subject: within };
    const subject = this.subject(left);
    const texts = this.texts(right, rounds);
    if (subject === undefined || texts === undefined) return undefined;
    return { kind: "or", tests: texts.map((text) => ({ kind: "text", how: "is", text, subject })) };
  }

  private asked(node: SyntaxNode, rounds: Rounds, depth: number): PythonTest | undefined {
    const callee = node.firstChild;
    const list = childNamed(node, "ArgList");
    if (callee === null || list === null) return undefined;
    const [argument] = bare(list);
    const name = this.evaluator.slice(callee);
    if (ANY.test(name)) return this.quantified(name, list, rounds, depth);
    if (name === "isinstance") return this.isInstance(bare(list));
    if (name === "bool" && argument !== undefined) return this.tested(argument, rounds, depth + 1);
    const matched = this.matched(node, rounds);
    if (matched !== undefined) return matched;
    const how = callee.name === "MemberExpression" ? HOW[this.evaluator.slice(callee.lastChild ?? callee)] : undefined;
    const subject = how === undefined || callee.firstChild === null ? undefined : this.subject(callee.firstChild);
    const texts = argument === undefined ? undefined : this.texts(argument, rounds);
    if (how === undefined || subject === undefined || texts === undefined) return undefined;
    return { kind: "or", tests: texts.map((text) => ({ kind: "text", how, text, subject })) };
  }

  /** `isinstance(m, (nn.LayerNorm, nn.Embedding))` of what a loop gives. */
  private isInstance([object, classes]: readonly SyntaxNode[]): PythonTest | undefined {
    const subject = object && this.subject(object);
    if (subject === undefined || classes === undefined) return undefined;
    const all = classes.name === "TupleExpression" ? bare(classes) : [classes];
    const names = all.map((one) => this.evaluator.slice(one).split(".").at(-1) ?? "");
    return names.every((name) => /^[A-Z]\w{0,60}$/.test(name))
      ? { kind: "instance", classes: names, subject }
      : undefined;
  }

  /** `re.search(PATTERN, name)`, or `PATTERN.search(name)` of a compiled one; flags change what is matched. */
  private matched(node: SyntaxNode, rounds: Rounds): Matched | undefined {
    const [callee, list] = [node.firstChild, childNamed(node, "ArgList")];
    if (callee?.name !== "MemberExpression" || callee.firstChild === null || list === null) return undefined;
    const how = MATCHES[this.evaluator.slice(callee.lastChild ?? callee)];
    if (how === undefined) return undefined;
    const given = bare(list);
    const ofModule = this.evaluator.slice(callee.firstChild) === "re";
    const [pattern, name] = ofModule ? given : [this.compiledFrom(callee.firstChild), given[0]];
    const subject = name && this.subject(name);
    const [text, ...others] = (pattern && this.texts(pattern, rounds)) ?? [];
    if (given.length !== (ofModule ? 2 : 1) || subject === undefined || text === undefined || others.length > 0)
      return undefined;
    return { kind: "text", how, text, subject };
  }

  /** The pattern in `NAME = re.compile(PATTERN)`. */
  private compiledFrom(node: SyntaxNode): SyntaxNode | undefined {
    const [binding, ...others] = node.name === "VariableName" ? (this.flow.bindingsAt(node) ?? []) : [];
    const made = node.name === "CallExpression" ? node : others.length === 0 ? binding?.expression : undefined;
    if (made?.firstChild == null || this.evaluator.slice(made.firstChild) !== "re.compile") return undefined;
    const list = childNamed(made, "ArgList");
    const [pattern, ...flags] = list === null ? [] : bare(list);
    return flags.length === 0 ? pattern : undefined;
  }

  /** `any(key in name for key in KEYS)`. */
  private quantified(name: string, list: SyntaxNode, rounds: Rounds, depth: number): PythonTest | undefined {
    const inner = bare(list)[0];
    const holder = inner !== undefined && /Comprehension/.test(inner.name) ? inner : list;
    const children = childrenOf(holder).filter((child) => !/^(?:[()[\]]|Comment)$/.test(child.name));
    const at = children.findIndex((child) => child.name === "for");
    const [test, target, over] = [children[0], children[at + 1], children[at + 3]];
    if (at < 1 || test === undefined || target === undefined || over === undefined || children.length > at + 4)
      return undefined;
    const items = this.evaluator.evaluate(over);
    if (items.kind !== "list") return undefined;
    const key = this.evaluator.slice(target);
    const tests = items.items.map((item) => this.tested(test, new Map([...rounds, [key, item]]), depth + 1));
    return { kind: name === "any" ? "or" : "and", tests };
  }

  /** A name that a loop gives. */
  private subject(node: SyntaxNode): PythonPath | undefined {
    const path = this.paths.of(node);
    return path?.steps.at(-1)?.kind === "each" ? path : undefined;
  }

  /** One text, or several. */
  private texts(node: SyntaxNode, rounds: Rounds): readonly string[] | undefined {
    const value = this.evaluator.inRound(node, rounds);
    const items = value.kind === "list" ? value.items : [value];
    const texts = items.flatMap((item) =>
      item.kind === "scalar" && typeof item.value === "string" ? [item.value] : [],
    );
    return texts.length === items.length && texts.length > 0 ? texts : undefined;
  }
}
