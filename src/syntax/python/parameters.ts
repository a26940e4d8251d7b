/** Parameters of a module's functions: what a name may stand for inside of them. */
import type { SyntaxNode } from "@lezer/common";
import type { LocatedNode, PythonCall } from "../tree";
import { childNamed, childrenOf } from "./nodes";

export interface Parameter {
  /** Name of what is called; undefined: it has none, or is a method, whose calls do not say whose they are. */
  readonly function: string | undefined;
  readonly name: string;
  readonly node: SyntaxNode;
  /** Arguments before it in a call. */
  readonly index: number;
  readonly standard: SyntaxNode | null;
  /** It has the keywords that no other parameter takes (`**options`). */
  readonly rest?: true;
}

/** Parameters of a function or of a `lambda`, in their order. */
export function parametersOf(definition: SyntaxNode, slice: (node: SyntaxNode) => string): Parameter[] {
  const own = childNamed(definition, "VariableName");
  const statement = definition.parent?.name === "DecoratedStatement" ? definition.parent : definition;
  const type = statement.parent?.parent?.name === "ClassDefinition" ? statement.parent.parent : null;
  const name = own === null ? undefined : slice(own);
  // `__init__` is called by the class's name, without `self`.
  const maker = name === "__init__" ? childNamed(type, "VariableName") : null;
  const callee = maker ? slice(maker) : type === null ? name : undefined;
  const children = childrenOf(childNamed(definition, "ParamList") ?? definition);
  const names = children.filter(
    (child, k) => child.name === "VariableName" && children[k - 1]?.name !== "AssignOp" && child !== own,
  );
  return names.map((node, index): Parameter => {
    const next = node.nextSibling;
    const typed = next?.name === "TypeDef" ? next.nextSibling : next;
    return {
      function: callee,
      name: slice(node),
      node,
      index: maker ? index - 1 : index,
      standard: typed?.name === "AssignOp" ? typed.nextSibling : null,
      ...(node.prevSibling !== null && slice(node.prevSibling) === "**" ? { rest: true } : {}),
    };
  });
}

/** Names of the parameters beside one that has the rest. */
export function namesBeside({ node }: Parameter, slice: (node: SyntaxNode) => string): ReadonlySet<string> {
  const definition = node.parent?.parent;
  const all = definition == null ? [] : parametersOf(definition, slice);
  return new Set(all.flatMap(({ rest, name }) => (rest === true ? [] : [name])));
}

/** What a call gives a parameter of the function that it calls, as it is written. */
export function argumentNode(
  call: SyntaxNode,
  { name, index }: Parameter,
  slice: (node: SyntaxNode) => string,
): SyntaxNode | undefined {
  const children = childrenOf(childNamed(call, "ArgList") ?? call).filter(({ name: kind }) => kind !== "Comment");
  const named = children.findIndex(
    (child, k) => child.name === "VariableName" && children[k + 1]?.name === "AssignOp" && slice(child) === name,
  );
  const isValue = ({ name: kind }: SyntaxNode, k: number) =>
    !/^(?:[(),]|AssignOp)$/.test(kind) && children[k - 1]?.name !== "AssignOp" && children[k + 1]?.name !== "AssignOp";
  return named < 0 ? children.filter(isValue)[index] : children[named + 2];
}

/** Calls that stand in a parameter's place and hold its default (`typer.Option(8, "--batch")`). */
const HOLDS_DEFAULT = /(?:^|\.)(?:Option|Argument)$/;

/** The default that such a call holds; null: it holds none, undefined: it is another call. */
export function defaultHeld({ callee, keywords, positional }: PythonCall): LocatedNode | null | undefined {
  if (!HOLDS_DEFAULT.test(callee)) return undefined;
  const [first] = positional;
  // With its default beside an annotation, the first text spells the option.
  const spells = first?.kind === "scalar" && typeof first.value === "string" && first.value.startsWith("-");
  return keywords.entries.find(({ key }) => key === "default")?.value ?? (spells ? null : (first ?? null));
}
