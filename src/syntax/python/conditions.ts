/** Whether a place of a module runs, as far as the conditions around it are known. */
import type { SyntaxNode } from "@lezer/common";
import type { LocatedNode } from "../tree";
import { truth } from "./literals";
import { childrenOf } from "./nodes";

/** Deepest nesting that is looked through. */
const MOST_AROUND = 100;

/** Whether `node` stands in a branch of an `if` that is known not to run. */
export function isSkipped(node: SyntaxNode, evaluate: (condition: SyntaxNode) => LocatedNode): boolean {
  let inner = node;
  for (let depth = 0; depth < MOST_AROUND && inner.parent !== null; depth++) {
    const around = inner.parent;
    if (around.name === "IfStatement" && inner.name === "Body" && !branchRuns(around, inner, evaluate)) return true;
    inner = around;
  }
  return false;
}

/** False when the branch is known not to run: its condition is false, or an earlier one is true. */
function branchRuns(around: SyntaxNode, body: SyntaxNode, evaluate: (condition: SyntaxNode) => LocatedNode): boolean {
  const parts = childrenOf(around).filter(({ name }) => name !== "Comment");
  for (const [index, part] of parts.entries()) {
    if (part.name !== "if" && part.name !== "elif") continue;
    const condition = parts[index + 1];
    const own = parts[index + 2]?.from === body.from;
    const value = condition === undefined || condition.from >= body.from ? undefined : evaluate(condition);
    const holds = value?.kind === "scalar" ? truth(value.value) : undefined;
    if (own) return holds !== false;
    if (holds === true) return false;
  }
  return true;
}
