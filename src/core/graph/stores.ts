/** What layers put into a dictionary that the layers of their list are given, by the names that the main function has for it. */
import { bareName, layerPath, nameOf } from "./reads";
import type { ArchitectureGraph, GraphFunction } from "./types";

export interface Stores {
  /** Per function that stores: its own name of each value, and the main function's. */
  readonly names: ReadonlyMap<GraphFunction, ReadonlyMap<string, string>>;
  /** Names of the main function that stand in the dictionary. */
  readonly shelved: ReadonlySet<string>;
  /** Functions that are called with the dictionary: layers of a list in which one stores, not those of another list (a tower's). */
  readonly given: ReadonlySet<GraphFunction>;
}

/** What most models have: layers that store nothing. */
const NONE: Stores = { names: new Map(), shelved: new Set(), given: new Set() };

export function storesOf(graph: Pick<ArchitectureGraph, "main" | "blocks">): Stores {
  const names = namesOf(graph);
  if (names.size === 0) return NONE;
  const lists = new Set([...names.keys()].map(layerPath));
  return {
    names,
    shelved: new Set([...names.values()].flatMap((own) => [...own.values()])),
    given: new Set(graph.blocks.filter((fn) => lists.has(layerPath(fn)))),
  };
}

function namesOf({ main, blocks }: Pick<ArchitectureGraph, "main" | "blocks">): Stores["names"] {
  const stores = new Map<GraphFunction, ReadonlyMap<string, string>>();
  for (const instruction of main.body) {
    if (!("repeat" in instruction)) continue;
    const { bodies, out } = instruction.repeat;
    for (const { block } of bodies) {
      const fn = blocks[block]!;
      const stored = new Set(fn.body.flatMap((one) => ("store" in one ? one.store.map((name) => nameOf(name)) : [])));
      if (stored.size === 0) continue;
      const named = fn.outputs.flatMap((name, k): [string, string][] => {
        const [own, outside] = [bareName(name), out[k]];
        return stored.has(own) && outside ? [[own, bareName(outside)]] : [];
      });
      stores.set(fn, new Map(named));
    }
  }
  return stores;
}
