/** What names that a loss uses are bound to outside of it. */
import type { SyntaxNode } from "@lezer/common";
import type { LossExpression, OwnLoss } from "../../terms/own-loss";
import type { Collector } from "./collect";
import { expressionTree } from "./own-loss";
import { argumentNode, parametersOf } from "./parameters";
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

/** What a module binds to numbers and to what torch gives; found once, where something asks. */
export type Outside = () => OwnLoss["outside"];

/** Names that a loss may use; a module with more has none for the rest. */
const MOST_OUTSIDE = 500;

export function outsideOf(all: Collector, evaluator: Evaluator): Outside {
  let found: OwnLoss["outside"] | undefined;
  const slice = (one: SyntaxNode): string => evaluator.slice(one);
  return () => {
    found ??= made([...givenTo(all, slice), ...all.assigned], slice, all.bound);
    return found;
  };
}

/** What of the names outside stands in a tree. */
export function usedIn(tree: unknown, outside: Outside): OwnLoss["outside"] {
  const text = JSON.stringify(tree);
  return Object.fromEntries(Object.entries(outside()).filter(([name]) => text.includes(`"${name.split(".").at(-1)}"`)));
}

/** A name and what is bound to it. */
interface Binding {
  readonly name: SyntaxNode;
  readonly value: SyntaxNode;
}

/** What the parameters of functions are given that one call calls (`train(model, nn.MSELoss())`), or stand for without. */
function givenTo(found: Collector, slice: (one: SyntaxNode) => string): readonly Binding[] {
  return found.functionNodes.flatMap((node) =>
    parametersOf(node, slice).flatMap((parameter) => {
      const [call, ...others] = parameter.function === undefined ? [] : found.callsOf(parameter.function);
      if (others.length > 0) return [];
      const value = (call && argumentNode(call, parameter, slice)) ?? parameter.standard;
      return value === null || value === undefined ? [] : [{ name: parameter.node, value }];
    }),
  );
}

function made(
  bindings: readonly Binding[],
  slice: (one: SyntaxNode) => string,
  bound: ReadonlyMap<string, string>,
): OwnLoss["outside"] {
  const known = new Map<string, LossExpression>();
  for (const { name, value } of bindings.filter((one) => MADE.test(one.value.name)).slice(0, MOST_OUTSIDE)) {
    const tree = expressionTree(value, slice, bound);
    if (tree !== undefined && isOfTorch(tree)) known.set(slice(name), tree);
  }
  // A parameter has another name than what it is given.
  for (const { name, value } of bindings.filter((one) => one.value.name === "VariableName").slice(0, MOST_OUTSIDE)) {
    const tree = known.get(slice(value));
    if (tree !== undefined && !known.has(slice(name))) known.set(slice(name), tree);
  }
  return Object.fromEntries(known);
}
