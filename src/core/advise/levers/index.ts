/** The levers, as data: when each applies, where it can go, and the settings that say so. */
import type { Lever } from "../types";
import { ADAPTERS } from "./adapters";
import { SHORTER_SEQUENCE } from "./batch";
import { COMPUTATION } from "./computation";
import { OFFLOAD } from "./offload";
import { OPTIMIZERS } from "./optimizers";
import { SPREAD } from "./spread";

export { MICRO_BATCH, packing, SMALLER_BATCH } from "./batch";

/**
 * In the order that they are applied and that titles name them. Adapters come before the optimizers, which do not
 * apply to them, and a smaller rank before the adapters, so that it is one of adapters that were there.
 */
export const LEVERS: readonly Lever[] = [
  ...COMPUTATION,
  ...ADAPTERS,
  ...OPTIMIZERS,
  ...SPREAD,
  ...OFFLOAD,
  SHORTER_SEQUENCE,
];
