/** Parts of statements as trees of them are made. */
import type { SyntaxNode } from "@lezer/common";
import { childrenOf } from "./nodes";

/** A batch that is gone over by its names. */
const OVER_BATCH = /^(\w{1,60})(?:\.(?:items|keys)\(\))?$/;
const MOVES = /^(?:to|cuda)$/;

/** A batch whose parts are put somewhere one by one: its name, and the call that puts one there. */
export interface MovedBatch {
  readonly name: string;
  readonly method: string;
  readonly call: SyntaxNode;
}

/** `for k, v in batch.items(): batch[k] = v.to(device)`, which is `batch = batch.to(device)`; undefined: another loop. */
export function movedBatch(
  targets: readonly SyntaxNode[],
  over: SyntaxNode,
  body: SyntaxNode,
  slice: (node: SyntaxNode) => string,
): MovedBatch | undefined {
  const [, name] = OVER_BATCH.exec(slice(over)) ?? [];
  const [only, ...more] = bare(body);
  const [target, , call] = only?.name === "AssignStatement" ? bare(only) : [];
  const callee = call?.name === "CallExpression" ? call.firstChild : null;
  if (name === undefined || more.length > 0 || target === undefined || call === undefined) return undefined;
  if (callee?.name !== "MemberExpression") return undefined;
  const [key, item] = targets.map(slice);
  const place = `${name}[${key}]`;
  const [object = "", method = ""] = [callee.firstChild, callee.lastChild].map((one) => slice(one ?? call));
  const isOwn = object === place || object === item;
  return slice(target) === place && isOwn && MOVES.test(method) ? { name, method, call } : undefined;
}

/** Statements of a block, those that share a line one by one (`loss.backward(); optimizer.step()`). */
export function statementsOf(body: SyntaxNode | null): SyntaxNode[] {
  return bare(body).flatMap((one) =>
    one.name === "StatementGroup" ? bare(one).filter(({ name }) => name !== ";") : [one],
  );
}

export function bare(node: SyntaxNode | null): SyntaxNode[] {
  return node === null ? [] : childrenOf(node).filter(({ name }) => !/^(?:[()[\]{},:.]|Comment|⚠)$/.test(name));
}
