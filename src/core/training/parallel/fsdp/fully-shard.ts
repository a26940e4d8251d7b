/** FSDP2 on one rank: parameters are sharded one by one, gathered and reduced by groups (torch/distributed/fsdp/_fully_shard). */
import { type DType, ELEMENT_BYTES } from "../../../engine/dtype";
import type { ModuleHooks } from "../../../engine/module-hooks";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import type { FsdpSpec, SavingSpec } from "../../run";
import type { UnitOf } from "../../ties";
import type { ForwardUsage, MergedParts, ModelEnds, Strategy, WeightHandover } from "../strategy";
import { frozenShards } from "./frozen";
import { FullyShardedModel } from "./model";
import { ShardedParameter } from "./parameter";
import type { ShardingPolicy } from "./policy";
import { byLayers, byLayersAndEnds, isExpert, nextAhead, unitOf, unitWithEnds, withExpertsApart } from "./units";

export interface FullyShardOptions {
  readonly ranks: number;
  readonly load: DType;
  /** Dtype of mixed precision, or null. */
  readonly compute: DType | null;
  /** Trained parameters are raised to float32 where there is mixed precision. */
  readonly raises: boolean;
  /** Linear layers' weights are gathered in 8 bits (torchao/float8/fsdp_utils.py). */
  readonly eightBits: boolean;
}

/** Matrices of linear layers. */
function eightBitWeight({ moduleKind, rank }: Tensor): DType | null {
  return moduleKind === "Linear" && rank === 2 ? "float8" : null;
}

export class FullyShard implements Strategy {
  readonly parameterDtype: DType | null;
  readonly keepsAutocast: boolean;
  readonly shardsParameters = true;
  /** `MixedPrecisionPolicy` is of parameters and what goes through modules (torch/distributed/fsdp/_fully_shard/_fsdp_api.py). */
  readonly keepsBuffers = true;
  readonly stepsOnShards = true;
  readonly castsInputs = true;
  readonly reducesLast: boolean;
  readonly unitOf: UnitOf;
  readonly host = { pinned: 0, pageable: 0, nvme: 0 };
  private readonly policy: ShardingPolicy;
  /** Of experts that are spread already, over the ranks that hold the same ones. */
  private readonly experts: ShardingPolicy | null;
  private readonly shards = new Map<Tensor, ShardedParameter>();
  private model: FullyShardedModel | null = null;

  constructor(
    private readonly spec: FsdpSpec,
    private readonly options: FullyShardOptions,
  ) {
    const { compute, ranks } = options;
    this.parameterDtype = compute;
    this.keepsAutocast = spec.autocastsAround === true;
    this.reducesLast = spec.reducesEach !== true;
    this.unitOf = spec.groups === "layers" ? unitOf({ apart: spec.apart ?? [] }) : unitWithEnds(spec);
    this.policy = {
      ranks,
      replicas: spec.replicas ?? 1,
      parameterDtype: compute,
      reduceDtype: spec.reduceDtype ?? compute,
      outputDtype: spec.groups === "layers" ? null : compute,
      reshardAfterForward: spec.reshardAfterForward,
      cpuOffload: spec.cpuOffload,
    };
    const spread = spec.expertDegree ?? 1;
    // torchtitan/models/llama3/infra/parallelize.py (disable_fsdp_gradient_division)
    this.experts =
      spread > 1 ? { ...this.policy, ranks: Math.max(1, Math.floor(ranks / spread)), dividesApart: true } : null;
  }

  get accumulates(): boolean {
    return [...this.shards.values()].some(({ accumulated, whole }) => accumulated !== null || whole.grad !== null);
  }

  get hooks(): ModuleHooks | undefined {
    return this.model ?? undefined;
  }

  prepare(torch: Torch, parameters: readonly Tensor[], _?: readonly Tensor[], ends: ModelEnds = NO_ENDS): void {
    const { policy, spec, experts } = this;
    for (const parameter of parameters)
      this.shards.set(
        parameter,
        new ShardedParameter(
          torch,
          parameter,
          this.restingDtype(parameter),
          experts !== null && isExpert(parameter) ? experts : policy,
          this.options.eightBits ? eightBitWeight(parameter) : null,
          // Where their ranks are more than the experts of one: along what comes after them.
          experts !== null && isExpert(parameter) && experts.ranks > parameter.size(0) ? 1 : 0,
        ),
      );
    const whole = { ...ends, parameters };
    const { reshardAfterForward: resharded } = spec;
    const units =
      spec.groups === "layers"
        ? byLayers(whole, resharded, spec.rootStays === true ? false : resharded, spec.apart)
        : byLayersAndEnds(whole, resharded, spec, spec.tailResharded);
    const all = experts === null ? units : withExpertsApart(units);
    this.model = new FullyShardedModel(all, this.shards, policy, experts === null ? null : nextAhead(all));
    if (!spec.cpuOffload) return;
    // Shard and gradient are pinned; the optimizer's two states are not.
    for (const { own, padded, whole } of this.shards.values()) {
      const bytes = padded * ELEMENT_BYTES[own];
      this.host.pinned += whole.requiresGradFlag ? 2 * bytes : bytes;
      if (whole.requiresGradFlag) this.host.pageable += 2 * bytes;
    }
  }

  /** As loaded, or raised (accelerate/utils/fsdp_utils.py, fsdp2_prepare_model). */
  private restingDtype({ dtype, requiresGradFlag }: Tensor): DType {
    const { compute, raises, load } = this.options;
    if (compute === null || dtype !== compute) return dtype;
    return requiresGradFlag && raises ? "float32" : load;
  }

  prepareFrozen(torch: Torch, parameters: readonly Tensor[], onHost = this.spec.cpuOffload): ForwardUsage | null {
    return frozenShards(torch, parameters, this.options, onHost ? this.host : null);
  }

  beginMicroBatch(_: Torch, last: boolean): void {
    if (this.model === null) return;
    const { communication } = this.model;
    const inPipeline = this.spec.inPipeline === true;
    communication.reduces = !inPipeline && (last || !this.reducesLast);
    communication.staysWhole = inPipeline;
    communication.isLast = last;
  }

  endPass(torch: Torch): void {
    const { model } = this;
    if (model === null) return;
    if (this.spec.inPipeline === true) {
      if (!model.communication.isLast) return;
      model.communication.reduces = true;
      model.communication.staysWhole = false;
      model.reduceAll(torch);
    }
    model.rest(torch);
  }

  keepGathered(torch: Torch): void {
    this.model?.keepGathered(torch);
  }

  /**
   * `full_tensor()` of one parameter after the other; adapters are added to the parts of each rank (trl/generation/vllm_generation.py,
   * `_iter_fsdp2_params`). Those that go in batches are whole together (swift/rlhf_trainers/rollout_mixin.py, `_collect_state_dict_for_vllm`).
   */
  handOver(torch: Torch, { batches, receiver, sent, merge }: WeightHandover): void {
    const parts: MergedParts = {
      ranks: this.options.ranks,
      dtypeOf: (factor) => this.shards.get(factor)?.own ?? factor.dtype,
    };
    if (batches === null) merge(torch, parts);
    const together: Tensor[] = [];
    for (const shard of this.shards.values()) {
      if (batches === null && !sent(shard.whole)) continue;
      const whole = shard.made(torch);
      receiver.take(torch, whole);
      if (batches === null) whole.release();
      else together.push(whole);
    }
    if (batches === null) merge(torch, parts);
    for (const whole of together) whole.release();
  }

  /**
   * Every parameter, and each state of it, is made whole by itself and goes to the host at once. Source:
   * torch/distributed/_state_dict_utils.py (`_iterate_state_dict`: `full_tensor()` of one, then its copy on the host).
   */
  save(torch: Torch, { optimizer }: SavingSpec): void {
    for (const shard of this.shards.values()) shard.made(torch).release();
    if (!optimizer) return;
    for (const shard of this.shards.values()) if (shard.whole.requiresGradFlag) shard.made(torch).release();
  }

  onReduced(reduced: (shard: Tensor) => void): void {
    if (this.model !== null) this.model.communication.reduced = reduced;
  }

  /** Shards on the host are stepped on there. */
  optimizerGroups(_: Torch, groups: readonly (readonly Tensor[])[]): readonly (readonly Tensor[])[] {
    return this.spec.cpuOffload
      ? []
      : groups.map((group) => group.map((parameter) => this.shards.get(parameter)?.shard ?? parameter));
  }
}

/** A model of which nothing but its parameters is known. */
const NO_ENDS: ModelEnds = { embedding: null, head: null, adapted: false, names: new Map() };
