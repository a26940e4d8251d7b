/** Ends that a module cuts off by whole numbers (`tokens[:-1]`, `tokens[1:]`). */
import type { SyntaxNode } from "@lezer/common";
import type { PythonCut } from "../tree";
import { childrenOf, span } from "./nodes";

const CUT = /^(?:(\d{1,9}) ?:|: ?-(\d{1,9}))$/;

/** @param indexed what is taken of something by an index or between two */
export function cutsOf(indexed: readonly SyntaxNode[], slice: (node: SyntaxNode) => string): readonly PythonCut[] {
  return indexed.flatMap((node) => {
    const [object, , ...rest] = childrenOf(node);
    const found = object?.name === "VariableName" ? CUT.exec(rest.slice(0, -1).map(slice).join("")) : null;
    if (object === undefined || found === null) return [];
    const [, first, last] = found;
    return [{ name: slice(object), first: Number(first ?? 0), last: Number(last ?? 0), ...span(node) }];
  });
}
