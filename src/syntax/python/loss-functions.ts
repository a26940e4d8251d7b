/** Functions of a module that a loss of its own calls. */
import type { LossFunction } from "../../terms/own-loss";
import type { Collector } from "./collect";
import { functionTree } from "./own-loss";
import type { Evaluator } from "./values";

/** Functions that one loss calls, and what is looked through for them. */
const MOST_FUNCTIONS = 16;

/** Those whose names stand in a tree, and in the functions themselves; one that is not read is left out. */
export function functionsIn(
  tree: unknown,
  found: Collector,
  evaluator: Evaluator,
): { readonly functions?: Readonly<Record<string, LossFunction>> } {
  const functions = new Map<string, LossFunction>();
  const waiting = [JSON.stringify(tree)];
  for (let text = waiting.pop(); text !== undefined; text = waiting.pop())
    for (const [, name = ""] of text.matchAll(/"call":\{"name":"(\w{1,80})"\}/g)) {
      const node = functions.has(name) || functions.size >= MOST_FUNCTIONS ? undefined : found.functionNamed(name);
      const own = node && functionTree(node, (one) => evaluator.slice(one), found.bound);
      if (own === undefined) continue;
      functions.set(name, own);
      waiting.push(JSON.stringify(own));
    }
  return functions.size === 0 ? {} : { functions: Object.fromEntries(functions) };
}
