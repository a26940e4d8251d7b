/** What methods of a known text give (Lib/stdtypes, "String Methods"): as conditions ask options, `args.opt.lower().startswith("sgd")`. */
import type { SyntaxNode } from "@lezer/common";
import { table } from "../../terms/table";
import type { LocatedNode } from "../tree";
import { sourceOf } from "./compared";
import type { Evaluating } from "./evaluating";

/** Methods by the texts they are given; undefined where they are given others than are followed. */
const METHODS: Readonly<Record<string, (text: string, given: readonly string[]) => string | boolean | undefined>> =
  table({
    lower: (text, given) => (given.length === 0 ? text.toLowerCase() : undefined),
    upper: (text, given) => (given.length === 0 ? text.toUpperCase() : undefined),
    strip: (text, given) => (given.length === 0 ? text.trim() : undefined),
    startswith: (text, given) => (given.length === 0 ? undefined : given.some((start) => text.startsWith(start))),
    endswith: (text, given) => (given.length === 0 ? undefined : given.some((end) => text.endsWith(end))),
  });

/** The value of a call of such a method; undefined where it is none, or the text is not known. */
export function textMethod(on: Evaluating, node: SyntaxNode, list: SyntaxNode, depth: number): LocatedNode | undefined {
  const callee = node.firstChild;
  if (callee?.name !== "MemberExpression" || callee.firstChild === null || callee.lastChild === null) return undefined;
  const name = on.slice(callee.lastChild);
  const method = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
  if (method === undefined) return undefined;
  const text = on.evaluate(callee.firstChild, depth + 1);
  if (text.kind !== "scalar" || typeof text.value !== "string") return undefined;
  const { positional, entries } = on.arguments(list, depth + 1);
  // One text, or a tuple of which any may be it.
  const [only] = positional;
  const nodes = only?.kind === "list" ? only.items : positional;
  const given = nodes.flatMap((one) => (one.kind === "scalar" && typeof one.value === "string" ? [one.value] : []));
  if (entries.length > 0 || positional.length > 1 || given.length < nodes.length) return undefined;
  const value = method(text.value, given);
  return value === undefined ? undefined : { ...on.scalar(node, value), source: sourceOf(text) };
}
