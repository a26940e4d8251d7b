/** The levers that a search may pull. */

import { LEVERS, MICRO_BATCH, packing, SMALLER_BATCH } from "./levers";
import type { Lever, LeverId, SearchOptions } from "./types";

/** Levers that put adapters on a full fine-tune. */
const ADDS_ADAPTERS: ReadonlySet<LeverId> = new Set(["lora", "dora", "8-bit-base", "qlora"]);

/** The levers that the options allow, the micro-batch last: it is moved only as far as the others leave necessary. */
export function allowedLevers(options: SearchOptions): readonly Lever[] {
  const batch = options.keepGlobalBatch === false ? SMALLER_BATCH : MICRO_BATCH;
  const without = new Set(options.without ?? []);
  const packed = options.filledShare === undefined ? [] : [packing(options.filledShare)];
  return [...LEVERS, ...packed, batch].filter(({ id, effect, requires, rare }) => {
    if (without.has(id) || (rare && options.rare !== true)) return false;
    // A drive does what host memory does: it is for hosts that are known to have too little.
    if (options.hostLimitBytes === undefined && requires.some(({ kind }) => kind === "nvme")) return false;
    if (options.keepNumerics === true && effect !== "nothing") return false;
    if (options.allowAdapters === false && ADDS_ADAPTERS.has(id)) return false;
    return options.allowPackages !== false || requires.every(({ kind }) => kind !== "package");
  });
}
