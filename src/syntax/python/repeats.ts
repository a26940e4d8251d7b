/** Lists of whole numbers that a module writes several times over (`[1] * 512`, `[101] + [5] * 510`). */
import type { SyntaxNode } from "@lezer/common";
import type { PythonRepeat } from "../tree";
import type { Evaluating } from "./evaluating";
import { unquote } from "./literals";
import { childrenOf, span } from "./nodes";

/** Sums of more lists than this are not added up. */
const MAX_SUMS = 64;
const WHOLE = /^-?\d{1,18}$/;

function partsOf(node: SyntaxNode): SyntaxNode[] {
  return childrenOf(node).filter(({ name }) => name !== "Comment");
}

/** How many whole numbers a list has; undefined: it is another thing, or that is not known. */
function lengthOf(node: SyntaxNode, on: Evaluating, depth = 0): number | undefined {
  if (depth > MAX_SUMS) return undefined;
  const parts = partsOf(node);
  if (node.name === "ParenthesizedExpression") return parts[1] && lengthOf(parts[1], on, depth + 1);
  if (node.name === "ArrayExpression") {
    const items = parts.slice(1, -1).filter(({ name }) => name !== ",");
    return items.every((item) => isWhole(item, on)) ? items.length : undefined;
  }
  const [left, operator, right] = parts;
  if (node.name !== "BinaryExpression" || left === undefined || operator === undefined || right === undefined)
    return undefined;
  const [before, after] = [left, right].map((side) => lengthOf(side, on, depth + 1));
  const sign = on.slice(operator);
  if (sign === "+") return before === undefined || after === undefined ? undefined : before + after;
  if (sign !== "*") return undefined;
  const [length, times] = before === undefined ? [after, left] : [before, right];
  const count = on.evaluate(times);
  if (length === undefined || count.kind !== "scalar" || typeof count.value !== "number") return undefined;
  return length * count.value;
}

function isWhole(node: SyntaxNode, on: Evaluating): boolean {
  if (WHOLE.test(on.slice(node))) return true;
  const value = on.evaluate(node);
  // Attributes of tokenizers (`tokenizer.pad_token_id`) are numbers of tokens.
  return value.kind === "scalar" ? Number.isInteger(value.value) : /token_id$/.test(on.slice(node));
}

/** @param repeated sums and products of lists */
export function repeatsOf(repeated: readonly SyntaxNode[], on: Evaluating): readonly PythonRepeat[] {
  return repeated.flatMap((node): PythonRepeat[] => {
    const length = lengthOf(node, on);
    if (length === undefined || !Number.isSafeInteger(length) || length < 1) return [];
    const { parent } = node;
    const inList = parent !== null && /^Array(?:Comprehension)?Expression$/.test(parent.name);
    return [{ length, inList, ...keyOf(whole(node), (one) => on.slice(one)), ...span(node) }];
  });
}

/** The rows that a row stands among (`[[1] * 512] * 64`). */
function whole(node: SyntaxNode): SyntaxNode {
  const { parent } = node;
  if (parent === null || !/^(?:Array(?:Comprehension)?|Binary)Expression$/.test(parent.name)) return node;
  return parent.parent?.name === "BinaryExpression" ? parent.parent : parent;
}

/** The key of a dictionary that something stands under: `{"labels": torch.zeros(8)}`. */
export function keyOf(node: SyntaxNode, slice: (node: SyntaxNode) => string): { readonly key?: string } {
  const colon = node.parent?.name === "DictionaryExpression" ? node.prevSibling : null;
  const key = colon?.name === ":" ? colon.prevSibling : null;
  return key?.name === "String" ? { key: unquote(slice(key)) } : {};
}
