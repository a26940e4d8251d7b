/** Values that are written out: strings with names in them, lists, dictionaries, comprehensions. */
import type { SyntaxNode } from "@lezer/common";
import { say } from "../../words/message";
import type { Entry, ListNode, LocatedNode, MapNode } from "../tree";
import { MAX_ITEMS, MAX_PARTS, partsOf } from "./bounds";
import { truthOf } from "./compared";
import type { Evaluating } from "./evaluating";
import { unquote } from "./literals";
import { childrenNamed, childrenOf, span } from "./nodes";

/** `f"{organization}/{name}"`, where all that stands in it is known and written as it is. */
export function formatted(on: Evaluating, node: SyntaxNode, depth: number): LocatedNode {
  let text = "";
  let at = node.from;
  for (const part of childrenNamed(node, "FormatReplacement")) {
    const inner = childrenOf(part).filter(({ name }) => name !== "{" && name !== "}");
    const value = inner.length === 1 && inner[0] !== undefined ? on.evaluate(inner[0], depth + 1) : undefined;
    const plain = value?.kind === "scalar" && (typeof value.value === "string" || Number.isInteger(value.value));
    if (value?.kind !== "scalar" || !plain) return on.unknown(node, say("open.expression"));
    text += on.text.slice(at, part.from).replaceAll(/\{\{|\}\}/g, (twice) => twice.slice(1));
    text += String(value.value);
    at = part.to;
  }
  text += on.text.slice(at, node.to).replaceAll(/\{\{|\}\}/g, (twice) => twice.slice(1));
  return on.scalar(node, unquote(text.replace(/^[a-zA-Z]+/, (prefix) => prefix.replaceAll(/f/gi, ""))));
}

export function sequence(on: Evaluating, node: SyntaxNode, depth: number): ListNode {
  const items = childrenOf(node)
    .filter((child) => !/^[[\](){},]$/.test(child.name) && child.name !== "Comment" && child.name !== "⚠")
    .map((child) => on.evaluate(child, depth + 1));
  return { kind: "list", items, ...span(node) };
}

export function dictionary(on: Evaluating, node: SyntaxNode, depth: number): MapNode {
  const entries: Entry[] = [];
  const children = childrenOf(node).filter((child) => child.name !== "Comment" && child.name !== "⚠");
  for (let index = 0; index < children.length; index++) {
    const child = children[index] as SyntaxNode;
    if (/^[{},:]$/.test(child.name)) continue;
    const next = children[index + 1];
    if (on.slice(child) === "**" && next !== undefined) {
      on.spread(on.evaluate(next, depth + 1), entries);
      index++;
    } else if (next?.name === ":") {
      const value = children[index + 2];
      const key = on.evaluate(child, depth + 1);
      const isKnown = key.kind === "scalar";
      const missing = value === undefined || value.name === "," || value.name === "}";
      entries.push({
        key: isKnown ? String(key.value) : on.slice(child),
        ...(isKnown ? {} : { open: true as const }),
        keySpan: span(child),
        value: missing
          ? on.unknownAt({ start: next.to, end: next.to }, say("open.no-value"))
          : on.evaluate(value, depth + 1),
      });
      index += missing ? 1 : 2;
    }
  }
  return { kind: "map", entries, ...span(node) };
}

/** `[f"layers.{i}" for i in range(8)]`, with conditions that are known. */
export function comprehension(on: Evaluating, node: SyntaxNode, depth: number): LocatedNode {
  const parts = childrenOf(node).filter((child) => !/^(?:[()[\]]|Comment)$/.test(child.name));
  const [item, , target, , over, ...conditions] = parts;
  const names = parts.map(({ name }) => name);
  const tests = conditions.filter(({ name }) => name !== "if");
  const isPlain = names[1] === "for" && names[3] === "in" && tests.length * 2 === conditions.length;
  if (!isPlain || item === undefined || target?.name !== "VariableName" || over === undefined)
    return on.unknown(node, say("open.expression"));
  const list = on.evaluate(over, depth + 1);
  if (list.kind !== "list" || list.items.length > MAX_ITEMS) return on.unknown(node, say("open.expression"));
  const items: LocatedNode[] = [];
  let made = 0;
  for (const given of list.items) {
    if (made > MAX_PARTS || on.spend(0)) return on.unknown(node, say("open.large"));
    const round = new Map([[on.slice(target), given]]);
    const holds = tests.map((test) => truthOf(on.inRound(test, round, depth + 1)));
    if (holds.includes(undefined)) return on.unknown(node, say("open.condition"));
    if (holds.includes(false)) continue;
    const one = on.inRound(item, round, depth + 1);
    made += partsOf(one);
    items.push(one);
  }
  return { kind: "list", items, ...span(node) };
}
