/** What a step of one's own is gone through with: values, objects of its classes, and names of its syntax. */
import type { SyntaxNode } from "@lezer/common";
import type { StepAction } from "../../terms/step-actions";
import { fold } from "./literals";
import { childNamed, childrenOf } from "./nodes";

export type Known = number | string | boolean | Instance | undefined;
export type Slice = (node: SyntaxNode) => string;

/** An object of a class of the script. */
export interface Instance {
  readonly type: SyntaxNode;
  readonly attributes: Map<string, Known>;
  readonly id: string;
}

/** Where statements run. */
export interface Frame {
  readonly names: Map<string, Known>;
  readonly self: Instance | undefined;
  /** Names of the parameter and of its own name, in a loop over a model's parameters. */
  readonly parameter?: { readonly names: readonly string[]; readonly named: readonly string[] };
}

/** What was done, with the forwards between. */
export type Noted = StepAction | { readonly do: "forward" };

/** Whether every backward has a forward of its own before it. */
export function alternates(between: readonly Noted[]): boolean {
  let forwards = 0;
  for (const action of between) {
    if (action.do === "forward") forwards++;
    if (action.do === "pass" && forwards !== 1) return false;
    if (action.do === "pass") forwards = 0;
  }
  return true;
}

export function isMadeBehind({ id }: Instance, count: number): boolean {
  return id.startsWith("made") && Number(id.slice(4)) >= count;
}

export function nameOf(node: SyntaxNode, slice: Slice): string {
  const name = childNamed(node, "VariableName");
  return name === null ? "" : slice(name);
}

export function namesIn(node: SyntaxNode): SyntaxNode[] {
  return node.name === "VariableName" ? [node] : childrenOf(node).flatMap(namesIn);
}

/** What an operator makes of two values; one side may decide alone. */
export function computed(sign: string, left: Known, right: Known): Known {
  if (sign === "and" && (left === false || right === false)) return false;
  if (sign === "or" && (left === true || right === true)) return true;
  const values = [left, right].map((value) => (typeof value === "object" ? undefined : value));
  return fold(sign, values) ?? undefined;
}

/** What a call's arguments and the standards of the others are. */
export function given(
  node: SyntaxNode,
  call: SyntaxNode,
  slice: Slice,
  known: (node: SyntaxNode) => Known,
): Map<string, Known> {
  const names = new Map<string, Known>();
  const list = childrenOf(childNamed(node, "ParamList") ?? node).filter(
    ({ name }) => !/^(?:[(),]|TypeDef)$/.test(name),
  );
  const order: string[] = [];
  list.forEach((one, k) => {
    if (one.name !== "VariableName" || list[k - 1]?.name === "AssignOp") return;
    const standard = list[k + 1]?.name === "AssignOp" ? list[k + 2] : undefined;
    if (slice(one) !== "self") order.push(slice(one));
    names.set(slice(one), standard && known(standard));
  });
  const parts = childrenOf(childNamed(call, "ArgList") ?? call).filter(({ name }) => !/^[(),]$/.test(name));
  let place = 0;
  for (let k = 0; k < parts.length; k++)
    if (parts[k + 1]?.name === "AssignOp" && parts[k + 2] !== undefined) {
      names.set(slice(parts[k]!), known(parts[k + 2]!));
      k += 2;
    } else names.set(order[place++] ?? "", known(parts[k]!));
  return names;
}
