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

/** The first child of a name. The grammar's own way to it goes through everything around the node. */
export function childNamed(node: SyntaxNode | null | undefined, name: string): SyntaxNode | null {
  let child = node?.firstChild ?? null;
  while (child !== null && child.name !== name) child = child.nextSibling;
  return child;
}

/** The children of a name. */
export function childrenNamed(node: SyntaxNode | null | undefined, name: string): SyntaxNode[] {
  return node == null ? [] : childrenOf(node).filter((child) => child.name === name);
}

/** What stands in the parentheses of a call, or of its list of arguments: values, and names with their `=`. */
export function argumentsOf(call: SyntaxNode): SyntaxNode[] {
  return childrenOf(childNamed(call, "ArgList") ?? call).filter(({ name }) => !/^(?:[(),]|Comment)$/.test(name));
}

/** An operand of `and` and `or`, and whether a `not` stands before it. */
export interface Operand {
  readonly node: SyntaxNode;
  readonly negated: boolean;
}

const JOINS = /^(?:and|or)$/;

/**
 * The operands of `and`, `or` and `not` as Python binds them: any of the lists, in which all must hold. The grammar takes
 * `not a and b` for `not (a and b)`, so they are read from left to right. Undefined: the node is another expression.
 */
export function junction(node: SyntaxNode): readonly (readonly Operand[])[] | undefined {
  const lists: Operand[][] = [[]];
  let negated = false;
  let joins = false;
  const waiting: SyntaxNode[] = [node];
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    const children = childrenOf(one).filter(({ name }) => name !== "Comment");
    const isNot = one.name === "UnaryExpression" && children[0]?.name === "not";
    const isJoin = one.name === "BinaryExpression" && children.some(({ name }) => JOINS.test(name));
    if (isNot || isJoin) {
      joins = true;
      waiting.push(...children.toReversed());
    } else if (one.name === "not") negated = !negated;
    else if (one.name === "or") lists.push([]);
    else if (one.name !== "and") {
      lists.at(-1)?.push({ node: one, negated });
      negated = false;
    }
  }
  return joins ? lists : undefined;
}
