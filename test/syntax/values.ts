/** Helpers of the syntax tests. */

import type { LocatedNode } from "../../src/syntax/tree";
import { english } from "../english";

/** Plain value of a node; unknown nodes become `{ unknown: reason }`. */
export function plain(node: LocatedNode | null | undefined): unknown {
  if (node === null || node === undefined) return undefined;
  switch (node.kind) {
    case "scalar":
      return node.value;
    case "unknown":
      return { unknown: english(node.reason) };
    case "list":
      return node.items.map(plain);
    case "map":
      return Object.fromEntries(node.entries.map((entry) => [entry.key, plain(entry.value)]));
  }
}

/** Every node of a tree, with the dotted path that leads to it. */
export function walk(node: LocatedNode | null, path = ""): { path: string; node: LocatedNode }[] {
  if (node === null) return [];
  const here = [{ path, node }];
  if (node.kind === "map")
    return here.concat(
      node.entries.flatMap((entry) => walk(entry.value, path === "" ? entry.key : `${path}.${entry.key}`)),
    );
  if (node.kind === "list") return here.concat(node.items.flatMap((item, index) => walk(item, `${path}[${index}]`)));
  return here;
}

export function codes(problems: readonly { readonly code: string }[]): string[] {
  return problems.map((problem) => problem.code);
}
