/**
 * FSDP as accelerate sets it up: float32 shards at rest when mixed precision is on, one unit gathered in the compute
 * dtype (and the next one prefetched), gradients reduced to shards unit by unit. Sources: torch/distributed/fsdp,
 * accelerate/utils/fsdp_utils.py (trainable parameters raised to float32).
 */

import type { DType } from "../../../engine/dtype";
import { ELEMENT_BYTES } from "../../../engine/dtype";
import type { LeafHook } from "../../../engine/node";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import type { FsdpSpec } from "../../run";
import { ForwardGathering, Gathering, type GatheringOptions, GatheringStrategy } from "../gathering";
import { elements, type ForwardUsage, ghost, reserve, type Strategy } from "../strategy";
import { gatheringIn } from "./frozen";

class Fsdp extends GatheringStrategy implements Strategy {
  readonly parameterDtype: DType | null;
  readonly keepsAutocast = true;
  readonly shardsParameters: boolean;
  readonly host = { pinned: 0, pageable: 0, nvme: 0 };
  private readonly shardDtype: DType;

  constructor(
    private readonly spec: FsdpSpec,
    private readonly ranks: number,
    private readonly load: DType,
    autocast: DType | null,
  ) {
    super();
    this.parameterDtype = autocast ?? null;
    this.shardDtype = autocast === null ? load : "float32";
    this.shardsParameters = spec.sharding !== "no_shard";
  }

  prepare(torch: Torch, parameters: readonly Tensor[]): void {
    const { spec, ranks } = this;
    const trained = parameters.filter((parameter) => parameter.requiresGradFlag);
    if (!this.shardsParameters) return;
    const frozen = parameters.filter((parameter) => !parameter.requiresGradFlag);
    if (spec.cpuOffload) this.host.pinned += (elements(parameters) / ranks) * ELEMENT_BYTES[this.shardDtype] * 4;
    else {
      reserve(torch, "flat_shard", elements(trained) / ranks, this.shardDtype, "weights");
      for (const dtype of new Set(frozen.map((parameter) => parameter.dtype)))
        reserve(torch, "flat_shard", elements(frozen.filter((p) => p.dtype === dtype)) / ranks, dtype, "weights");
    }
    const reuseDistance = spec.reshardAfterForward ? -1 : Number.POSITIVE_INFINITY;
    this.gathering = new Gathering(parameters, { ...this.gatheringOptions, reuseDistance });
  }

  /** Wrapped apart, in the dtype it was loaded in: only trained parameters are raised (trl/models/utils.py, prepare_fsdp). */
  prepareFrozen(torch: Torch, parameters: readonly Tensor[], onHost = this.spec.cpuOffload): ForwardUsage | null {
    if (!this.shardsParameters) return null;
    const own = elements(parameters) / this.ranks;
    if (onHost) this.host.pinned += own * ELEMENT_BYTES[this.load];
    else reserve(torch, "flat_shard", own, this.load, "weights");
    return new ForwardGathering(parameters, this.gatheringOptions);
  }

  private get gatheringOptions(): Omit<GatheringOptions, "reuseDistance"> {
    return gatheringIn(this.parameterDtype ?? this.shardDtype);
  }

  /** The unsharded gradient is reduced into the shard's and let go. */
  get leafHook(): LeafHook | undefined {
    if (!this.shardsParameters) return undefined;
    return (leaf, torch) => {
      leaf.grad?.release();
      leaf.grad = this.spec.cpuOffload
        ? null
        : reserve(torch, "reduce_scatter", leaf.elements / this.ranks, this.shardDtype, "gradients");
    };
  }

  /** Flat shards; their bytes and their gradients' are booked where they were made. */
  optimizerGroups(torch: Torch, groups: readonly (readonly Tensor[])[]): readonly (readonly Tensor[])[] {
    if (!this.shardsParameters) return groups;
    if (this.spec.cpuOffload) return [];
    return groups.map((group) => {
      const sizes = [Math.ceil(elements(group) / this.ranks)];
      const partition = ghost(torch, sizes, this.shardDtype);
      partition.requiresGradFlag = true;
      partition.grad = ghost(torch, sizes, this.shardDtype);
      return [partition];
    });
  }
}

export function flatParameters(spec: FsdpSpec, ranks: number, load: DType, autocast: DType | null): Strategy {
  return new Fsdp(spec, ranks, load, autocast);
}
