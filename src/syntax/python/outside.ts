/** What names that a loss uses are bound to outside of it, as Python looks them up: in the functions around it, then in the module. */
import type { SyntaxNode } from "@lezer/common";
import type { LossExpression, OwnLoss } from "../../terms/own-loss";
import type { Collector } from "./collect";
import { expressionTree } from "./own-loss";
import { argumentNode, type Parameter, parametersOf } from "./parameters";
import type { Evaluator } from "./values";

/** What a name outside of it may be bound to. */
const MADE = /^(?:Number|CallExpression)$/;

/** A number, or what a call of torch gives. */
function isOfTorch(made: LossExpression): boolean {
  if ("value" in made && !("each" in made)) return true;
  let root: LossExpression | undefined = "call" in made ? made.call : undefined;
  while (root !== undefined && "attribute" in root) root = root.of;
  return root !== undefined && "name" in root && /^torch\b/.test(root.name);
}

/** What of the names outside of a place stands in a tree. */
export type Outside = (tree: unknown, at: SyntaxNode) => OwnLoss["outside"];

/** Bindings that are looked at; a module with more has none for the rest. */
const MOST_BINDINGS = 2000;
/** Functions that hand a value on, and calls of one function, that are followed. */
const MOST_STEPS = 8;
const TEXT = /"([^"]{1,200})"/g;

/** Names are found once, where something asks. */
export function outsideOf(all: Collector, evaluator: Evaluator): Outside {
  let names: Names | undefined;
  return (tree, at) => {
    names ??= new Names(all, (node) => evaluator.slice(node));
    return names.usedIn(tree, at);
  };
}

/** A name's value, as it is assigned, or the parameter that it is. */
type Binding = SyntaxNode | Parameter;

const SCOPE = /^(?:Function|Class)Definition$/;

/** The function or class that a place is in; null: the module. */
function scopeAround(node: SyntaxNode, kind = SCOPE): SyntaxNode | null {
  let at = node.parent;
  while (at !== null && !kind.test(at.name)) at = at.parent;
  return at;
}

class Names {
  /** By scope and name; attributes (`self.loss`) are their class's, whatever method sets them. */
  private readonly bindings = new Map<string, Binding[]>();
  private readonly names = new Set<string>();

  constructor(
    private readonly found: Collector,
    private readonly slice: (node: SyntaxNode) => string,
  ) {
    for (const { name, value } of found.assigned.slice(0, MOST_BINDINGS)) {
      const scope = name.name === "MemberExpression" ? scopeAround(name, /^ClassDefinition$/) : scopeAround(name);
      this.bind(scope, slice(name), value);
    }
    const parameters = found.functionNodes
      .slice(0, MOST_BINDINGS)
      .flatMap((node) => parametersOf(node, slice).map((parameter) => ({ node, parameter })));
    for (const { node, parameter } of parameters.slice(0, MOST_BINDINGS)) this.bind(node, parameter.name, parameter);
  }

  usedIn(tree: unknown, at: SyntaxNode): OwnLoss["outside"] {
    const texts = new Set([...JSON.stringify(tree).matchAll(TEXT)].map(([, text]) => text));
    const used = [...this.names].filter((name) => texts.has(name.split(".").at(-1)));
    return Object.fromEntries(
      used.flatMap((name) => {
        const made = name.includes(".") ? this.attribute(name, at) : this.named(name, at, 0);
        return made === undefined ? [] : [[name, made] as const];
      }),
    );
  }

  private bind(scope: SyntaxNode | null, name: string, binding: Binding): void {
    this.names.add(name);
    const key = keyOf(scope, name);
    this.bindings.set(key, [...(this.bindings.get(key) ?? []), binding]);
  }

  /** What a name stands for where it is used; undefined: nothing, or what is not read. */
  private named(name: string, at: SyntaxNode, steps: number): LossExpression | undefined {
    let scope: SyntaxNode | null = at.name === "FunctionDefinition" ? at : scopeAround(at, /^FunctionDefinition$/);
    while (scope !== null && !this.bindings.has(keyOf(scope, name))) scope = scopeAround(scope, /^FunctionDefinition$/);
    return this.last(this.bindings.get(keyOf(scope, name)) ?? [], steps);
  }

  /** An attribute as the class around sets it; outside of one as any does. */
  private attribute(name: string, at: SyntaxNode): LossExpression | undefined {
    const type = at.name === "ClassDefinition" ? at : scopeAround(at, /^ClassDefinition$/);
    const own = this.bindings.get(keyOf(type, name));
    if (own !== undefined) return this.last(own, 0);
    const others = [null, ...this.found.classNodes].flatMap((one) => this.bindings.get(keyOf(one, name)) ?? []);
    return this.last(others, 0);
  }

  private last(bindings: readonly Binding[], steps: number): LossExpression | undefined {
    return bindings
      .map((one) => ("standard" in one ? this.given(one, steps) : this.made(one, steps)))
      .findLast((one) => one !== undefined);
  }

  private made(value: SyntaxNode, steps: number): LossExpression | undefined {
    if (value.name === "VariableName")
      return steps < MOST_STEPS ? this.named(this.slice(value), value, steps + 1) : undefined;
    const tree = MADE.test(value.name) ? expressionTree(value, this.slice, this.found.bound) : undefined;
    return tree !== undefined && isOfTorch(tree) ? tree : undefined;
  }

  /** What all calls of a function give its parameter (`train(model, nn.MSELoss())`), or it stands for without. */
  private given(parameter: Parameter, steps: number): LossExpression | undefined {
    const { function: called, standard } = parameter;
    const calls = called === undefined ? [] : this.found.callsOf(called);
    if (calls.length > MOST_STEPS) return undefined;
    const values = calls.map((call) => argumentNode(call, parameter, this.slice) ?? standard);
    const [first, ...others] = (calls.length === 0 ? [standard] : values).map(
      (value) => value && this.made(value, steps),
    );
    const isSame = others.every((one) => JSON.stringify(one) === JSON.stringify(first));
    return isSame ? (first ?? undefined) : undefined;
  }
}

function keyOf(scope: SyntaxNode | null, name: string): string {
  return `${scope?.from ?? -1}:${name}`;
}
