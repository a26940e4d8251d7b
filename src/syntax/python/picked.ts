/** A callee that is picked by a name: `models.__dict__[args.arch](…)`, `CLASSES[args.kind].from_pretrained(…)`. */
import type { SyntaxNode } from "@lezer/common";
import type { LocatedNode } from "../tree";
import { childrenOf } from "./nodes";

/** What picking asks of the module. */
export interface Picking {
  readonly slice: (node: SyntaxNode) => string;
  readonly evaluate: (node: SyntaxNode) => LocatedNode;
  /** The one expression that a name is bound to. */
  readonly bound: (node: SyntaxNode) => SyntaxNode | null;
}

const NAME = /^[A-Za-z_]\w{0,100}$/;
const DOTTED = /^[\w.]{1,200}$/;

/** The name that a subscript stands for; undefined: its key is not known, or it picks no name. */
export function pickedName(node: SyntaxNode, picking: Picking): string | undefined {
  const [object, open, index] = childrenOf(node);
  if (node.name !== "MemberExpression" || open?.name !== "[" || object === undefined || index === undefined)
    return undefined;
  const key = picking.evaluate(index);
  if (key.kind !== "scalar" || typeof key.value !== "string") return undefined;
  const module = picking.slice(object);
  if (module.endsWith(".__dict__") && DOTTED.test(module) && NAME.test(key.value))
    return `${module.slice(0, -".__dict__".length)}.${key.value}`;
  const table = object.name === "VariableName" ? picking.bound(object) : null;
  return table?.name === "DictionaryExpression" ? entryOf(table, key.value, picking) : undefined;
}

/** The name that a dictionary has for a key. */
function entryOf(table: SyntaxNode, key: string, { slice, evaluate }: Picking): string | undefined {
  const children = childrenOf(table);
  for (const [at, child] of children.entries()) {
    const value = children[at + 1];
    if (child.name !== ":" || value === undefined) continue;
    const before = children[at - 1];
    const own = before === undefined ? undefined : evaluate(before);
    if (own?.kind !== "scalar" || own.value !== key) continue;
    const name = slice(value);
    return DOTTED.test(name) ? name : undefined;
  }
  return undefined;
}
