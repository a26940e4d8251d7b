/** A config with other sizes. */
import type { FamilyGraphs } from "../../graph/types";
import type { ModelConfig } from "../run";

/** The config with other values, whatever they are called: by the names that the family's code reads, and by others it has. */
export function withSizes(
  config: ModelConfig,
  family: FamilyGraphs,
  sizes: Readonly<Record<string, number>>,
): ModelConfig {
  const own = new Map(Object.entries(sizes).map(([name, value]) => [family.aliases[name] ?? name, value]));
  const aliases = Object.entries(family.aliases).filter(([alias, target]) => alias in config && own.has(target));
  return {
    ...config,
    ...Object.fromEntries(own),
    ...Object.fromEntries(aliases.map(([alias, target]) => [alias, own.get(target)!])),
  };
}
