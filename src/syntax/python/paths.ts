/** Ways from names to parts of objects. */

import type { SyntaxNode } from "@lezer/common";
import type { Bound } from "../../terms/weights";
import { MAX_DEPTH } from "../text";
import type { LocatedNode, PythonPath, PythonStep } from "../tree";
import { LONGEST_NAME, MAX_WAYS } from "./bounds";
import type { Flow } from "./flow";
import type { Binding, Loop } from "./names";
import { childNamed, childrenOf } from "./nodes";
import type { Parameter } from "./parameters";
import type { Evaluator } from "./values";

/** Calls that hand on what they are given, element by element. */
const HANDS_ON = /^(?:list|tuple|iter|reversed|sorted|tqdm)$/;
/** A list of modules, made of others. */
const MODULES = /(?:^|\.)ModuleList$/;

/** How many layers a model has, as scripts ask for it. */
const COUNTS = /^(?:len\([\w.]{1,120}\)|[\w.]{1,120}\.config\.(?:num_hidden_layers|n_layer|num_layers))$/;
/** Layers of the deepest models are fewer. */
export const MAX_PICKED = 256;
/** Rounds asked in one module; no script has so many loops with conditions. */
const MAX_ASKS = 64 * MAX_PICKED;

function numberAt(value: number, { from: start, to: end }: SyntaxNode): LocatedNode {
  return { kind: "scalar", value, raw: String(value), start, end };
}

/** Children without brackets, commas and comments. */
export function bare(node: SyntaxNode): SyntaxNode[] {
  return childrenOf(node).filter(({ name }) => !/^(?:[()[\],:]|Comment|⚠)$/.test(name));
}

/** Calls of one function whose arguments are looked at. */
const MAX_CALLS = 16;
/** Items of a list that a loop goes over. */
const MAX_LISTED = 64;

export class Paths {
  /** Which call of its function gives a parameter what it stands for, and how many there are. */
  private call = 0;
  private calls = 1;
  /** Which item of a written list a loop's name stands for, and how many there are. */
  private round = 0;
  private rounds = 1;
  /** Rounds of loops that were asked whether a condition holds in them. */
  private asks = 0;
  /** Calls of methods, by where what they belong to is made. */
  private additions: ReadonlyMap<number, readonly SyntaxNode[]> | undefined;
  /** What was followed so far. */
  private ways = 0;

  constructor(
    private readonly flow: Flow,
    private readonly evaluator: Evaluator,
    private readonly callNodes: readonly SyntaxNode[],
  ) {}

  /** The ways to what an expression is: in a function, one for each call of it. */
  each(node: SyntaxNode): readonly PythonPath[] {
    const paths: PythonPath[] = [];
    this.calls = 1;
    for (this.call = 0; this.call < Math.min(this.calls, MAX_CALLS); this.call++) {
      this.rounds = 1;
      for (this.round = 0; this.round < Math.min(this.rounds, MAX_LISTED); this.round++) {
        const path = this.of(node);
        if (path !== undefined) paths.push(path);
      }
    }
    this.call = 0;
    this.round = 0;
    return paths;
  }

  /** Counts what is followed; true: that was too much. */
  isFar(): boolean {
    return ++this.ways > MAX_WAYS;
  }

  /** The way to what an expression is; undefined: it is no part of an object that has a name. */
  of(node: SyntaxNode, depth = 0): PythonPath | undefined {
    if (depth > MAX_DEPTH || this.isFar()) return undefined;
    switch (node.name) {
      case "VariableName":
        return this.named(node, depth);
      case "MemberExpression":
        return this.member(node, depth);
      case "CallExpression":
        return this.called(node, depth);
      case "ParenthesizedExpression": {
        const [inner] = bare(node);
        return inner === undefined ? undefined : this.of(inner, depth + 1);
      }
      case "ArrayComprehensionExpression":
      case "ComprehensionExpression":
        return this.comprehended(node, depth);
      default:
        return undefined;
    }
  }

  private named(node: SyntaxNode, depth: number): PythonPath {
    const [binding, ...others] = this.flow.bindingsAt(node) ?? [];
    const behind = binding === undefined || others.length > 0 ? undefined : this.behind(binding, depth);
    return behind ?? { root: this.evaluator.slice(node), object: this.evaluator.evaluate(node), steps: [] };
  }

  /** The way that a name is bound to; undefined: the name itself is where ways begin. */
  private behind(binding: Binding, depth: number): PythonPath | undefined {
    if (binding.loop !== undefined) return this.iterated(binding.loop, binding.element ?? 0, depth);
    const { element } = binding;
    const expression = binding.parameter === undefined ? binding.expression : this.given(binding.parameter);
    if (expression === null || element !== undefined || !/^(?:Variable|Member|Call)/.test(expression.name))
      return undefined;
    const filled = this.filled(expression, depth);
    if (filled !== undefined) return filled;
    const path = this.of(expression, depth + 1);
    // What a class or a module makes is an object of its own.
    return path !== undefined && this.isBound(expression) ? path : undefined;
  }

  /** What a list of modules that is made empty is filled with, one after another (`for i in KEEP: new.append(old[i])`). */
  private filled(expression: SyntaxNode, depth: number): PythonPath | undefined {
    const list = expression.name === "CallExpression" ? childNamed(expression, "ArgList") : null;
    const callee = list !== null && bare(list).length === 0 ? expression.firstChild : null;
    if (callee === null || !MODULES.test(this.evaluator.slice(callee))) return undefined;
    const adds = this.additionsTo(expression);
    const [add, ...more] = adds;
    if (add?.firstChild == null || more.length > 0 || this.flow.reachedAt(add)?.guards.length !== 0) return undefined;
    const given = childNamed(add, "ArgList");
    const [element] = given === null ? [] : bare(given);
    if (element === undefined || this.evaluator.slice(add.firstChild.lastChild ?? add) !== "append") return undefined;
    const path = this.of(element, depth + 1);
    if (path === undefined) return undefined;
    // The last step is the round's.
    return path.steps.at(-1)?.kind === "each" ? { ...path, steps: path.steps.slice(0, -1) } : path;
  }

  /** The first two calls of methods of what an expression makes, where a name stands for nothing else. */
  private additionsTo({ from }: SyntaxNode): readonly SyntaxNode[] {
    if (this.additions === undefined) {
      const found = new Map<number, SyntaxNode[]>();
      for (const call of this.callNodes) {
        const owner = call.firstChild?.name === "MemberExpression" ? call.firstChild.firstChild : null;
        const bindings = owner?.name === "VariableName" ? (this.flow.bindingsAt(owner) ?? []) : [];
        const at = bindings.length === 1 ? bindings[0]?.expression?.from : undefined;
        if (at !== undefined) found.set(at, [...(found.get(at) ?? []), call].slice(0, 2));
      }
      this.additions = found;
    }
    return this.additions.get(from) ?? [];
  }

  /** What the call gives a parameter. */
  private given(parameter: Parameter): SyntaxNode | null {
    const given = this.evaluator.argumentNodes(parameter);
    this.calls = Math.max(this.calls, given.length);
    return given[Math.min(this.call, given.length - 1)] ?? null;
  }

  private isBound(node: SyntaxNode): boolean {
    let root: SyntaxNode | null = node;
    while (root !== null && root.name !== "VariableName") {
      const list: SyntaxNode | null = childNamed(root, "ArgList");
      const isPlainCall: boolean = root.name === "CallExpression" && root.firstChild?.name === "VariableName";
      root = isPlainCall && list !== null ? (bare(list)[0] ?? null) : root.firstChild;
    }
    const [binding] = root === null ? [] : (this.flow.bindingsAt(root) ?? []);
    return binding !== undefined && binding.function === undefined && binding.reason.id !== "open.class";
  }

  private iterated({ over, targets }: Loop, element: number, depth: number): PythonPath | undefined {
    const listed = targets === 1 ? this.listed(over) : undefined;
    if (listed !== undefined) return this.ofListed(listed, depth);
    const list = over.name === "CallExpression" ? childNamed(over, "ArgList") : null;
    const callee =
      over.name === "CallExpression" && over.firstChild !== null ? this.evaluator.slice(over.firstChild) : "";
    const each: PythonStep = { kind: "each", element, names: targets };
    if (list !== null && (callee === "enumerate" || callee === "zip")) {
      const source = bare(list)[callee === "zip" ? element : 0];
      if (source === undefined || (callee === "enumerate" && element === 0)) return undefined;
      const path = this.of(source, depth + 1);
      const inner: PythonStep =
        callee === "enumerate" && targets > 2
          ? { kind: "each", element: element - 1, names: targets - 1 }
          : { kind: "each", element: 0, names: 1 };
      return path && { ...path, steps: [...path.steps, inner] };
    }
    const path = this.of(over, depth + 1);
    return path && { ...path, steps: [...path.steps, each] };
  }

  /** The list that is written where a loop goes over it, or a name for it. */
  private listed(over: SyntaxNode): SyntaxNode | undefined {
    const [binding, ...others] = over.name === "VariableName" ? (this.flow.bindingsAt(over) ?? []) : [];
    const node = over.name === "VariableName" && others.length === 0 ? binding?.expression : over;
    return node != null && /^(?:Array|Tuple)Expression$/.test(node.name) ? node : undefined;
  }

  /** An item of such a list: a part of an object, or each of those that are put in (`[model.embeddings, *model.layer[:8]]`). */
  private ofListed(list: SyntaxNode, depth: number): PythonPath | undefined {
    const items = childrenOf(list).filter(({ name }) => !/^(?:[()[\],]|Comment|⚠)$/.test(name));
    const spread = (at: number) => this.evaluator.slice(items[at] as SyntaxNode) === "*";
    const all = items.flatMap((node, at) => (spread(at) ? [] : [{ node, each: at > 0 && spread(at - 1) }]));
    this.rounds = Math.max(this.rounds, all.length);
    const one = all[Math.min(this.round, all.length - 1)];
    const path = one && this.of(one.node, depth + 1);
    if (path === undefined || one?.each !== true) return path;
    return { ...path, steps: [...path.steps, { kind: "each", element: 0, names: 1 }] };
  }

  private member(node: SyntaxNode, depth: number): PythonPath | undefined {
    const children = childrenOf(node);
    const [object, second] = children;
    if (object === undefined) return undefined;
    const [binding, ...others] = this.flow.bindingsAt(node) ?? [];
    const behind = binding === undefined || others.length > 0 ? undefined : this.behind(binding, depth);
    if (behind !== undefined) return behind;
    const path = this.of(object, depth + 1);
    if (path === undefined) return undefined;
    const step: PythonStep =
      second?.name === "["
        ? this.items(
            children.slice(2).filter(({ name }) => name !== "]" && name !== "Comment"),
            depth,
          )
        : { kind: "attribute", name: this.evaluator.slice(node.lastChild ?? node) };
    return { ...path, steps: [...path.steps, step] };
  }

  private items(inside: readonly SyntaxNode[], depth: number): PythonStep {
    if (inside.some(({ name }) => name === ":")) return this.sliced(inside);
    const [index] = inside;
    if (index === undefined) return { kind: "unknown" };
    const at = this.number(index);
    if (at !== undefined) return { kind: "items", from: at, to: at === -1 ? null : at + 1 };
    return this.counted(index, depth);
  }

  /** `layers[from:to:step]`; steps back are none that anybody takes. */
  private sliced(inside: readonly SyntaxNode[]): PythonStep {
    const bounds: (Bound | null | undefined)[] = [null];
    for (const node of inside)
      if (node.name === ":") bounds.push(null);
      else bounds.push(bounds.pop() === null ? this.bound(node) : undefined);
    const [from, to, step = null] = bounds;
    const steps = step === null || (typeof step === "number" && step >= 1);
    if (bounds.length > 3 || bounds.includes(undefined) || !steps || Object.is(from, -0)) return { kind: "unknown" };
    const end = Object.is(to, -0) ? null : to;
    return { kind: "items", from: from ?? 0, to: end ?? null, ...(step === null ? {} : { step }) };
  }

  /** Elements by indices that are known, each once. */
  private picked(indices: LocatedNode): PythonStep {
    const items = indices.kind === "list" ? indices.items : [];
    const at = items.flatMap((item) =>
      item.kind === "scalar" && Number.isInteger(item.value) ? [Number(item.value)] : [],
    );
    const isEach = at.length > 0 && at.length === items.length && new Set(at).size === at.length;
    return isEach ? { kind: "picked", at } : { kind: "unknown" };
  }

  /** `[layers[i] for i in [0, 2, 4]]`, `[layer for i, layer in enumerate(layers) if i % 2 == 0]`. */
  private comprehended(node: SyntaxNode, depth: number): PythonPath | undefined {
    const parts = childrenOf(node).filter(({ name }) => !/^(?:[()[\],]|Comment)$/.test(name));
    const at = parts.findIndex(({ name }) => name === "in");
    const [item, over] = [parts[0], parts[at + 1]];
    if (item === undefined || over === undefined || at < 2 || parts[1]?.name !== "for") return undefined;
    const targets = parts.slice(2, at).map((target) => this.evaluator.slice(target));
    const conditions = parts.slice(at + 2).filter(({ name }) => name !== "if");
    if (conditions.length * 2 !== parts.length - at - 2) return undefined;
    const taken = this.evaluator.slice(item);
    const list = over.name === "CallExpression" ? childNamed(over, "ArgList") : null;
    const counts = list !== null && over.firstChild !== null && this.evaluator.slice(over.firstChild) === "enumerate";
    const source = counts ? bare(list)[0] : over;
    const [index = ""] = targets;
    if (source !== undefined && targets.length === (counts ? 2 : 1) && taken === targets.at(-1)) {
      const path = this.of(source, depth + 1);
      if (path === undefined || conditions.length === 0) return path;
      const chosen = counts ? this.holding(index, conditions) : undefined;
      return chosen && { ...path, steps: [...path.steps, chosen] };
    }
    // `layers[i]`
    const [object, bracket, inside, ...rest] = item.name === "MemberExpression" ? childrenOf(item) : [];
    if (object === undefined || bracket?.name !== "[" || inside === undefined || rest.length !== 1) return undefined;
    if (targets.length !== 1 || conditions.length > 0 || this.evaluator.slice(inside) !== index) return undefined;
    const path = this.of(object, depth + 1);
    return path && { ...path, steps: [...path.steps, this.picked(this.evaluator.evaluate(over))] };
  }

  /** The indices of which conditions hold; those of lists longer than anybody's are not asked for. */
  holding(index: string, conditions: readonly SyntaxNode[]): PythonStep {
    const at: number[] = [];
    this.asks += MAX_PICKED;
    if (this.asks > MAX_ASKS) return { kind: "unknown" };
    for (let k = 0; k < MAX_PICKED; k++) {
      const round = new Map([[index, numberAt(k, conditions[0] as SyntaxNode)]]);
      const holds = conditions.map((one) => this.evaluator.inRound(one, round));
      if (holds.some((one) => one.kind !== "scalar" || typeof one.value !== "boolean")) return { kind: "unknown" };
      if (holds.every((one) => one.kind === "scalar" && one.value === true)) at.push(k);
    }
    return { kind: "picked", at };
  }

  /** `i < len(layers) - 2`, `i >= count - 2`: the indices on one side of a bound that is counted from the end; undefined: another condition. */
  fromEnd(index: string, node: SyntaxNode): PythonStep | undefined {
    const [left, operator, right] = node.name === "BinaryExpression" ? bare(node) : [];
    if (left === undefined || operator === undefined || right === undefined) return undefined;
    if (this.evaluator.slice(left) !== index || this.number(right) !== undefined) return undefined;
    const bound = this.bound(right);
    const sign = this.evaluator.slice(operator);
    if (bound === undefined || !/^(?:<|>=)$/.test(sign)) return undefined;
    const isEnd = Object.is(bound, -0);
    if (sign === "<") return { kind: "items", from: 0, to: isEnd ? null : bound };
    return isEnd ? { kind: "picked", at: [] } : { kind: "items", from: bound, to: null };
  }

  number(node: SyntaxNode): number | undefined {
    const value = this.evaluator.evaluate(node);
    return value.kind === "scalar" && typeof value.value === "number" ? value.value : undefined;
  }

  /** `layers[i]` where `i` counts over a range. */
  private counted(node: SyntaxNode, depth: number): PythonStep {
    const [binding, ...others] = this.flow.bindingsAt(node) ?? [];
    const over = others.length === 0 ? binding?.loop?.over : undefined;
    if (over === undefined || depth > MAX_DEPTH) return { kind: "unknown" };
    if (over.name !== "CallExpression" || over.firstChild === null)
      return binding?.loop?.targets === 1 ? this.picked(this.evaluator.evaluate(over)) : { kind: "unknown" };
    const callee = this.evaluator.slice(over.firstChild);
    const list = childNamed(over, "ArgList");
    const bounds = list === null ? [] : bare(list).map((one) => this.number(one));
    if (callee === "range" && list !== null && bounds.includes(undefined)) return this.countedFromEnd(bare(list));
    if (callee === "enumerate" && binding?.element === 0) return { kind: "items", from: 0, to: null };
    const [first, second] = bounds;
    if (callee !== "range" || bounds.length > 2 || first === undefined)
      return this.picked(this.evaluator.evaluate(over));
    if (bounds.length === 1) return { kind: "items", from: 0, to: first };
    return second === undefined ? { kind: "unknown" } : { kind: "items", from: first, to: second };
  }

  /** `range(len(layers) - 2)`, `range(config.num_hidden_layers)`: bounds from the end of the list. */
  private countedFromEnd(bounds: readonly SyntaxNode[]): PythonStep {
    const ends = bounds.map((one) => this.bound(one));
    const [first, second] = ends.length === 1 ? [0, ...ends] : ends;
    if (ends.length > 2 || first === undefined || second === undefined || Object.is(first, -0))
      return { kind: "unknown" };
    return { kind: "items", from: first, to: Object.is(second, -0) ? null : second };
  }

  /** A bound as Python's slices take it: negative ones count from the end, -0 is the end itself. */
  private bound(node: SyntaxNode, depth = 0): Bound | undefined {
    const known = this.number(node);
    if (known !== undefined || depth > MAX_DEPTH) return known;
    const [binding, ...others] = node.name === "VariableName" ? (this.flow.bindingsAt(node) ?? []) : [];
    if (node.name === "VariableName")
      return others.length > 0 || binding?.expression == null ? undefined : this.bound(binding.expression, depth + 1);
    if (node.name === "BinaryExpression") {
      const [left, operator, right] = childrenOf(node).filter(({ name }) => name !== "Comment");
      const by = right && this.number(right);
      const end = left && this.bound(left, depth + 1);
      if (operator === undefined || by === undefined || by < 0 || !Object.is(end, -0)) return undefined;
      const sign = this.evaluator.slice(operator);
      if (sign === "//") return by === 0 ? undefined : { divided: by };
      return sign === "-" ? -by : undefined;
    }
    return COUNTS.test(this.evaluator.slice(node)) ? -0 : undefined;
  }

  private called(node: SyntaxNode, depth: number): PythonPath | undefined {
    const callee = node.firstChild;
    const list = childNamed(node, "ArgList");
    if (callee === null || list === null) return undefined;
    if (callee.to - callee.from > LONGEST_NAME) return undefined;
    const name = this.evaluator.slice(callee);
    const [first, second] = bare(list);
    if (MODULES.test(name)) return first && this.of(first, depth + 1);
    if (callee.name === "VariableName") {
      if (HANDS_ON.test(name) && first !== undefined) return this.of(first, depth + 1);
      if (name !== "getattr" || first === undefined || second === undefined) return undefined;
      const attribute = this.evaluator.evaluate(second);
      const path = this.of(first, depth + 1);
      if (path === undefined || attribute.kind !== "scalar") return undefined;
      return { ...path, steps: [...path.steps, { kind: "attribute", name: String(attribute.value) }] };
    }
    if (callee.name !== "MemberExpression" || callee.firstChild === null) return undefined;
    const path = this.of(callee.firstChild, depth + 1);
    const method = this.evaluator.slice(callee.lastChild ?? callee);
    return path && { ...path, steps: [...path.steps, { kind: "call", name: method }] };
  }
}
