/**
 * FSDP1 on one rank: the parameters of a unit are one flat parameter, sharded in equal pieces (torch/distributed/fsdp/_flat_param.py,
 * _runtime_utils.py, as accelerate/accelerator.py, prepare_model, wraps models).
 */
import { type DType, ELEMENT_BYTES } from "../../../engine/dtype";
import type { ModuleHooks } from "../../../engine/module-hooks";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import type { FsdpSpec, SavingSpec } from "../../run";
import type { UnitOf } from "../../ties";
import { type ForwardUsage, type ModelEnds, reserve, type Strategy, type Whole } from "../strategy";
import { FlatModel, type FlatOptions } from "./flat-model";
import { FlatParameter } from "./flat-parameter";
import { frozenShards } from "./frozen";
import { byFlatUnits, unitOf } from "./units";

export class FlatSharding implements Strategy {
  readonly parameterDtype: DType | null;
  /** `_cast_buffers_to_dtype_and_device` (torch/distributed/fsdp/_runtime_utils.py). */
  readonly castsBuffers: boolean;
  readonly keepsAutocast = true;
  readonly shardsParameters = true;
  readonly stepsOnShards = true;
  readonly reducesLast: boolean;
  readonly unitOf: UnitOf;
  readonly host = { pinned: 0, pageable: 0, nvme: 0 };
  private flats: readonly FlatParameter[] = [];
  private flatOf: ReadonlyMap<Tensor, FlatParameter> = new Map();
  private model: FlatModel | null = null;
  private zero: Tensor | null = null;

  constructor(
    private readonly spec: FsdpSpec,
    private readonly options: FlatOptions,
  ) {
    this.parameterDtype = options.compute;
    this.unitOf = unitOf(spec);
    this.castsBuffers = options.compute !== null && spec.keepsBuffers !== true;
    this.reducesLast = spec.reducesEach !== true;
  }

  /**
   * Adapters are units of their own, called by a layer that has looked at them before (peft/tuners/lora/layer.py, _cast_input_dtype):
   * at rest, or as they are gathered where they stay so after forward (`_skipped_use_sharded_views`).
   */
  get adaptersSeenAs(): Strategy["adaptersSeenAs"] {
    if (this.options.compute === null) return undefined;
    return (factor) => (this.flatOf.get(factor)?.isSeenWhole === true ? factor.dtype : "float32");
  }

  get hooks(): ModuleHooks | undefined {
    return this.model ?? undefined;
  }

  prepare(torch: Torch, parameters: readonly Tensor[], _?: readonly Tensor[], ends?: ModelEnds): void {
    const { spec, options } = this;
    const units = byFlatUnits(parameters, ends?.adapted === true && spec.mixesAdapters !== true, spec);
    const made = units.map(({ path, parameters: group }) => ({
      path,
      flat: this.flatten(torch, group, ends?.adapted === true),
    }));
    this.flats = made.flatMap(({ flat }) => flat ?? []);
    this.flatOf = new Map(this.flats.flatMap((flat) => flat.parameters.map((parameter) => [parameter, flat])));
    this.model = new FlatModel(made, spec, options);
    if (!spec.cpuOffload) return;
    for (const { shardElements, own, trained } of this.flats) {
      const bytes = shardElements * ELEMENT_BYTES[own];
      this.host.pinned += trained ? 2 * bytes : bytes;
      if (trained) this.host.pageable += 2 * bytes;
    }
  }

  private flatten(torch: Torch, group: readonly Tensor[], adapted: boolean): FlatParameter | null {
    const [first] = group;
    if (first === undefined) return null;
    const { spec, options } = this;
    const own = this.restingDtype(first);
    return new FlatParameter(torch, group, own, options.ranks, {
      aligned: spec.flatOptimizer !== true,
      compute: group.some(({ dtype }) => dtype !== options.compute) ? null : options.compute,
      onHost: spec.cpuOffload,
      // peft raises its adapters before.
      loaded: own !== options.load && this.namesLoaded && !adapted ? options.load : null,
    });
  }

  /**
   * What was raised (`param.data = param.data.to(torch.float32)`; accelerate/accelerator.py, prepare_model) is named by the parameters as it
   * was loaded until they are views of the raised shard (`_use_sharded_views`): where units stay gathered after forward
   * (`skip_use_sharded_views`), in the first backward. Otherwise that is when the unit's first forward ends, which is not followed; nor
   * is it where later micro-batches add gradients up.
   */
  private get namesLoaded(): boolean {
    const { reshardAfterForward, flatOptimizer, cpuOffload } = this.spec;
    const addsUp = this.options.accumulates && this.reducesLast;
    return this.options.compute !== null && reshardAfterForward === false && !addsUp && !flatOptimizer && !cpuOffload;
  }

  get settles(): boolean {
    return this.flats.some(({ isNamedAsLoaded }) => isNamedAsLoaded);
  }

  /** With mixed precision what is trained is raised to float32 (accelerate/accelerator.py, prepare_model). */
  private restingDtype({ dtype, requiresGradFlag }: Tensor): DType {
    const { compute, load } = this.options;
    if (compute === null || dtype !== compute) return dtype;
    return requiresGradFlag ? "float32" : load;
  }

  prepareFrozen(torch: Torch, parameters: readonly Tensor[], onHost = this.spec.cpuOffload): ForwardUsage | null {
    return frozenShards(torch, parameters, this.options, onHost ? this.host : null);
  }

  /** The first norm leaves a zero (`_zero_scalar`). */
  clipped(torch: Torch): void {
    this.zero ??= reserve(torch, "tensor", 1, "float32", "buffers");
  }

  beginMicroBatch(_: Torch, last: boolean): void {
    if (this.model !== null) this.model.reduces = last || !this.reducesLast;
  }

  endPass(torch: Torch): void {
    this.model?.rest(torch);
  }

  keepGathered(torch: Torch): void {
    this.model?.keepGathered(torch);
  }

  /** `FullyShardedDataParallel.summon_full_params`, with `recurse` or of the model's own parameters alone. */
  summon(torch: Torch, which: "all" | "outside"): Whole {
    return this.model?.summon(torch, which) ?? { release: () => {} };
  }

  /** Unit after unit (`_iter_fsdp1_params`): a unit's memory goes with its context, whoever still names a part of it. */
  handOver(torch: Torch): void {
    for (const flat of this.flats) flat.gatherForSaving(torch, 0);
  }

  /**
   * Units are gathered one after the other as they rest (torch/distributed/fsdp/_state_dict_utils.py, `_full_pre_state_dict_hook`), and
   * so is each state of theirs (torch/distributed/fsdp/_optim_utils.py).
   */
  save(torch: Torch, { optimizer }: SavingSpec): void {
    for (const flat of this.flats) flat.gatherForSaving(torch, 0);
    if (!optimizer) return;
    const pieces = this.spec.flatOptimizer === true ? 0 : 1;
    for (const flat of this.flats) if (flat.trained) flat.gatherForSaving(torch, pieces);
  }

  /** Pieces as the parameters were grouped, or flat parameters in one group (`use_orig_params: false`). */
  optimizerGroups(_: Torch, groups: readonly (readonly Tensor[])[]): readonly (readonly Tensor[])[] {
    if (this.spec.cpuOffload) return [];
    if (this.spec.flatOptimizer) return [this.flats.filter(({ trained }) => trained).map(({ shard }) => shard)];
    const pieces = new Map(this.flats.flatMap((flat) => [...flat.pieces]));
    return groups
      .map((group) => group.map((parameter) => pieces.get(parameter) ?? null).filter((piece) => piece !== null))
      .filter((group) => group.length > 0);
  }
}
