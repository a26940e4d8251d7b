/** What values say of one another: whether two are the same, what several say together, what is true. */
import { say } from "../../words/message";
import type { Entry, LocatedNode, MapNode, Span, UnknownNode } from "../tree";
import { truth } from "./literals";

/** Where a node stands. */
export function placeOf(node: LocatedNode): Span {
  return { start: node.start, end: node.end };
}

/** Where a value is really written. */
export function sourceOf(value: LocatedNode): Span {
  return (value.kind === "scalar" || value.kind === "unknown" ? value.source : undefined) ?? placeOf(value);
}

/** Whether two values are the same, as far as that can be known: the same plain value, or written in the same place. */
export function isSame(a: LocatedNode, b: LocatedNode): boolean {
  if (a.kind === "scalar" && b.kind === "scalar") return a.value === b.value;
  const [one, other] = [sourceOf(a), sourceOf(b)];
  return a.kind === b.kind && one.start === other.start && one.end === other.end;
}

/** What dictionaries that a name may be bound to say together; an item that only some have is taken for theirs. */
export function merged(maps: readonly MapNode[], at: MapNode): MapNode {
  const entries = new Map<string, Entry>();
  for (const { entries: own } of maps)
    for (const entry of own) {
      const known = entries.get(entry.key);
      const alternatives = known === undefined ? [entry.value] : [known.value, entry.value];
      const differs = known !== undefined && !isSame(known.value, entry.value);
      const { keySpan, value } = entry;
      const open: UnknownNode = { kind: "unknown", raw: "", reason: say("open.twice"), ...placeOf(value) };
      entries.set(
        entry.key,
        differs ? { key: entry.key, keySpan, value: { ...open, alternatives } } : (known ?? entry),
      );
    }
  return { ...at, entries: [...entries.values()] };
}

/** Python's truth of a value; undefined: it is not known. */
export function truthOf(value: LocatedNode): boolean | undefined {
  if (value.kind === "scalar") return truth(value.value);
  if (value.kind === "unknown") return undefined;
  return (value.kind === "list" ? value.items : value.entries).length > 0;
}
