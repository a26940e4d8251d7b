/** The names of what calls call. */
import type { SyntaxNode } from "@lezer/common";
import type { Evaluating } from "./evaluating";
import { pickedName } from "./picked";

/** A class by its name, wherever it comes from. */
const CLASS_NAME = /^(?:\w{1,80}\.){0,8}[A-Z][a-z]\w{0,80}$/;

export function memberName(on: Evaluating, node: SyntaxNode): string {
  const text = on.slice(node);
  const property = node.lastChild;
  if (/^[\w.]+$/.test(text)) {
    const type = node.firstChild?.name === "VariableName" ? classNamed(on, node.firstChild) : undefined;
    return type === undefined || property === null ? text : `${type}.${on.slice(property)}`;
  }
  if (property === null) return "";
  const whole = picked(on, node);
  if (whole !== undefined) return whole;
  const owner = node.firstChild === null || on.slice(property) === "]" ? undefined : picked(on, node.firstChild);
  return owner === undefined ? on.slice(property) : `${owner}.${on.slice(property)}`;
}

function picked(on: Evaluating, node: SyntaxNode): string | undefined {
  return pickedName(node, {
    slice: (one) => on.slice(one),
    evaluate: (one) => on.evaluate(one, 1),
    bound: (one) => on.flow.bindingsAt(one)?.[0]?.expression ?? null,
  });
}

/** The class that a name stands for (`model_class = AutoModelForCausalLM`, `import AutoModel as A`); the first of those it may be. */
export function classNamed(on: Evaluating, node: SyntaxNode): string | undefined {
  const [binding] = on.flow.bindingsAt(node) ?? [];
  const imported = on.found.bound.get(on.slice(node))?.split(".").at(-1);
  if (binding === undefined && imported !== undefined) return CLASS_NAME.test(imported) ? imported : undefined;
  const expression = binding?.element === undefined ? binding?.expression : undefined;
  if (expression?.name !== "VariableName" && expression?.name !== "MemberExpression") return undefined;
  const name = on.slice(expression);
  return CLASS_NAME.test(name) ? name : undefined;
}
