/** Which weights are trained, where not all of them are. */
import type { WeightRule } from "../../../terms/weights";
import type { DType } from "../../engine/dtype";

export type { WeightRule };

/** Weights that are trained where others stay as they are. */
export interface TrainedSpec {
  /** The last one that fits decides; a weight that none fits is trained, unless its model leaves it as it is. */
  readonly rules?: readonly WeightRule[];
  /** What is switched on and off when the adapter is there, by the names that peft gives; the last one that fits decides. */
  readonly besideAdapter?: readonly WeightRule[];
  /** What the optimizer is given; the others have gradients that nothing steps. Absent: all that is trained. */
  readonly stepped?: readonly WeightRule[];
  /** Share of all elements that stays as it is, from the first weight on, in whole weights. */
  readonly frozenShare?: number;
  /** Only these layers. */
  readonly layers?: TrainedLayers;
  /** Dtype that trained weights are raised to; the others stay as loaded. */
  readonly dtype?: DType;
}

/** Some layers from one end. */
export interface TrainedLayers {
  /** So many, from the last one back; negative: from the first one on. */
  readonly count: number;
  /** Modules of a layer that are trained; null: all of them. */
  readonly modules: readonly string[] | null;
  /** Modules outside the layers that are trained, too: texts found in their names. */
  readonly besides: readonly string[];
}
