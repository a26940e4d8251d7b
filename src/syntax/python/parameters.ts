/** Parameters of a module's functions: which one a name stands for where it is used. */
import type { SyntaxNode } from "@lezer/common";

export interface Parameter {
  /** Name of the function; undefined: it has none, or is a method, whose calls do not say whose they are. */
  readonly function: string | undefined;
  readonly name: string;
  /** Arguments before it in a call. */
  readonly index: number;
  readonly standard: SyntaxNode | null;
}

/** The parameter of the innermost function around `node` that has one called `name`. */
export function parameterAt(
  node: SyntaxNode,
  name: string,
  slice: (node: SyntaxNode) => string,
): Parameter | undefined {
  for (let around = node.parent; around !== null; around = around.parent) {
    if (around.name !== "FunctionDefinition" && around.name !== "LambdaExpression") continue;
    const list = around.getChild("ParamList");
    // A default is evaluated where the function stands.
    if (list === null || (node.from >= list.from && node.to <= list.to)) continue;
    const names = list.getChildren("VariableName").filter(({ prevSibling }) => prevSibling?.name !== "AssignOp");
    const index = names.findIndex((parameter) => slice(parameter) === name);
    const found = names[index];
    if (found === undefined) continue;
    const own = around.getChild("VariableName");
    const isMethod = around.parent?.parent?.name === "ClassDefinition";
    const next = found.nextSibling;
    const typed = next?.name === "TypeDef" ? next.nextSibling : next;
    return {
      function: own === null || isMethod ? undefined : slice(own),
      name,
      index,
      standard: typed?.name === "AssignOp" ? typed.nextSibling : null,
    };
  }
  return undefined;
}
