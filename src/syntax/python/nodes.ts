/** Nodes of the grammar, and where they stand. */
import type { SyntaxNode } from "@lezer/common";
import type { Span } from "../tree";

export function span(node: SyntaxNode): Span {
  return { start: node.from, end: node.to };
}

export function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}
