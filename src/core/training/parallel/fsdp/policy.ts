/** What a run's FSDP2 does with dtypes, and over how many ranks. */
import type { DType } from "../../../engine/dtype";

/** `MixedPrecisionPolicy` and the mesh, as `fully_shard` is given them. */
export interface ShardingPolicy {
  /** Ranks that one copy of the model is spread over, and copies of it (hybrid sharding). */
  readonly ranks: number;
  readonly replicas: number;
  /** Dtype parameters are gathered in; null: their own. */
  readonly parameterDtype: DType | null;
  /** Dtype gradients are reduced in; null: their own. */
  readonly reduceDtype: DType | null;
  /** Dtype the modules' outputs are cast to; null: their own. */
  readonly outputDtype: DType | null;
  /** `reshard_after_forward`: to all ranks, not at all, or to so many. */
  readonly reshardAfterForward: boolean | number;
  readonly cpuOffload: boolean;
  /** Gradients are divided by a number of one's own (`set_gradient_divide_factor`). */
  readonly dividesApart?: true;
}
