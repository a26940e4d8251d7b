/**
 * Trees put together from several texts. The texts stand one after another in a joined text; a tree of one of them is
 * shifted to its place there, so that every node still says where it is written.
 */
import { emptyMap } from "./text";
import type { Entry, LocatedNode, MapNode, ParsedDocument, Span } from "./tree";

/** The node with every place moved by `by` UTF-16 units. */
export function shifted<T extends LocatedNode>(node: T, by: number): T;
export function shifted(node: LocatedNode, by: number): LocatedNode {
  const at = movedSpan(node, by);
  switch (node.kind) {
    case "map":
      return {
        ...node,
        ...at,
        entries: node.entries.map((entry) => ({
          key: entry.key,
          keySpan: movedSpan(entry.keySpan, by),
          value: shifted(entry.value, by),
        })),
      };
    case "list":
      return { ...node, ...at, items: node.items.map((item) => shifted(item, by)) };
    case "scalar":
      return { ...node, ...at, ...(node.source === undefined ? {} : { source: movedSpan(node.source, by) }) };
    case "unknown":
      return {
        ...node,
        ...at,
        ...(node.source === undefined ? {} : { source: movedSpan(node.source, by) }),
        ...(node.alternatives === undefined ? {} : { alternatives: node.alternatives.map((one) => shifted(one, by)) }),
      };
  }
}

/** Place of a key that no text states: the folder of the file gives it. Outside of every text, so that no edit finds it. */
export const NOWHERE: Span = { start: -1, end: -1 };

/** A place moved by `by` UTF-16 units. */
export function movedSpan({ start, end }: Span, by: number): Span {
  return { start: start + by, end: end + by };
}

/**
 * Two maps as OmegaConf merges them: maps key by key, everything else replaced by `above`. The merged map stands where
 * `above` is written: a key added there wins.
 */
export function merged(below: MapNode, above: MapNode): MapNode {
  const entries = new Map<string, Entry>(below.entries.map((entry) => [entry.key, entry]));
  for (const entry of above.entries) {
    const old = entries.get(entry.key)?.value;
    const value = old?.kind === "map" && entry.value.kind === "map" ? merged(old, entry.value) : entry.value;
    entries.set(entry.key, { ...entry, value });
  }
  return { ...above, entries: [...entries.values()] };
}

/** The map under a dotted path: `model.optim` makes `{model: {optim: map}}`, standing where the map stands. */
export function wrapped(map: MapNode, path: string): MapNode {
  return path
    .split(".")
    .filter((step) => step !== "")
    .reduceRight<MapNode>(
      (inner, key) => ({
        ...emptyMap(inner),
        end: inner.end,
        entries: [{ key, keySpan: NOWHERE, value: inner }],
      }),
      map,
    );
}

/** The document with the value at a span replaced by a tree: in data, in the flags of commands, in Python calls. */
export function grafted(parsed: ParsedDocument, at: Span, node: LocatedNode): ParsedDocument {
  const replace = <T extends LocatedNode>(old: T): T => replacedIn(old, at, node) as T;
  return {
    ...parsed,
    root: parsed.root === null ? null : replace(parsed.root),
    ...(parsed.shell === undefined
      ? {}
      : {
          shell: {
            ...parsed.shell,
            commands: parsed.shell.commands.map((command) => ({ ...command, flags: replace(command.flags) })),
          },
        }),
    ...(parsed.python === undefined
      ? {}
      : {
          python: {
            ...parsed.python,
            calls: parsed.python.calls.map((call) => ({ ...call, keywords: replace(call.keywords) })),
          },
        }),
  };
}

function replacedIn(node: LocatedNode, at: Span, by: LocatedNode): LocatedNode {
  if (node.kind === "scalar") return node.start === at.start && node.end === at.end ? by : node;
  if (node.kind === "map")
    return {
      ...node,
      entries: node.entries.map((entry) => ({ ...entry, value: replacedIn(entry.value, at, by) })),
    };
  return node.kind === "list" ? { ...node, items: node.items.map((item) => replacedIn(item, at, by)) } : node;
}
