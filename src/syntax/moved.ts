/** Trees whose places are translated from one text to another. */
import type { Entry, LocatedNode, MapNode, ShellCommand, ShellWord, Span } from "./tree";

export type Placing = (at: Span) => Span;

/** The node with every place translated. */
export function movedNode(node: LocatedNode, place: Placing): LocatedNode {
  const at = place(node);
  switch (node.kind) {
    case "scalar":
      return node.source === undefined ? { ...node, ...at } : { ...node, ...at, source: place(node.source) };
    case "unknown":
      return { ...node, ...at };
    case "list":
      return { ...node, ...at, items: node.items.map((item) => movedNode(item, place)) };
    case "map":
      return {
        ...node,
        ...at,
        entries: node.entries.map(
          (entry): Entry => ({ key: entry.key, keySpan: place(entry.keySpan), value: movedNode(entry.value, place) }),
        ),
      };
  }
}

/** The command with every place translated. */
export function movedCommand(command: ShellCommand, place: Placing): ShellCommand {
  const word = ({ node, text }: ShellWord): ShellWord => ({ node: movedNode(node, place) as ShellWord["node"], text });
  return {
    words: command.words.map(word),
    positional: command.positional.map(word),
    environment: movedNode(command.environment, place) as MapNode,
    flags: movedNode(command.flags, place) as MapNode,
    overrides: movedNode(command.overrides, place) as MapNode,
    ...place(command),
  };
}
