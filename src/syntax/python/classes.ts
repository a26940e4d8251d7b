/** Classes of a module. */

import type { SyntaxNode } from "@lezer/common";
import { type Message, say } from "../../words/message";
import type { Entry, LocatedNode, PythonCall, PythonClass } from "../tree";
import { childNamed, childrenNamed, childrenOf, span } from "./nodes";

/** What reading a class needs of the evaluator of its module. */
interface Evaluating {
  slice(node: SyntaxNode): string;
  evaluate(node: SyntaxNode): LocatedNode;
  call(node: SyntaxNode): PythonCall | null;
  unknown(node: SyntaxNode, reason: Message): LocatedNode;
}

/** A class, with the defaults that its body gives to fields. */
export function classOf(node: SyntaxNode, evaluator: Evaluating): PythonClass {
  const name = childNamed(node, "VariableName");
  const bases = childrenNamed(childNamed(node, "ArgList"), "VariableName").concat(
    childrenNamed(childNamed(node, "ArgList"), "MemberExpression"),
  );
  const body = childNamed(node, "Body");
  const entries: Entry[] = [];
  for (const statement of childrenNamed(body, "AssignStatement"))
    for (const [field, value] of bindings(statement))
      entries.push({ key: evaluator.slice(field), keySpan: span(field), value: fieldDefault(value, evaluator) });
  return {
    name: name === null ? "" : evaluator.slice(name),
    bases: bases.map((base) => evaluator.slice(base)),
    fields: { kind: "map", entries, ...span(body ?? node) },
    methods: new Map(
      childrenNamed(body, "FunctionDefinition").map((one) => [
        evaluator.slice(childNamed(one, "VariableName") ?? one),
        span(one),
      ]),
    ),
    ...span(node),
  };
}

/** Names that a statement of a body binds, each to its value: to one, or to as many beside each other (`low, high = 1, 2`). */
function bindings(statement: SyntaxNode): readonly (readonly [SyntaxNode, SyntaxNode])[] {
  const sides: SyntaxNode[][] = [[]];
  for (const child of childrenOf(statement)) {
    if (child.name === "AssignOp") sides.push([]);
    else if (!/^(?:,|TypeDef|Comment)$/.test(child.name)) sides.at(-1)?.push(child);
  }
  const values = sides.pop() ?? [];
  return sides
    .filter((names) => names.length === values.length && names.every(({ name }) => name === "VariableName"))
    .flatMap((names) => names.map((name, k) => [name, values[k]!] as const));
}

/** Names of the fields that a class annotates or gives a default, in their order: a dataclass takes them by place. */
export function fieldNames(node: SyntaxNode, evaluator: Evaluating): readonly string[] {
  return childrenNamed(childNamed(node, "Body"), "AssignStatement").flatMap(({ firstChild }) =>
    firstChild?.name === "VariableName" ? [evaluator.slice(firstChild)] : [],
  );
}

/** `field(default=8, …)` stands for its default. */
function fieldDefault(value: SyntaxNode, evaluator: Evaluating): LocatedNode {
  if (value.name !== "CallExpression") return evaluator.evaluate(value);
  const call = evaluator.call(value);
  if (call === null || !/(?:^|\.)(?:field|Field|Arg|HfArg)$/.test(call.callee)) return evaluator.evaluate(value);
  return (
    call.keywords.entries.find((entry) => entry.key === "default")?.value ??
    evaluator.unknown(value, say("open.default"))
  );
}
