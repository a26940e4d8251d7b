/** What assignments bind: names, attributes, items of dictionaries. */
import type { SyntaxNode } from "@lezer/common";
import { say } from "../../words/message";
import { MAX_PUT } from "./bounds";
import type { Binding } from "./names";
import { childrenOf, span } from "./nodes";
import { isSequence, itemsOf } from "./targets";
import type { Walking } from "./walking";

export function assignment(on: Walking, node: SyntaxNode): void {
  const sides: SyntaxNode[][] = [[]];
  for (const child of childrenOf(node)) {
    if (child.name === "AssignOp") sides.push([]);
    else if (child.name !== "TypeDef" && child.name !== "," && child.name !== "Comment") sides.at(-1)?.push(child);
  }
  const values = sides.at(-1) ?? [];
  if (sides.length < 2) return;
  for (const value of values) on.expression(value);
  on.mark(node);
  for (const targets of sides.slice(0, -1)) {
    const names = targets.flatMap((target) => (isSequence(target) ? itemsOf(target) : [target]));
    const unpacks = names.length > 1 || targets.some(isSequence);
    names.forEach((name, index) => {
      const own = !unpacks ? values[0] : values.length === names.length ? values[index] : values[0];
      const whole = !unpacks && values.length > 1;
      const element = unpacks && values.length !== names.length ? { element: index } : {};
      if (name.name === "MemberExpression") on.expression(name);
      on.bind(name, {
        expression: own === undefined || whole ? null : own,
        reason: say("open.unpacked"),
        span: span(name),
        ...element,
      });
    });
  }
}

/** `name["key"] = value` */
export function putInto(on: Walking, target: SyntaxNode, value: SyntaxNode | null): void {
  const [object, bracket, key] = childrenOf(target);
  if (object?.name !== "VariableName" || bracket?.name !== "[" || key?.name !== "String" || value === null) return;
  putOf(on, on.slice(object), key, value);
}

/** `name.update(other, key=value)`: nothing else changes what a dictionary has by a method. */
export function updated(on: Walking, call: SyntaxNode): void {
  const [object, dot, method] = call.firstChild?.name === "MemberExpression" ? childrenOf(call.firstChild) : [];
  if (object?.name !== "VariableName" || dot?.name !== "." || method === undefined) return;
  if (on.slice(method) === "update") putOf(on, on.slice(object), null, call);
}

function putOf(on: Walking, name: string, key: SyntaxNode | null, value: SyntaxNode): void {
  const known = on.scope.find(name);
  if (known === undefined || known.some(({ expression }) => expression === null)) return;
  const put = known.map((binding): Binding => {
    const items = [...(binding.items ?? []), { key, value }];
    return items.length > MAX_PUT
      ? { expression: null, reason: say("open.large"), span: binding.span }
      : { ...binding, items };
  });
  on.scope.names.set(name, put);
}
