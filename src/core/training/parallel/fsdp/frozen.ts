/** A model beside the trained one that only runs forward: one layer gathered at a time, and the next one while it runs. */
import type { DType } from "../../../engine/dtype";
import type { Tensor } from "../../../engine/tensor";
import { ForwardGathering, type GatheringOptions } from "../gathering";

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

export class FrozenGathering extends ForwardGathering {
  constructor(parameters: readonly Tensor[], dtype: DType) {
    super(parameters, gatheringIn(dtype));
  }
}
