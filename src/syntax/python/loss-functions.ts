/** Functions of a module that a loss of its own calls. */
import type { SyntaxNode } from "@lezer/common";
import type { LossFunction } from "../../terms/own-loss";
import type { Collector } from "./collect";
import { childNamed } from "./nodes";
import { functionTree } from "./own-loss";
import type { Evaluator } from "./values";

/** Functions that one loss calls, and what is looked through for them. */
const MOST_FUNCTIONS = 16;

/** A function, or a method of the object whose loss it is. */
const CALLED = /"call":\{(?:"name":"(\w{1,80})"\}|"of":\{"name":"self"\},"attribute":"(\w{1,80})")/g;

/** The one method of a name; undefined: none, or several. */
function methodNamed(name: string, found: Collector, evaluator: Evaluator): SyntaxNode | undefined {
  const [only, ...others] = found.functionNodes.filter(
    (node) =>
      node.parent?.parent?.name === "ClassDefinition" &&
      evaluator.slice(childNamed(node, "VariableName") ?? node) === name,
  );
  return others.length === 0 ? only : undefined;
}

/** Those whose names stand in a tree, and in the functions themselves; one that is not read is left out. */
export function functionsIn(
  tree: unknown,
  found: Collector,
  evaluator: Evaluator,
): { readonly functions?: Readonly<Record<string, LossFunction>> } {
  const functions = new Map<string, LossFunction>();
  const waiting = [JSON.stringify(tree)];
  for (let text = waiting.pop(); text !== undefined; text = waiting.pop())
    for (const [, own, method = ""] of text.matchAll(CALLED)) {
      const name = own ?? `self.${method}`;
      const isKnown = functions.has(name) || functions.size >= MOST_FUNCTIONS;
      const node = isKnown
        ? undefined
        : own === undefined
          ? methodNamed(method, found, evaluator)
          : found.functionNamed(own);
      const tree = node && functionTree(node, (one) => evaluator.slice(one), found.bound);
      if (tree === undefined) continue;
      functions.set(name, tree);
      waiting.push(JSON.stringify(tree));
    }
  return functions.size === 0 ? {} : { functions: Object.fromEntries(functions) };
}
