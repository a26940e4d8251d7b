/**
 * ZeRO stage 3: parameters are spread over the ranks and gathered around the modules that use them. Sources:
 * deepspeed/runtime/zero/{partition_parameters.py,parameter_offload.py,stage3.py}.
 */
import { type DType, ELEMENT_BYTES } from "../../../../engine/dtype";
import type { Moment, Watcher } from "../../../../engine/notes";
import { zero3Linear } from "../../../../engine/ops/zero3-linear";
import type { Tensor } from "../../../../engine/tensor";
import type { Torch } from "../../../../engine/torch";
import type { Optimizer } from "../../../optimizers";
import { ForwardGathering } from "../../gathering";
import {
  elements,
  type ForwardUsage,
  type ModelEnds,
  reserve,
  type Strategy,
  type WeightHandover,
  WHOLE_PARTS,
  type Whole,
} from "../../strategy";
import type { EngineOptions, MakeOptimizer } from "../engine";
import { hostOfParameterBuffers, hostOfSubGroups, onHost } from "../host";
import { Coordinator, type ZeroModule } from "./coordinator";
import { Modules } from "./modules";
import { type Gathered, Stage3Optimizer } from "./optimizer";
import { ZeroParameter } from "./parameter";
import { packed } from "./quantized";

const ROOT = "";

export class Stage3 implements Strategy, Watcher, Gathered {
  readonly parameterDtype: DType | null;
  readonly keepsAutocast = false;
  readonly shardsParameters = true;
  readonly host = { pinned: 0, pageable: 0, nvme: 0 };
  readonly linear: typeof zero3Linear | null;
  private readonly dtype: DType;
  private parameters = new Map<Tensor, ZeroParameter>();
  private modules = new Modules(new Map(), []);
  private readonly coordinator: Coordinator;
  private engine: Stage3Optimizer | null = null;
  /** Whether the model's own forward runs: what is called outside it is called again. */
  private inForward = false;

  constructor(private readonly options: EngineOptions) {
    const { spec, ranks } = options;
    this.parameterDtype = spec.engineDtype;
    this.dtype = spec.engineDtype ?? "float32";
    this.coordinator = new Coordinator(
      {
        prefetchElements: spec.stage3PrefetchBucketSize,
        maxReuseDistance: spec.stage3MaxReuseDistance,
        keepsRecomputed: spec.releasesRecomputed !== true,
        maxLive: spec.stage3MaxLiveParameters,
        apartStream: spec.overlapComm,
        secondaryRanks: spec.hpzPartitionSize > 1 ? spec.hpzPartitionSize : null,
      },
      {
        ranks,
        fromHost: spec.offloadParam !== "none",
        quantizes: spec.quantizesWeights === true,
        apart: spec.gathersApart === true,
        bySum: spec.gathersBySum === true,
      },
    );
    this.linear = spec.plainLinear === true ? null : zero3Linear;
  }

  get watcher(): Watcher {
    return this;
  }

  prepare(torch: Torch, parameters: readonly Tensor[], _: readonly Tensor[] = parameters, ends?: ModelEnds): void {
    const { spec, ranks } = this.options;
    // What is there whole, adapters' too, is spread one by one, and trained parts are put together afterwards.
    const parts = parameters.flatMap(({ storage, elements: count, dtype }) => {
      if (storage.id < 0) return [];
      const isHere = spec.offloadParam === "none";
      const part = isHere ? reserve(torch, "ds_tensor", Math.ceil(count / ranks), dtype, "weights") : null;
      torch.ledger.free(storage.id);
      storage.id = -1;
      return part ?? [];
    });
    const all = parameters.map((tensor, id) => {
      const persists = tensor.elements <= spec.stage3ParamPersistenceThreshold;
      const isPacked = spec.quantizesFrozen === true && !tensor.requiresGradFlag;
      return new ZeroParameter(tensor, id, persists, ranks, isPacked);
    });
    this.parameters = new Map(all.map((parameter) => [parameter.tensor, parameter]));
    this.modules = new Modules(this.parameters, [
      ...(ends?.names ?? []),
      ...parameters.flatMap((tensor) => (tensor.name === null ? [] : [[tensor.name, tensor] as const])),
    ]);
    const trained = all.filter(({ isTrained }) => isTrained);
    // Trained ones in one buffer (`defragment`), frozen ones each by itself.
    for (const parameter of all) if (!parameter.isTrained) this.keep(torch, parameter);
    const shares = trained.reduce((sum, { share }) => sum + share, 0);
    if (spec.offloadParam === "none") reserve(torch, "ds_tensor", shares, this.dtype, "weights");
    // `_create_param_groups_fp16_flat_cpu_memory` pins it whatever `pin_memory` says.
    else onHost(this.host, shares * ELEMENT_BYTES[this.dtype], spec.offloadParam, { ...spec, pinMemory: true });
    hostOfParameterBuffers(this.host, spec, this.dtype);
    for (const part of parts) part.release();
    // Each is split within its group as it is spread for the first time.
    if (spec.hpzPartitionSize > 1) for (const parameter of all) parameter.keepSecondary(torch, spec.hpzPartitionSize);
    hostOfSubGroups(
      this.host,
      this.options,
      trained.map(({ tensor }) => tensor),
    );
  }

  /** A frozen parameter's part; small ones stay on the device under offload. */
  private keep(torch: Torch, { dtype, share, persists, isPacked }: ZeroParameter): void {
    const { spec } = this.options;
    if (spec.offloadParam !== "none" && !persists)
      onHost(this.host, share * ELEMENT_BYTES[isPacked ? "int8" : dtype], spec.offloadParam, spec);
    else if (isPacked) packed(torch, share, "weights");
    else reserve(torch, "ds_tensor", share, dtype, "weights");
  }

  /** An engine of the same config without an optimizer: its own shards, no buckets (trl/models/utils.py, prepare_deepspeed). */
  prepareFrozen(torch: Torch, parameters: readonly Tensor[]): ForwardUsage {
    const { spec, ranks } = this.options;
    const persistent = parameters.filter(({ elements: count }) => count <= spec.stage3ParamPersistenceThreshold);
    const own = elements(parameters) / ranks;
    if (spec.offloadParam === "none") reserve(torch, "ds_tensor", own, this.dtype, "weights");
    else onHost(this.host, own * ELEMENT_BYTES[this.dtype], spec.offloadParam, spec);
    reserve(torch, "persistent_parameters", elements(persistent), this.dtype, "weights");
    return new ForwardGathering(parameters, {
      dtype: this.dtype,
      keepBelow: spec.stage3ParamPersistenceThreshold,
      prefetchElements: spec.stage3PrefetchBucketSize,
      maxLive: spec.stage3MaxLiveParameters,
      holdOutside: false,
    });
  }

  optimizerGroups(_: Torch, groups: readonly (readonly Tensor[])[]): readonly (readonly Tensor[])[] {
    return groups;
  }

  optimizer(torch: Torch, groups: readonly (readonly Tensor[])[], make: MakeOptimizer): Optimizer {
    const own = groups.map((group) => group.flatMap((tensor) => this.parameters.get(tensor) ?? []));
    this.engine = new Stage3Optimizer(torch, own, this.options, this.parameters, this, make);
    return this.engine;
  }

  beginMicroBatch(torch: Torch, last: boolean): void {
    this.engine?.begin(torch, last);
  }

  endMicroBatch(torch: Torch): void {
    this.engine?.end(torch);
  }

  gradient(torch: Torch, leaf: Tensor): void {
    this.engine?.gradient(torch, leaf);
  }

  view(_: Torch, leaf: Tensor, saved: boolean): void {
    this.parameters.get(leaf)?.view(saved);
  }

  /** The hooks of parameter_offload.py. */
  module(torch: Torch, path: string, moment: Moment, tracked: boolean): void {
    if (moment === "read") {
      this.read(torch, path);
      return;
    }
    const module = this.modules.at(path);
    switch (moment) {
      case "forward":
        if (path === ROOT) {
          this.coordinator.reset(torch);
          this.inForward = true;
        }
        this.running.push(module);
        this.tracked.set(path, tracked);
        this.coordinator.fetch(torch, module, true, !this.inForward);
        break;
      case "forwarded":
        this.running.pop();
        this.coordinator.release(torch, module, true);
        if (path === ROOT) this.inForward = false;
        break;
      case "backward":
        this.coordinator.fetch(torch, module, false, false);
        break;
      case "backwarded":
        // Nothing tells that a module is done whose inputs require no gradient.
        if (this.tracked.get(path) !== false) this.coordinator.release(torch, module, false);
    }
  }

  /** A module's code looks at a parameter that is not its own; in a recomputation nobody notices. */
  private read(torch: Torch, path: string): void {
    const parameter = this.modules.parameter(path);
    const reader = this.running.at(-1);
    if (this.inForward && parameter !== undefined && reader !== undefined)
      this.coordinator.read(torch, reader, parameter);
  }

  /** Modules whose forward runs, the innermost last (`FWD_MODULE_STACK`). */
  private readonly running: ZeroModule[] = [];

  /** Whether the inputs of each module require grad. */
  private readonly tracked = new Map<string, boolean>();

  /**
   * `deepspeed.zero.GatheredParameters` over all of them, which spreads what always stays there, too. Hooks are taken off and put on again around it, which throws the trace away
   * (trl/models/utils.py, `_unwrap_model_for_generation`, `add_hooks`).
   */
  gatherAll(torch: Torch): Whole {
    const all = [...this.parameters.values()];
    const there = all.filter(({ status }) => status === "here");
    this.gatherWhole(torch, all);
    return {
      release: () => {
        for (const parameter of all) parameter.drop();
        this.gatherEach(torch, there);
        this.coordinator.forget(torch);
      },
    };
  }

  /**
   * A context over each parameter, or over all where adapters are merged, which parts cannot be (trl/generation/vllm_generation.py,
   * `_iter_named_params`); over a batch of layers (swift/rlhf_trainers/rollout_mixin.py, `split_batches`).
   */
  handOver(torch: Torch, { batches, adapted, receiver, sent, merge }: WeightHandover): void {
    const all = [...this.parameters.values()];
    const there = all.filter(({ status }) => status === "here");
    const together = batches ?? (adapted ? 1 : null);
    for (const batch of together === null ? all.map((parameter) => [parameter]) : inBatches(all, together)) {
      this.gatherWhole(torch, batch);
      if (adapted) merge(torch, WHOLE_PARTS);
      for (const { data, tensor } of batch) if (data !== null && sent(tensor)) receiver.take(torch, data);
      if (adapted) merge(torch, WHOLE_PARTS);
      for (const parameter of batch) parameter.drop();
    }
    // What was there is gathered again by the next forward.
    receiver.end(torch);
    this.gatherEach(torch, there);
  }

  /** `GatheredParameters.__enter__`: parts on the host are on the device together, until all is whole. */
  private gatherWhole(torch: Torch, parameters: readonly ZeroParameter[]): void {
    const away = parameters.filter(({ status }) => status === "away");
    const { ranks, spec } = this.options;
    const sent =
      spec.offloadParam === "none"
        ? []
        : away.map(({ share, dtype }) => reserve(torch, "_to_copy", share, dtype, "communication"));
    this.gatherEach(torch, away);
    if (ranks > 1) for (const part of sent) part.release();
    else for (const [k, parameter] of away.entries()) parameter.data = sent[k] ?? null;
  }

  releaseAll(torch: Torch): void {
    this.coordinator.releaseAll(torch, [...this.parameters.values()]);
  }

  releaseLeftovers(torch: Torch): void {
    this.coordinator.releaseLeftovers(torch);
  }

  /**
   * Module by module, the first rank's copies going to the host (deepspeed/runtime/engine.py, `_zero3_consolidated_16bit_state_dict`). All
   * is spread before that, and what stays gathered is gathered again after it (stage3.py, `checkpoint_event_prologue` and `_epilogue`).
   */
  save(torch: Torch): void {
    const all = [...this.parameters.values()];
    for (const parameter of all) parameter.drop();
    for (const { parameters } of this.modules.all()) {
      this.gatherEach(torch, parameters);
      for (const parameter of parameters) parameter.drop();
    }
    this.gatherEach(
      torch,
      all.filter(({ persists }) => persists),
    );
  }

  /** `_allgather_params_coalesced`: each into a block of its own. */
  private gatherEach(torch: Torch, parameters: readonly ZeroParameter[]): void {
    const { ranks } = this.options;
    for (const parameter of parameters) {
      parameter.status = "here";
      if (ranks > 1)
        parameter.data = reserve(torch, "all_gather", parameter.share * ranks, parameter.dtype, "communication");
    }
  }

  afterStep(torch: Torch): void {
    const all = [...this.parameters.values()];
    for (const parameter of all) if (parameter.isTrained) parameter.dropSecondary();
    this.gatherEach(
      torch,
      all.filter(({ persists, status }) => persists && status === "away"),
    );
  }
}

/** Layers in so many batches, and what lies outside of them as one; all of it where there is one batch. */
function inBatches(parameters: readonly ZeroParameter[], batches: number): ZeroParameter[][] {
  if (batches <= 1) return [[...parameters]];
  const layers = Math.max(0, ...parameters.map(({ tensor }) => (tensor.layer ?? -1) + 1));
  const each = Math.max(1, Math.ceil(layers / batches));
  const made = new Map<number, ZeroParameter[]>();
  for (const parameter of parameters) {
    const { layer } = parameter.tensor;
    const batch = layer === null ? batches : Math.floor(layer / each);
    made.set(batch, [...(made.get(batch) ?? []), parameter]);
  }
  return [...made.values()];
}
