/** What assignments and loops bind. */
import type { SyntaxNode } from "@lezer/common";
import { childrenOf } from "./nodes";

/** `a, b` or `[a, b]`, whose items are bound. */
export function isSequence({ name }: SyntaxNode): boolean {
  return name === "TupleExpression" || name === "ArrayExpression";
}

export function itemsOf(node: SyntaxNode): SyntaxNode[] {
  return childrenOf(node).filter(({ name }) => !/^(?:[()[\],]|Comment|\*)$/.test(name));
}

/** Names that a target binds. */
export function flat(node: SyntaxNode): SyntaxNode[] {
  if (isSequence(node) || node.name === "ParenthesizedExpression") return itemsOf(node).flatMap(flat);
  return node.name === "VariableName" || node.name === "MemberExpression" ? [node] : [];
}
