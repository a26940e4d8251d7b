/** One parameter of a group: its shard on this rank, and its whole while the group is gathered. Source: torch/distributed/fsdp/_fully_shard/_fsdp_param.py. */
import { type DType, ELEMENT_BYTES } from "../../../engine/dtype";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import { ghost, reserve } from "../strategy";
import type { ShardingPolicy } from "./policy";

/** Where a parameter's data are: spread over all ranks, over fewer since forward, or here in full. */
export type ShardedState = "sharded" | "post-forward" | "unsharded";

export class ShardedParameter {
  /** What the optimizer steps on. */
  readonly shard: Tensor;
  /** Elements of one rank's shard with its padding. */
  readonly padded: number;
  /** A gradient of several micro-batches in the dtype it will be reduced in. */
  accumulated: Tensor | null = null;
  private state: ShardedState = "sharded";
  private postForward: Tensor | null = null;

  /** @param own dtype of the shard at rest */
  constructor(
    torch: Torch,
    /** As the model's code sees it; it has memory only while it is gathered. */
    readonly whole: Tensor,
    readonly own: DType,
    readonly policy: ShardingPolicy,
    /** Dtype it is gathered in, where an extension says another than the policy. */
    private readonly extension: DType | null,
    /** Dimension it is sharded along (`shard_placement_fn`). */
    readonly dimension = 0,
  ) {
    const sizes = whole.sizes.map((size, k) => (k === dimension ? Math.ceil(size / policy.ranks) : size));
    this.shard = policy.cpuOffload ? ghost(torch, sizes, own) : shardOf(torch, sizes, own);
    this.shard.name = whole.name;
    this.shard.moduleKind = whole.moduleKind;
    this.shard.isTable = whole.isTable;
    this.shard.pattern = whole.pattern;
    this.shard.layer = whole.layer;
    this.shard.requiresGradFlag = whole.requiresGradFlag;
    this.padded = this.shard.elements;
    // What was loaded whole goes once its shard is there.
    this.free(torch);
  }

  /** Dtype the shards are cast to before they are gathered (`param_dtype`); null where they have it. */
  get castDtype(): DType | null {
    const { parameterDtype } = this.policy;
    return this.extension !== null || parameterDtype === this.own ? null : parameterDtype;
  }

  get gatheredDtype(): DType {
    return this.extension ?? this.castDtype ?? this.own;
  }

  /** Elements that this rank puts into the gathering, and those that come out of it. */
  inputElements(ranks: number): number {
    return this.state === "post-forward" ? (this.padded * this.policy.ranks) / ranks : this.padded;
  }

  get gatheredElements(): number {
    return this.padded * this.policy.ranks;
  }

  /** `alloc_all_gather_outputs`: the parameter has memory, the padding of its last shard included. */
  allocate(torch: Torch): void {
    const gathered = reserve(torch, "all_gather_copy_out", this.gatheredElements, this.gatheredDtype, "communication");
    this.whole.storage.id = gathered.storage.id;
  }

  /** A copy in the order of the ranks, from which a parameter that is not sharded along its rows is put together. */
  inOrderOfRanks(torch: Torch): Tensor | null {
    if (this.dimension === 0) return null;
    return reserve(torch, "empty_like", this.gatheredElements, this.gatheredDtype, "communication");
  }

  /** `all_gather_inputs` of a parameter that no other rank has a part of: null where it is in that dtype already. */
  cast(torch: Torch): Tensor | null {
    const { castDtype } = this;
    return castDtype === null ? null : reserve(torch, "_to_copy", this.padded, castDtype, "communication");
  }

  toUnsharded(): void {
    this.state = "unsharded";
    this.postForward?.release();
    this.postForward = null;
  }

  toSharded(torch: Torch): void {
    this.state = "sharded";
    this.free(torch);
  }

  /** `to_sharded_post_forward`: this rank's part of a smaller group is copied out. */
  toShardedPostForward(torch: Torch, ranks: number): void {
    this.state = "post-forward";
    // Where no backward has used it up, the copy before is there until this one is.
    const before = this.postForward;
    this.postForward = reserve(torch, "clone", this.gatheredElements / ranks, this.gatheredDtype, "communication");
    before?.release();
    this.free(torch);
  }

  /** The whole of its shards as they rest (`DTensor.full_tensor`); those on the host are sent first. */
  made(torch: Torch): Tensor {
    const { ranks, cpuOffload } = this.policy;
    const sent = cpuOffload ? reserve(torch, "_to_copy", this.padded, this.own, "communication") : null;
    if (ranks <= 1) return sent ?? this.shard.retain();
    const whole = reserve(torch, "all_gather", this.gatheredElements, this.own, "communication");
    sent?.release();
    return whole;
  }

  /** Nothing of it is kept from one pass to the next. */
  rest(): void {
    this.postForward?.release();
    this.postForward = null;
  }

  /** Bytes of what this rank puts into the gathering. */
  inputBytes(ranks: number): number {
    return this.inputElements(ranks) * ELEMENT_BYTES[this.gatheredDtype];
  }

  private free(torch: Torch): void {
    const { storage } = this.whole;
    if (storage.id >= 0) torch.ledger.free(storage.id);
    storage.id = -1;
  }
}

function shardOf(torch: Torch, sizes: readonly number[], dtype: DType): Tensor {
  const before = { kind: torch.kind, scope: torch.scope };
  torch.kind = "weights";
  torch.scope = "";
  const shard = torch.empty("new_zeros", sizes, dtype);
  torch.kind = before.kind;
  torch.scope = before.scope;
  return shard;
}
