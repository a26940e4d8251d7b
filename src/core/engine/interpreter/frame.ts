/** The names of one running function. */
import type { Scope } from "../../graph/expression";
import type { GraphFunction } from "../../graph/types";
import type { DType } from "../dtype";
import type { Tensor } from "../tensor";
import type { ModuleParameters } from "./options";

export type Input = Tensor | null;

export interface Context {
  readonly fn: GraphFunction;
  readonly frame: Map<string, Tensor>;
  readonly index: number | null;
  readonly scope: Scope;
  /** Python lists of what rounds made (`*name`). */
  readonly lists: Map<string, Tensor[]>;
  /** Dtypes of values let go of: code reads a dtype early and uses it late. */
  readonly dtypes: Map<string, DType>;
  /** The parametrized module that runs. */
  inside: { readonly path: string; readonly parameters: ModuleParameters } | null;
}

/** Names of a function that begins, none of them bound. */
export function contextOf(fn: GraphFunction, index: number | null, scope: Scope): Context {
  return { fn, frame: new Map(), index, scope, lists: new Map(), dtypes: new Map(), inside: null };
}

/** A function's names go when it ends. */
export function leave(context: Context): void {
  for (const tensor of context.frame.values()) tensor.release();
  for (const name of context.lists.keys()) dropList(name, context);
  context.inside?.parameters.leave();
}

export function dropList(name: string, context: Context): void {
  for (const tensor of context.lists.get(name) ?? []) tensor.release();
  context.lists.delete(name);
}
