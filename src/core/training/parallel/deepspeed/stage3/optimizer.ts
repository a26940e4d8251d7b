/**
 * ZeRO stage 3's optimizer on one rank: sub-groups of partitions with masters, one bucket for gradients, one buffer for
 * this rank's part of them. Source: deepspeed/runtime/zero/stage3.py (DeepSpeedZeroOptimizer_Stage3), whose methods' names the
 * comments give.
 */
import { type DType, ELEMENT_BYTES } from "../../../../engine/dtype";
import { SIDE_STREAMS } from "../../../../engine/labels";
import { alias, hostTensor, type Tensor } from "../../../../engine/tensor";
import type { Torch } from "../../../../engine/torch";
import { DEVICES_PER_MACHINE } from "../../../../hardware/devices";
import type { Optimizer } from "../../../optimizers";
import { onStream, reserve, reserveWhole } from "../../strategy";
import { converted, dropGradient, flatten, moveGradient, normOf } from "../blocks";
import { communicatedIn, type EngineOptions, type MakeOptimizer, masterOf, type ZeroEngine } from "../engine";
import { reducedInFourBits } from "./four-bits";
import type { ZeroParameter } from "./parameter";

/** What the caching allocator rounds to. */
const BLOCK = 512;

/** Parameters whose partitions are stepped on together. */
interface SubGroup {
  readonly parameters: readonly ZeroParameter[];
  readonly elements: number;
  /** `fp32_partitioned_groups_flat`; null where it waits on the host. */
  readonly master: Tensor | null;
  readonly optimizer: Optimizer | null;
}

/** What the optimizer asks of the parameters' coordinator. */
export interface Gathered {
  releaseAll(torch: Torch): void;
  releaseLeftovers(torch: Torch): void;
  /** `_post_step`: what is always there is gathered anew. */
  afterStep(torch: Torch): void;
}

export class Stage3Optimizer implements ZeroEngine {
  private readonly groups: readonly SubGroup[];
  private readonly dtype: DType;
  private readonly gradientDtype: DType;
  private readonly master: DType;
  /** `communication_data_type`. */
  private readonly communicated: DType;
  private readonly buffer: Tensor | null;
  private readonly partitions: Tensor;
  private bucket: ZeroParameter[] = [];
  private bucketElements = 0;
  private boundary = true;

  constructor(
    torch: Torch,
    groups: readonly (readonly ZeroParameter[])[],
    private readonly options: EngineOptions,
    private readonly parameters: ReadonlyMap<Tensor, ZeroParameter>,
    private readonly gathered: Gathered,
    make: MakeOptimizer,
  ) {
    const { spec } = options;
    this.dtype = spec.engineDtype ?? "float32";
    this.gradientDtype = spec.gradAccumDtype ?? this.dtype;
    this.master = masterOf(spec);
    this.communicated = communicatedIn(spec);
    const subGroups = groups.flatMap((group) => subGroupsOf(group, spec.subGroupSize));
    const onDevice = Math.floor((1 - (spec.offloadRatio ?? 1)) * subGroups.length);
    this.groups = subGroups.map((own, k) => {
      const count = shares(own);
      const here = !this.onHost || k < onDevice;
      const master = here ? this.masterOf(torch, count) : null;
      // `initialize_optimizer_states`: what twin-flow leaves here keeps its gradient for good.
      if (master !== null && this.onHost) master.grad = reserve(torch, "zeros", count, this.master, "gradients");
      return { parameters: own, elements: count, master, optimizer: master && make([[master]]) };
    });
    this.buffer = spec.contiguousGradients
      ? reserveWhole(torch, "ipg_bucket", spec.reduceBucketSize, this.communicated, "communication")
      : null;
    const all = shares(groups.flat());
    this.partitions = this.onHost
      ? hostTensor(torch.ledger, [all], this.gradientDtype)
      : reserve(torch, "grad_partitions_flat_buffer", all, this.gradientDtype, "gradients");
  }

  private get onHost(): boolean {
    return this.options.spec.offloadOptimizer !== "none";
  }

  /**
   * `_create_fp32_partitions`: a copy of partitions that have the master's dtype already, too, as their device is compared with its name,
   * which is never equal.
   */
  private masterOf(torch: Torch, count: number): Tensor {
    const master = reserve(torch, "fp32_partitioned_groups_flat", count, this.master, "optimizer");
    master.requiresGradFlag = true;
    return master;
  }

  begin(_: Torch, last: boolean): void {
    this.boundary = last;
  }

  /** `reduce_independent_p_g_buckets_and_remove_grads`. */
  gradient(torch: Torch, leaf: Tensor): void {
    const parameter = this.parameters.get(leaf);
    if (parameter === undefined || leaf.grad === null) return;
    const { reduceBucketSize } = this.options.spec;
    if (this.bucketElements + leaf.elements > reduceBucketSize && this.bucketElements > 0) this.reduce(torch);
    // `__add_grad_to_ipg_bucket`.
    if (this.buffer !== null && this.bucketElements + leaf.elements <= reduceBucketSize)
      moveGradient(leaf, this.buffer);
    this.bucket.push(parameter);
    this.bucketElements += leaf.elements;
  }

  /** `__reduce_and_partition_ipg_grads`, on `reduce_and_partition_stream`. */
  private reduce(torch: Torch): void {
    if (this.bucket.length === 0) return;
    const { overlapComm } = this.options.spec;
    onStream(torch, overlapComm ? SIDE_STREAMS.reducing : null, () => this.reduceBucket(torch));
  }

  private reduceBucket(torch: Torch): void {
    const { spec } = this.options;
    const isWhole =
      this.buffer !== null && this.bucketElements <= spec.reduceBucketSize && spec.reduceScatter === false;
    if (!isWhole) this.bucket.sort((a, b) => a.id - b.id);
    const made = isWhole ? this.allReduced(torch) : this.reduceScattered(torch, this.bucket);
    // The part before is named until the next one is there.
    let named: Tensor | null = null;
    for (const { tensor, share } of this.bucket) {
      if (this.onHost) {
        const part = this.toHost(torch, share);
        named?.release();
        named = part;
      }
      dropGradient(tensor);
    }
    named?.release();
    for (const block of made) block.release();
    this.bucket = [];
    this.bucketElements = 0;
  }

  /** `__avg_scatter_contiguous_grads`: the whole bucket is scaled into a copy. */
  private allReduced(torch: Torch): Tensor[] {
    const scaled = reserve(torch, "mul", this.bucketElements, this.communicated, "communication");
    const made = [converted(torch, scaled, this.gradientDtype, "communication")];
    for (const { share, elements } of this.bucket)
      if (share !== Math.min(share, elements))
        made.push(reserve(torch, "zeros", share, this.gradientDtype, "communication"));
    return made;
  }

  /**
   * `__avg_scatter_grads` with `reduce_scatter_coalesced` (deepspeed/runtime/comm/coalesced_collectives.py): what each rank gets
   * lies together, filled up to equal parts; one gradient that divides is reduced where it is.
   */
  private reduceScattered(torch: Torch, parameters: readonly ZeroParameter[]): Tensor[] {
    const { ranks, spec } = this.options;
    const sent = parameters.flatMap(({ tensor: { grad } }) =>
      grad === null || grad.dtype === this.communicated
        ? []
        : [reserve(torch, "_to_copy", grad.elements, this.communicated, "communication")],
    );
    // Across machines only: within one the gradients are reduced as they are.
    const made =
      spec.quantizesGradients === true && ranks > DEVICES_PER_MACHINE
        ? reducedInFourBits(torch, parameters, ranks, (one) => this.scattered(torch, [one]))
        : this.scattered(torch, parameters);
    const result =
      this.gradientDtype === this.communicated
        ? made
        : parameters.map(({ share }) => reserve(torch, "_to_copy", share, this.gradientDtype, "gradients"));
    if (result !== made) for (const block of made) block.release();
    for (const block of sent) block.release();
    return result;
  }

  /** `reduce_scatter_coalesced`. */
  private scattered(torch: Torch, parameters: readonly ZeroParameter[]): Tensor[] {
    const { ranks } = this.options;
    const [only] = parameters;
    if (parameters.length === 1 && only !== undefined && only.elements % ranks === 0) return [];
    const pads = paddingBytes(parameters, ranks, ELEMENT_BYTES[this.communicated]);
    const padding = reserveWhole(torch, "empty", pads, "uint8", "communication");
    const flat = reserve(torch, "cat", shares(parameters) * ranks, this.communicated, "communication");
    padding.release();
    return [flat];
  }

  /** `partition_grads` under offload: this rank's part, its norm and its copy in the master's dtype on their way. */
  private toHost(torch: Torch, share: number): Tensor {
    const part = reserve(torch, "_to_copy", share, this.gradientDtype, "communication");
    if (this.boundary) {
      reserve(torch, "_to_copy", share, "float64", "temporaries").release();
      if (this.gradientDtype !== this.master) reserve(torch, "_to_copy", share, this.master, "temporaries").release();
    }
    return part;
  }

  /** `independent_gradient_partition_epilogue`, then the coordinator's leftovers (`backward_epilogue`). */
  end(torch: Torch): void {
    this.reduce(torch);
    this.gathered.releaseLeftovers(torch);
  }

  /** `step`. */
  step(torch: Torch): void {
    this.gathered.releaseAll(torch);
    if (!this.onHost) this.check(torch);
    for (const { parameters, master, optimizer } of this.groups) {
      if (master === null || optimizer === null) continue;
      if (!this.onHost) master.grad = converted(torch, this.flattened(torch, parameters), this.master, "gradients");
      optimizer.step(torch);
      // `_release_sub_group`.
      if (!this.onHost) dropGradient(master);
    }
    this.gathered.afterStep(torch);
  }

  /** `averaged_gradients` of a sub-group, put together (`_prepare_fp32_grad_for_sub_group`). */
  private flattened(torch: Torch, parameters: readonly ZeroParameter[]): Tensor {
    const parts = parameters.map((parameter) => this.partOf(parameter));
    const flat = flatten(torch, parts, "gradients");
    for (const part of parts) part.release();
    return flat;
  }

  private partOf({ share }: ZeroParameter): Tensor {
    return alias(this.partitions, [share], null);
  }

  /** `has_overflow` of float16 gradients, and the norms of all. */
  private check(torch: Torch): void {
    const { elements } = this.partitions;
    if (this.dtype === "float16") {
      // `isinf` compares absolute values (aten/src/ATen/native/TensorCompare.cpp).
      const absolute = reserve(torch, "abs", elements, this.gradientDtype, "temporaries");
      const infinite = reserve(torch, "eq", elements, "bool", "temporaries");
      absolute.release();
      infinite.release();
      reserve(torch, "isnan", elements, "bool", "temporaries").release();
    }
    for (const { parameters } of this.groups)
      normOf(
        torch,
        parameters.map((parameter) => this.partOf(parameter)),
      );
  }
}

/** Elements of this rank's parts. */
function shares(parameters: readonly ZeroParameter[]): number {
  return parameters.reduce((sum, { share }) => sum + share, 0);
}

/** `_create_fp16_sub_groups`. */
function subGroupsOf(group: readonly ZeroParameter[], size: number): (readonly ZeroParameter[])[] {
  if (size >= shares(group)) return [group];
  const found: ZeroParameter[][] = [];
  let open: ZeroParameter[] = [];
  let count = 0;
  for (const parameter of group) {
    open.push(parameter);
    count += parameter.share;
    if (count < size && parameter !== group[group.length - 1]) continue;
    found.push(open);
    open = [];
    count = 0;
  }
  return found;
}

/** Bytes of the blocks that fill the parts of the last ranks up, each a block of its own. */
function paddingBytes(parameters: readonly ZeroParameter[], ranks: number, width: number): number {
  let bytes = 0;
  for (const { elements, share } of parameters) {
    const full = Math.floor(elements / share);
    const rest = elements - full * share;
    const empty = ranks - full - (rest > 0 ? 1 : 0);
    const block = (count: number): number => Math.ceil((count * width) / BLOCK) * BLOCK;
    bytes += (rest > 0 ? block(share - rest) : 0) + Math.max(0, empty) * block(share);
  }
  return bytes;
}
