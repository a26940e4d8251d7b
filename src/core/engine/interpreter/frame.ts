/** The names of one running function. */
import type { Scope } from "../../graph/expression";
import type { GraphFunction } from "../../graph/types";
import type { DType } from "../dtype";
import type { Tensor } from "../tensor";
import type { ModuleParameters } from "./options";

export type Input = Tensor | null;

/** A module with hooks whose recorded code runs. */
export interface OpenModule {
  readonly path: string;
  /** Names of what it makes and what is read after it: what it hands out. */
  readonly outputs: readonly string[];
  /** What the caller's names held that the module was given something else for. */
  readonly kept: ReadonlyMap<string, Tensor>;
}

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
  /** Modules with hooks that run, the outermost first. */
  readonly open: OpenModule[];
}

/** Names of a function that begins, none of them bound. */
export function contextOf(fn: GraphFunction, index: number | null, scope: Scope): Context {
  return { fn, frame: new Map(), index, scope, lists: new Map(), dtypes: new Map(), inside: null, open: [] };
}

/** A function's names go when it ends. */
export function leave(context: Context): void {
  for (const tensor of context.frame.values()) tensor.release();
  for (const name of context.lists.keys()) dropList(name, context);
  context.inside?.parameters.leave();
  for (const { kept } of context.open) for (const tensor of kept.values()) tensor.release();
}

export function dropList(name: string, context: Context): void {
  for (const tensor of context.lists.get(name) ?? []) tensor.release();
  context.lists.delete(name);
}
