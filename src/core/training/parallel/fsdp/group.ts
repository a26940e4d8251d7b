/**
 * Parameters that are gathered by one collective and whose gradients are reduced by one. Source:
 * torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py (FSDPParamGroup), whose names the methods have.
 */
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import { allGather, reduceScatter } from "./collectives";
import type { ShardedParameter, ShardedState } from "./parameter";
import type { ShardingPolicy } from "./policy";

/** What all groups of a model share (`FSDPCommContext`). */
export class Communication {
  /** What the group before gathered, kept until this one's is copied out (`all_gather_state`). */
  gathered: Tensor | null = null;
  /** What the group before scattered (`reduce_scatter_state`). */
  scattered: Tensor | null = null;
  /** Groups in the order their forwards ended (`post_forward_order`). */
  readonly order: ParameterGroup[] = [];
  /** Whether gradients are reduced (`set_requires_gradient_sync`). */
  reduces = true;
  /** Groups that do not reduce stay gathered after backward (`set_reshard_after_backward`). */
  staysWhole = false;
  /** The micro-batch that runs is the last of its step. */
  isLast = true;
  /** Told of every shard whose gradient is there. */
  reduced: (shard: Tensor) => void = () => {};

  dropGathered(): void {
    this.gathered?.release();
    this.gathered = null;
  }

  dropScattered(): void {
    this.scattered?.release();
    this.scattered = null;
  }
}

export type TrainingState = "idle" | "forward" | "pre-backward" | "post-backward";

export class ParameterGroup {
  state: TrainingState = "idle";
  private sharded: ShardedState = "sharded";
  /** Asked for, and not waited for yet; null: nothing had to be gathered. */
  private gathering: Tensor | null = null;
  private isAsked = false;
  private allReduced: Tensor | null = null;
  private readonly indices: number[] = [];

  /** @param resharded after forward: to all ranks, not at all, or to so many */
  constructor(
    private readonly parameters: readonly ShardedParameter[],
    private readonly communication: Communication,
    private readonly policy: ShardingPolicy,
    private readonly resharded: boolean | number,
  ) {}

  get isUnsharded(): boolean {
    return this.sharded === "unsharded";
  }

  private get ranks(): number {
    return this.sharded === "post-forward" && typeof this.resharded === "number" ? this.resharded : this.policy.ranks;
  }

  unshard(torch: Torch): void {
    if (this.isAsked || this.isUnsharded) return;
    this.isAsked = true;
    if (this.ranks > 1) this.gathering = allGather(torch, this.parameters, this.ranks, this.policy);
  }

  waitForUnshard(torch: Torch): void {
    const { gathering, communication } = this;
    if (!this.isAsked) return;
    const last = gathering === null ? this.receiveAlone(torch) : this.receive(torch);
    this.gathering = null;
    this.isAsked = false;
    // `prev_all_gather_state` names the one before until the call returns.
    if (this.state === "forward") communication.dropGathered();
    if (this.state === "forward" && gathering !== null) communication.gathered = gathering;
    else gathering?.release();
    last?.release();
  }

  /** `foreach_all_gather_copy_out`. */
  private receive(torch: Torch): null {
    const copies: (Tensor | null)[] = [];
    for (const parameter of this.parameters) {
      parameter.allocate(torch);
      copies.push(parameter.inOrderOfRanks(torch));
    }
    for (const copy of copies) copy?.release();
    this.isReceived();
    return null;
  }

  /** A group of one rank copies its own: one after the other is cast, and the last cast stays named until the call returns. */
  private receiveAlone(torch: Torch): Tensor | null {
    let named: Tensor | null = null;
    for (const parameter of this.parameters) {
      const cast = parameter.cast(torch);
      named?.release();
      named = cast;
      parameter.allocate(torch);
    }
    this.isReceived();
    return named;
  }

  private isReceived(): void {
    for (const parameter of this.parameters) parameter.toUnsharded();
    this.sharded = "unsharded";
  }

  reshard(torch: Torch): void {
    const { resharded } = this;
    if (this.state === "forward") {
      if (resharded === false) return;
      if (typeof resharded === "number") {
        for (const parameter of this.parameters) parameter.toShardedPostForward(torch, resharded);
        this.sharded = "post-forward";
        return;
      }
    }
    this.toSharded(torch);
  }

  private toSharded(torch: Torch): void {
    if (this.sharded === "sharded") return;
    for (const parameter of this.parameters) parameter.toSharded(torch);
    this.sharded = "sharded";
  }

  preForward(torch: Torch): void {
    this.state = "forward";
    this.unshard(torch);
    this.waitForUnshard(torch);
  }

  /** @param inBackward a checkpoint's recomputation of the reentrant kind: what is gathered stays for the backward */
  postForward(torch: Torch, inBackward: boolean): void {
    if (!inBackward) {
      this.reshard(torch);
      this.indices.push(this.communication.order.push(this) - 1);
    }
    this.state = "idle";
  }

  /** @param prefetches the group whose forward ended before, where nobody said which others */
  preBackward(torch: Torch, prefetches: boolean): void {
    if (this.state === "pre-backward") return;
    this.state = "pre-backward";
    this.unshard(torch);
    this.waitForUnshard(torch);
    if (prefetches) this.prefetch(torch);
  }

  /** `_backward_prefetch`: the group whose forward ended before this one's. */
  private prefetch(torch: Torch): void {
    const index = this.indices.pop();
    if (index === undefined || index < 1) return;
    this.communication.order[index - 1]!.unshard(torch);
  }

  postBackward(torch: Torch): void {
    this.state = "post-backward";
    this.addAccumulated();
    if (!this.communication.reduces) {
      if (!this.communication.staysWhole) this.reshard(torch);
      this.accumulate(torch);
      return;
    }
    const parameters: ShardedParameter[] = [];
    const gradients: Tensor[] = [];
    for (const parameter of this.parameters) {
      const { whole, accumulated } = parameter;
      const gradient = accumulated ?? whole.grad;
      if (gradient === null) continue;
      parameter.accumulated = null;
      if (accumulated === null) whole.grad = null;
      parameters.push(parameter);
      gradients.push(gradient);
    }
    this.reshard(torch);
    if (parameters.length === 0) return;
    const { communication } = this;
    communication.dropScattered();
    this.dropAllReduced();
    const { input, allReduced } = reduceScatter(torch, parameters, gradients, this.policy, communication.reduced);
    communication.scattered = input;
    this.allReduced = allReduced;
  }

  /** `accumulate_unsharded_grad_if_needed`. */
  private addAccumulated(): void {
    for (const { whole, accumulated } of this.parameters)
      if (accumulated !== null && whole.grad !== null) {
        whole.grad.release();
        whole.grad = null;
      }
  }

  /** `to_accumulated_grad_if_needed`: kept in the dtype that it will be reduced in. */
  private accumulate(torch: Torch): void {
    const { reduceDtype } = this.policy;
    for (const parameter of this.parameters) {
      const { grad } = parameter.whole;
      if (reduceDtype === null || grad === null || grad.dtype === reduceDtype) continue;
      parameter.accumulated = torch.toCopy(grad, reduceDtype);
      torch.ledger.relabel(parameter.accumulated.storage.id, "gradients");
      grad.release();
      parameter.whole.grad = null;
    }
  }

  /** A group that is not resharded after forward is as one leaves it. */
  keepGathered(torch: Torch): void {
    if (this.resharded === false) this.receive(torch);
  }

  finalizeBackward(): void {
    this.dropAllReduced();
    this.gathering?.release();
    this.gathering = null;
    this.isAsked = false;
    this.indices.length = 0;
  }

  private dropAllReduced(): void {
    this.allReduced?.release();
    this.allReduced = null;
  }

  /** Everything back to how it lies at rest, where a forward without a backward left it gathered. */
  rest(torch: Torch): void {
    this.state = "idle";
    this.indices.length = 0;
    this.toSharded(torch);
    for (const parameter of this.parameters) parameter.rest();
  }
}
