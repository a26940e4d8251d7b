/** What names stand for: what they are bound to, or may be bound to by conditions that are not known. */
import type { SyntaxNode } from "@lezer/common";
import { say } from "../../words/message";
import type { Entry, LocatedNode, MapNode } from "../tree";
import { isSame, merged, sourceOf } from "./compared";
import type { Evaluating } from "./evaluating";
import type { Binding } from "./names";
import { childNamed, span } from "./nodes";
import { sequence } from "./written";

/** What a name is bound to, or may be bound to by conditions that are not known. */
export function bound(on: Evaluating, node: SyntaxNode, bindings: readonly Binding[], depth: number): LocatedNode {
  const values = bindings.map((binding) => ofBinding(on, binding, node, depth));
  const [first] = values;
  if (first !== undefined && values.every((value) => isSame(value, first))) return first;
  const maps = values.filter((value) => value.kind === "map");
  if (maps.length === values.length && first?.kind === "map") return merged(maps, first);
  return {
    ...on.unknown(node, say("open.is", { name: on.slice(node), reason: say("open.twice") })),
    alternatives: values,
  };
}

function ofBinding(on: Evaluating, binding: Binding, node: SyntaxNode, depth: number): LocatedNode {
  const { expression, reason, element, parameter, items } = binding;
  if (items !== undefined) {
    const { items: _, ...plain } = binding;
    const before = ofBinding(on, plain, node, depth);
    return before.kind === "map" ? withItems(on, before, items, depth) : before;
  }
  if (parameter !== undefined) return on.parameter(parameter, node, depth);
  const name = on.slice(node);
  const turn = binding.loop?.targets === 1 ? ofRound(on, binding.loop.over, depth) : undefined;
  if (turn !== undefined) return on.moved(turn, node);
  if (expression === null) return on.unknown(node, say("open.is", { name, reason }));
  const value = on.evaluate(expression, depth + 1);
  if (element === undefined) return on.moved(value, node);
  const item = value.kind === "list" ? value.items[element] : undefined;
  if (item !== undefined) return on.moved(item, node);
  return { ...on.unknown(node, say("open.is", { name, reason })), source: sourceOf(value) };
}

/** What the name of a loop over written values stands for: the only one, or the largest number, whose round takes the most. */
function ofRound(on: Evaluating, over: SyntaxNode, depth: number): LocatedNode | undefined {
  if (over.name !== "ArrayExpression" && over.name !== "TupleExpression") return undefined;
  const { items } = sequence(on, over, depth + 1);
  const [first, ...rest] = items;
  if (rest.length === 0) return first;
  const numbers = items.flatMap((one) => (one.kind === "scalar" && typeof one.value === "number" ? [one] : []));
  if (on.strict || numbers.length < items.length) return undefined;
  return numbers.reduce((most, one) => (Number(one.value) > Number(most.value) ? one : most));
}

/** A dictionary after `name["key"] = value` and `name.update(…)`. */
function withItems(on: Evaluating, map: MapNode, items: NonNullable<Binding["items"]>, depth: number): MapNode {
  on.spend(items.length >> 1);
  const entries = new Map(map.entries.map((entry) => [entry.key, entry]));
  for (const { key, value } of items) {
    if (key === null) {
      for (const entry of givenTo(on, value, depth)) entries.set(entry.key, entry);
      continue;
    }
    const text = on.evaluate(key, depth + 1);
    if (text.kind !== "scalar") continue;
    const name = String(text.value);
    entries.set(name, { key: name, keySpan: span(key), value: on.evaluate(value, depth + 1) });
  }
  return { ...map, entries: [...entries.values()] };
}

/** What `update` is given: mappings, and keywords. */
function givenTo(on: Evaluating, call: SyntaxNode, depth: number): readonly Entry[] {
  const list = childNamed(call, "ArgList");
  if (list === null) return [];
  const { positional, entries } = on.arguments(list, depth + 1);
  return [...positional.flatMap((value) => (value.kind === "map" ? value.entries : [])), ...entries];
}
