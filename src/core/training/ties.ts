/**
 * Weights that go by several names, where modules of different units have them: `fully_shard` and `FullyShardedDataParallel` look for
 * other names of a weight in the modules of their own unit alone, so each unit has a weight of its own from then on
 * (torch/distributed/fsdp/_fully_shard/_fsdp_init.py, `_get_param_module_infos`; torch/distributed/fsdp/_flat_param.py,
 * `_init_flat_param_and_metadata`).
 */
import type { PlacedTensor } from "./placed";

/** The modules at a model's ends before it is loaded, by their paths. */
export interface EndPaths {
  readonly embedding: string | null;
  /** `get_output_embeddings()`. */
  readonly head: string | null;
  /** They have one weight. */
  readonly isTied: boolean;
}

/** The unit that the module of a name is in. */
export type UnitOf = (item: Pick<PlacedTensor, "name" | "pattern" | "index">, ends: EndPaths) => string;

export interface Ties {
  /** All weights, those that are copies behind what they are copies of. */
  readonly found: readonly PlacedTensor[];
  /** Names that stand for another weight of the same unit. */
  readonly tied: ReadonlyMap<string, string>;
  /** Names of the copies. */
  readonly copies: ReadonlySet<string>;
}

/** Weights and their names, each unit with its own. */
export function perUnit(
  found: readonly PlacedTensor[],
  tied: ReadonlyMap<string, string>,
  unitOf: (item: PlacedTensor) => string,
): Ties {
  const namesOf = new Map<string, string[]>();
  for (const [name, to] of tied) namesOf.set(to, [...(namesOf.get(to) ?? []), name]);
  const listed = new Map(found.map((item) => [item.name, item]));
  const kept = new Map<string, string>();
  const copies = new Set<string>();
  const all = found.flatMap((item): PlacedTensor[] => {
    if (item.sharedWith !== null) return [{ ...item, sharedWith: kept.get(item.name) ?? null }];
    const inUnit = new Map([[unitOf(item), item.name]]);
    const made = [item];
    for (const name of namesOf.get(item.name) ?? []) {
      const twin = listed.get(name) ?? { ...item, name, pattern: name };
      const unit = unitOf(twin);
      const known = inUnit.get(unit);
      if (known !== undefined) {
        kept.set(name, known);
        continue;
      }
      inUnit.set(unit, name);
      copies.add(name);
      if (!listed.has(name)) made.push(twin);
    }
    return made;
  });
  return { found: all, tied: kept, copies };
}

/** The same of a model that is loaded for a strategy; each weight once where it has no units. */
export function tiesOf(
  found: readonly PlacedTensor[],
  tied: ReadonlyMap<string, string>,
  unitOf: UnitOf | undefined,
  ends: Omit<EndPaths, "isTied">,
): Ties {
  if (unitOf === undefined || tied.size === 0) return { found, tied, copies: new Set() };
  const weightOf = (path: string | null): string | undefined => {
    const name = path === null ? undefined : `${path}.weight`;
    return name && (tied.get(name) ?? name);
  };
  const isTied = ends.head !== null && weightOf(ends.embedding) === weightOf(ends.head);
  return perUnit(found, tied, (item) => unitOf(item, { ...ends, isTied }));
}
