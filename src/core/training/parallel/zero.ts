/**
 * DeepSpeed ZeRO on one rank. Sources: deepspeed/runtime/zero/{stage_1_and_2.py,stage3.py,
 * partitioned_param_coordinator.py,config.py}; the rules are written out in memory terms in docs/parallel.md.
 */
import type { DType } from "../../engine/dtype";
import { ELEMENT_BYTES } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { DeepSpeedSpec } from "../run";
import { BelowStage3 } from "./deepspeed/below-stage3";
import { ForwardGathering, Gathering, type GatheringOptions, GatheringStrategy } from "./gathering";
import { elements, type ForwardUsage, reserve, reserveWhole, type Strategy } from "./strategy";

const MASTER: DType = "float32";

/** State of one ZeRO engine over a simulated run. */
class Zero extends GatheringStrategy implements Strategy {
  readonly parameterDtype: DType | null;
  readonly keepsAutocast = false;
  readonly shardsParameters: boolean;
  readonly host = { pinned: 0, pageable: 0, nvme: 0 };
  private readonly dtype: DType;
  /** Flat partitions the optimizer steps on, one per parameter group. */
  private partitions: Tensor[] = [];
  private trained: readonly Tensor[] = [];
  /** All of what is sharded, where several models are one. */
  private everything: Gathering | null = null;

  constructor(
    private readonly spec: DeepSpeedSpec,
    private readonly ranks: number,
  ) {
    super();
    this.parameterDtype = spec.engineDtype;
    this.dtype = spec.engineDtype ?? "float32";
    this.shardsParameters = spec.zeroStage === 3;
  }

  /** Dtype gradients are reduced and kept in. */
  private get gradientDtype(): DType {
    return this.spec.gradAccumDtype ?? this.dtype;
  }

  private get optimizerOnHost(): boolean {
    return this.spec.offloadOptimizer !== "none";
  }

  private onHost(bytes: number, target: "cpu" | "nvme"): void {
    if (target === "nvme") this.host.nvme += bytes;
    else if (this.spec.pinMemory) this.host.pinned += bytes;
    else this.host.pageable += bytes;
  }

  prepare(torch: Torch, parameters: readonly Tensor[], layers: readonly Tensor[] = parameters): void {
    const { spec, ranks } = this;
    this.trained = parameters.filter((parameter) => parameter.requiresGradFlag);
    const own = elements(this.trained) / ranks;
    if (spec.zeroStage === 3) this.shardParameters(torch, parameters, layers);
    if (this.optimizerOnHost) {
      const target = spec.offloadOptimizer === "nvme" ? "nvme" : "cpu";
      // float32 master, two moments, float32 gradient
      this.onHost(4 * 4 * own, target);
    }
    if (spec.zeroStage >= 1 && spec.contiguousGradients) {
      const buckets = spec.overlapComm && spec.zeroStage < 3 ? 2 : 1;
      for (let k = 0; k < buckets; k++)
        reserveWhole(torch, "ipg_bucket", spec.reduceBucketSize, this.dtype, "communication");
    }
    if (spec.zeroStage >= 2 && !(this.optimizerOnHost && spec.zeroStage === 2))
      reserve(torch, "grads_in_partition", own, this.gradientDtype, "gradients");
  }

  /** An engine of the same config without an optimizer: its own shards, no buckets (trl/models/utils.py, prepare_deepspeed). */
  prepareFrozen(torch: Torch, parameters: readonly Tensor[]): ForwardUsage | null {
    if (!this.shardsParameters) return null;
    this.shardsOf(torch, parameters);
    return new ForwardGathering(parameters, this.gatheringOptions);
  }

  private get gatheringOptions(): Omit<GatheringOptions, "reuseDistance"> {
    const { spec } = this;
    return {
      dtype: this.dtype,
      keepBelow: spec.stage3ParamPersistenceThreshold,
      prefetchElements: spec.stage3PrefetchBucketSize,
      maxLive: spec.stage3MaxLiveParameters,
      holdOutside: false,
    };
  }

  /** What is there of sharded parameters all the time. */
  private shardsOf(torch: Torch, parameters: readonly Tensor[]): void {
    const { spec, ranks } = this;
    const persistent = parameters.filter(({ elements: count }) => count <= spec.stage3ParamPersistenceThreshold);
    const own = elements(parameters) / ranks;
    if (spec.offloadParam === "none") reserve(torch, "ds_tensor", own, this.dtype, "weights");
    else this.onHost(own * ELEMENT_BYTES[this.dtype], spec.offloadParam === "nvme" ? "nvme" : "cpu");
    reserve(torch, "persistent_parameters", elements(persistent), this.dtype, "weights");
    if (spec.hpzPartitionSize > 1)
      reserve(torch, "hpz_secondary", elements(parameters) / spec.hpzPartitionSize, this.dtype, "weights");
  }

  private shardParameters(torch: Torch, parameters: readonly Tensor[], layers: readonly Tensor[]): void {
    this.shardsOf(torch, parameters);
    const reuseDistance = this.spec.stage3MaxReuseDistance;
    this.gathering = new Gathering(layers, { ...this.gatheringOptions, reuseDistance });
    this.everything = new Gathering(parameters, { ...this.gatheringOptions, reuseDistance });
  }

  /** `deepspeed.zero.GatheredParameters` over everything that is trained. */
  gatherAll(torch: Torch): Tensor | null {
    return this.everything?.gatherAll(torch) ?? null;
  }

  /** Stages 2 and 3 copy a gradient into the bucket and let it go. */
  get leafHook(): ((leaf: Tensor) => void) | undefined {
    if (this.spec.zeroStage < 2) return undefined;
    return (leaf) => {
      leaf.grad?.release();
      leaf.grad = null;
    };
  }

  /** The flat float32 partition of each group is what the optimizer steps on; on the host it costs nothing here. */
  optimizerGroups(torch: Torch, groups: readonly (readonly Tensor[])[]): readonly (readonly Tensor[])[] {
    if (this.optimizerOnHost) return [];
    if (this.spec.zeroStage === 0 && this.spec.engineDtype === null) return groups;
    const share = this.spec.zeroStage === 0 ? 1 : this.ranks;
    this.partitions = groups.map((group) => {
      const partition = reserve(torch, "single_partition_of_fp32_groups", elements(group) / share, MASTER, "optimizer");
      partition.requiresGradFlag = true;
      return partition;
    });
    return this.partitions.map((partition) => [partition]);
  }

  beforeStep(torch: Torch): void {
    const stage3 = this.spec.zeroStage === 3;
    for (const partition of this.partitions) {
      // Stage 3 casts one sub-group at a time.
      const count = stage3 ? Math.min(partition.elements, this.spec.subGroupSize) : partition.elements;
      const gradient = reserve(torch, "single_grad_partition", count, MASTER, "gradients");
      partition.grad = gradient;
    }
  }

  afterStep(): void {
    for (const partition of this.partitions) {
      partition.grad?.release();
      partition.grad = null;
    }
  }
}

export function zero(spec: DeepSpeedSpec, ranks: number): Strategy {
  if (spec.zeroStage < 3) return new BelowStage3({ spec, ranks });
  return new Zero(spec, ranks);
}
