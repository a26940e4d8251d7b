/** A model beside the trained one that only runs forward: one layer gathered at a time, and the next one while it runs. */
import { type DType, ELEMENT_BYTES } from "../../../engine/dtype";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import { ForwardGathering, type GatheringOptions } from "../gathering";
import { elements, type ForwardUsage, reserve } from "../strategy";

/** How a layer's parameters are gathered at once, and the model's own for the whole forward. */
function gatheringIn(dtype: DType): Omit<GatheringOptions, "reuseDistance"> {
  return {
    dtype,
    keepBelow: 0,
    prefetchElements: Number.POSITIVE_INFINITY,
    maxLive: Number.POSITIVE_INFINITY,
    holdOutside: true,
  };
}

class FrozenGathering extends ForwardGathering {
  constructor(parameters: readonly Tensor[], dtype: DType) {
    super(parameters, gatheringIn(dtype));
  }
}

/** Dtypes that a model was loaded and is computed in, and how many ranks share it. */
interface Wrapped {
  readonly ranks: number;
  readonly load: DType;
  readonly compute: DType | null;
}

/**
 * A model that only runs forward, wrapped apart in the dtype it was loaded in: only trained parameters are raised
 * (trl/models/utils.py, prepare_fsdp).
 *
 * @param host where its shards wait; null: on the device
 */
export function frozenShards(
  torch: Torch,
  parameters: readonly Tensor[],
  { ranks, load, compute }: Wrapped,
  host: { pinned: number } | null,
): ForwardUsage {
  const own = elements(parameters) / ranks;
  if (host !== null) host.pinned += own * ELEMENT_BYTES[load];
  else reserve(torch, "flat_shard", own, load, "weights");
  return new FrozenGathering(parameters, compute ?? load);
}
