/** What layers put into a dictionary that every layer is given, by the names that the main function has for it. */
import { bareName, nameOf } from "./reads";
import type { ArchitectureGraph, GraphFunction } from "./types";

/** Per function that stores: its own name of each value, and the main function's. */
export type Stores = ReadonlyMap<GraphFunction, ReadonlyMap<string, string>>;

export function storesOf({ main, blocks }: Pick<ArchitectureGraph, "main" | "blocks">): Stores {
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
