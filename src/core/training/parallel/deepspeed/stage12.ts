/**
 * ZeRO stages 1 and 2 on one rank: parameters in one flat buffer per group, gradients copied into buckets as they become
 * complete, reduced, and what is this rank's copied out. Source: deepspeed/runtime/zero/stage_1_and_2.py
 * (DeepSpeedZeroOptimizer), whose methods' names the comments give.
 */
import type { DType } from "../../../engine/dtype";
import { SIDE_STREAMS } from "../../../engine/labels";
import { alias, type Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import type { Optimizer } from "../../optimizers";
import { elements, onStream, reserve, reserveWhole } from "../strategy";
import { converted, dropGradient, flatten, moveGradient, normOf } from "./blocks";
import { communicatedIn, type EngineOptions, type MakeOptimizer, masterOf, type ZeroEngine } from "./engine";
import { type FlatGroup, flatGroup, type Placed, placesOf, type Slice, slicesOf } from "./layout";
import { flattenParameters } from "./parameters";

export class Stage12 implements ZeroEngine {
  private readonly groups: readonly FlatGroup[];
  private readonly places: ReadonlyMap<Tensor, Placed>;
  /** `single_partition_of_fp32_groups`; none where they wait on the host. */
  private readonly partitions: readonly Tensor[];
  private readonly optimizers: readonly Optimizer[];
  private readonly partitionsGradients: boolean;
  private readonly dtype: DType;
  private readonly gradientDtype: DType;
  private readonly master: DType;
  /** `use_grad_accum_attribute`: stage 1 accumulates in another dtype than the parameters'. */
  private readonly accumulatesApart: boolean;
  /** `_use_compact_grad_partition_buffer`. */
  private readonly compact: boolean;

  private bucket: Placed[] = [];
  private bucketElements = 0;
  private bucketIndex = 0;
  private buffers: Tensor[] = [];
  private ready = false;
  private boundary = true;
  /** `grad_accum`, by parameter. */
  private readonly accumulated = new Map<Tensor, Tensor>();
  private gradsInPartition: Tensor | null = null;
  /** `all_grad_tensors` and `averaged_gradients`, by group. */
  private summed: (Tensor[] | null)[] = [];
  private averaged: (Tensor[] | null)[] = [];
  /** `previous_reduced_grads`. */
  private reduced: Tensor[] = [];

  constructor(
    torch: Torch,
    groups: readonly (readonly Tensor[])[],
    private readonly options: EngineOptions,
    make: MakeOptimizer,
  ) {
    const { spec, ranks, roomBytes } = options;
    this.partitionsGradients = spec.zeroStage === 2;
    this.dtype = spec.engineDtype ?? "float32";
    this.gradientDtype = spec.gradAccumDtype ?? this.dtype;
    this.master = masterOf(spec);
    this.accumulatesApart = this.gradientDtype !== this.dtype && !this.partitionsGradients;
    this.compact = this.gradientDtype === "float32" && this.dtype !== "float32";
    this.groups = groups.map((group, k) => flatGroup(k, group, ranks, spec.roundRobinGradients === true));
    this.places = placesOf(this.groups);
    const partitions: Tensor[] = [];
    for (const { members, aligned, partition } of this.groups) {
      flattenParameters(
        torch,
        members.map(({ tensor }) => tensor),
        aligned,
        this.dtype,
        spec.flattensOnHost === true ? 0 : roomBytes,
      );
      if (this.onHost) continue;
      const master = reserve(torch, "single_partition_of_fp32_groups", partition, this.master, "optimizer");
      master.requiresGradFlag = true;
      partitions.push(master);
    }
    this.partitions = partitions;
    if (this.onHost) {
      const largest = Math.max(0, ...groups.flat().map((tensor) => tensor.elements));
      reserve(torch, "temp_grad_buffer_for_gpu_offload", largest, this.dtype, "communication");
    }
    // `initialize_optimizer_states` steps nothing: states come with the first step.
    this.optimizers = partitions.map((partition) => make([[partition]]));
  }

  private get onHost(): boolean {
    return this.options.spec.offloadOptimizer !== "none";
  }

  private get contiguous(): boolean {
    return this.options.spec.contiguousGradients || this.onHost;
  }

  begin(_: Torch, last: boolean): void {
    this.boundary = last;
  }

  /** `grad_handling_hook`, `process_gradients`. */
  gradient(torch: Torch, leaf: Tensor): void {
    const place = this.places.get(leaf);
    if (place === undefined) return;
    const { overlapComm } = this.options.spec;
    // `create_gradient_handling_hooks` is called for one of these.
    if (!this.partitionsGradients && !overlapComm && !this.accumulatesApart && !this.contiguous) return;
    this.setUpBuckets(torch);
    if (this.accumulatesApart) this.accumulate(torch, leaf);
    if ((this.partitionsGradients || overlapComm) && (this.partitionsGradients || this.boundary))
      this.addToBucket(torch, place);
  }

  /** `setup_buckets`. */
  private setUpBuckets(torch: Torch): void {
    if (this.ready) return;
    this.ready = true;
    if (!this.contiguous) return;
    for (const buffer of this.buffers) buffer.release();
    const { reduceBucketSize, overlapComm } = this.options.spec;
    const dtype = this.accumulatesApart ? this.gradientDtype : this.dtype;
    this.buffers = Array.from({ length: overlapComm ? 2 : 1 }, () =>
      reserveWhole(torch, "ipg_bucket", reduceBucketSize, dtype, "communication"),
    );
    this.bucketIndex = 0;
  }

  /** `_fill_param_grad_accum_attribute`. */
  private accumulate(torch: Torch, leaf: Tensor): void {
    if (leaf.grad === null) return;
    const wide = reserve(torch, "_to_copy", leaf.elements, this.gradientDtype, "gradients");
    if (this.accumulated.has(leaf)) wide.release();
    else this.accumulated.set(leaf, wide);
    dropGradient(leaf);
  }

  /** `get_gradient_for_reduction`. */
  private gradientOf(leaf: Tensor): Tensor | null {
    return this.accumulatesApart ? (this.accumulated.get(leaf) ?? null) : leaf.grad;
  }

  /** `clear_grad_attribute`. */
  private clear(leaf: Tensor): void {
    if (!this.accumulatesApart) {
      dropGradient(leaf);
      return;
    }
    this.accumulated.get(leaf)?.release();
    this.accumulated.delete(leaf);
  }

  /** `grad.data = view`. */
  private move(leaf: Tensor, buffer: Tensor): void {
    if (!this.accumulatesApart) {
      moveGradient(leaf, buffer);
      return;
    }
    this.accumulated.get(leaf)?.release();
    this.accumulated.set(leaf, alias(buffer, leaf.sizes, null, buffer.dtype));
  }

  /** `reduce_independent_p_g_buckets_and_remove_grads`. */
  private addToBucket(torch: Torch, place: Placed): void {
    const { tensor } = place;
    const { reduceBucketSize, overlapComm } = this.options.spec;
    if (this.bucketElements + tensor.elements > reduceBucketSize) {
      this.reduceBucket(torch);
      if (this.contiguous && overlapComm) this.bucketIndex = 1 - this.bucketIndex;
    }
    if (this.contiguous) {
      // `extra_large_param_to_reduce`: larger than the bucket, reduced where it is.
      if (tensor.elements <= reduceBucketSize) this.move(tensor, this.buffers[this.bucketIndex]!);
    }
    this.bucketElements += tensor.elements;
    this.bucket.push(place);
  }

  /** `reduce_ipg_grads`: on `reduction_stream` what is reduced, and what of it is copied out. */
  private reduceBucket(torch: Torch): void {
    if (this.bucket.length === 0) return;
    const { overlapComm } = this.options.spec;
    onStream(torch, overlapComm ? SIDE_STREAMS.reducing : null, () => this.reduceThere(torch));
  }

  private reduceThere(torch: Torch): void {
    if (this.contiguous) this.average(torch);
    else this.reduceApart(torch);
    const own = new Set(this.groups.flatMap((group) => group.own.map(({ tensor }) => tensor)));
    for (const { tensor } of this.bucket) {
      const isOwn = own.has(tensor);
      if (this.partitionsGradients && !isOwn) {
        if (this.options.spec.overlapComm && !this.contiguous) this.reduced.push(tensor);
        else this.clear(tensor);
      } else if (this.contiguous && isOwn) this.copyOut(torch, tensor);
    }
    this.bucket = [];
    this.bucketElements = 0;
  }

  /** `average_tensor` with `allreduce_and_scatter`: the slices of all ranks are put together, reduced and copied back. */
  private average(torch: Torch): void {
    const communicated = communicatedIn(this.options.spec);
    const kept = this.accumulatesApart ? this.gradientDtype : this.dtype;
    if (this.compact) for (const group of this.groupsInBucket()) this.compactBuffer(torch, group);
    const { reduceScatter, reduceBucketSize } = this.options.spec;
    const slices = slicesOf(this.bucket, this.compact);
    let together: Slice[] = [];
    let total = 0;
    slices.forEach((slice, k) => {
      together.push(slice);
      total += slice.count;
      const isLast = k === slices.length - 1;
      // Without it all is reduced where it is (`gradient_reduction_w_predivide`).
      if (!isLast && (reduceScatter === false || total <= reduceBucketSize)) return;
      const isPut = together.length > 1 && reduceScatter !== false;
      const flat = isPut ? reserve(torch, "cat", total, kept, "communication") : null;
      // `allreduce_bucket`: reduced in the communication dtype.
      const sent = kept === communicated ? null : reserve(torch, "_to_copy", total, communicated, "communication");
      if (reduceScatter !== false) sent?.release();
      if (this.compact) for (const { count, isOwn } of together) if (isOwn) this.addToCompact(torch, count, kept);
      flat?.release();
      if (reduceScatter === false) sent?.release();
      together = [];
      total = 0;
    });
  }

  /** `_add_to_grad_partition_buffer`: what comes of this rank's part is added in the dtype of its buffer. */
  private addToCompact(torch: Torch, count: number, dtype: DType): void {
    if (dtype !== this.gradientDtype) reserve(torch, "_to_copy", count, this.gradientDtype, "communication").release();
  }

  /** Groups of which the bucket has something that is this rank's. */
  private groupsInBucket(): readonly FlatGroup[] {
    const own = new Set(this.groups.flatMap((group) => group.own.map(({ tensor }) => tensor)));
    return [...new Set(this.bucket.filter(({ tensor }) => own.has(tensor)).map(({ group }) => group))];
  }

  /** `buffered_reduce_fallback`: gradients where they are, put together to be reduced. */
  private reduceApart(torch: Torch): void {
    if (this.options.spec.overlapComm) this.clearReduced();
    const gradients = this.bucket.flatMap(({ tensor }) => this.gradientOf(tensor) ?? []);
    if (gradients.length === 0) return;
    const flat = flatten(torch, gradients, "communication");
    const { communicationDtype = flat.dtype } = this.options.spec;
    // `allreduce_bucket`: what is sent lies beside it.
    const sent = converted(torch, flat.retain(), communicationDtype, "communication");
    sent.release();
    if (this.compact) for (const group of this.groupsInBucket()) this.compactBuffer(torch, group);
    flat.release();
  }

  /** `_clear_previous_reduced_grads`. */
  private clearReduced(): void {
    for (const tensor of this.reduced) this.clear(tensor);
    this.reduced = [];
  }

  /** `copy_grads_in_partition`. */
  private copyOut(torch: Torch, leaf: Tensor): void {
    if (this.onHost) {
      this.copyToHost(torch, leaf);
      return;
    }
    if (this.compact) {
      if (this.accumulatesApart) this.clear(leaf);
      return;
    }
    if (this.gradsInPartition === null) {
      const total = this.groups.reduce((sum, { own }) => sum + elements(own.map(({ tensor }) => tensor)), 0);
      this.gradsInPartition = reserve(torch, "grads_in_partition", total, this.dtype, "gradients");
    }
    this.move(leaf, this.gradsInPartition);
  }

  /** The same under offload: the norm, and a copy in the master's dtype on the way to the host, at the end of a step. */
  private copyToHost(torch: Torch, leaf: Tensor): void {
    if (!this.boundary) return;
    const own = this.groups.flatMap((group) => group.own).find(({ tensor }) => tensor === leaf);
    const count = own?.count ?? leaf.elements;
    reserve(torch, "_to_copy", count, "float64", "temporaries").release();
    if (this.dtype !== this.master && !this.compact)
      reserve(torch, "_to_copy", count, this.master, "temporaries").release();
    this.clear(leaf);
  }

  /** `_build_compact_grad_partition_buffer`: gradients of the partition in the dtype they are accumulated in. */
  private compactBuffer(torch: Torch, group: FlatGroup): Tensor[] {
    const known = this.averaged[group.index];
    if (known) return known;
    const flat = reserve(torch, "flat_partition", group.partition, this.gradientDtype, "gradients");
    const made = [flat];
    this.averaged[group.index] = made;
    return made;
  }

  /** `_backward_epilogue` of the engine: `allreduce_gradients`. */
  end(torch: Torch): void {
    if (!this.partitionsGradients) {
      if (!this.boundary) return;
      // `reduce_gradients`.
      if (!this.options.spec.overlapComm)
        for (const { members } of this.groups)
          for (const { tensor } of members)
            if (this.gradientOf(tensor) !== null) this.addToBucket(torch, this.places.get(tensor)!);
    }
    this.epilogue(torch);
  }

  /** `independent_gradient_partition_epilogue`. */
  private epilogue(torch: Torch): void {
    this.reduceBucket(torch);
    this.clearReduced();
    if (!this.onHost) for (const group of this.groups) this.sum(torch, group);
    for (const buffer of this.buffers) buffer.release();
    this.buffers = [];
    this.gradsInPartition?.release();
    this.gradsInPartition = null;
    this.ready = false;
    for (const { members } of this.groups) for (const { tensor } of members) dropGradient(tensor);
  }

  /** What this micro-batch adds to the gradients of a group's partition. */
  private sum(torch: Torch, group: FlatGroup): void {
    const { index, own, partition } = group;
    if (this.compact) {
      if (this.boundary) this.compactBuffer(torch, group);
      return;
    }
    if (!this.summed[index])
      this.summed[index] = own.map(
        ({ tensor }) =>
          this.gradientOf(tensor)?.retain() ??
          reserve(torch, "zeros_like", tensor.elements, this.gradientDtype, "gradients"),
      );
    if (!this.boundary) return;
    // `get_flat_partition`: views, and what fills the partition up.
    const gradients = this.summed[index] ?? [];
    const parts = gradients.map((gradient, k) => alias(gradient, [own[k]!.count], null, gradient.dtype));
    for (const gradient of gradients) gradient.release();
    this.summed[index] = null;
    const missing = partition - own.reduce((total, { count }) => total + count, 0);
    if (missing > 0) parts.push(reserve(torch, "zeros", missing, this.gradientDtype, "gradients"));
    for (const old of this.averaged[index] ?? []) old.release();
    this.averaged[index] = parts;
  }

  /** `step`. */
  step(torch: Torch): void {
    if (this.onHost) {
      this.clearAveraged();
      return;
    }
    this.groups.forEach(({ index, own }) => {
      const gradients = this.averaged[index] ?? [];
      normOf(
        torch,
        this.compact
          ? own.map(({ count }) => alias(gradients[0]!, [count], null))
          : gradients.slice(0, own.length).map((gradient) => gradient.retain()),
      );
    });
    this.partitions.forEach((partition, k) => {
      const { members, own } = this.groups[k]!;
      const kept = new Set(own.map(({ tensor }) => tensor));
      this.clearAccumulated(members.flatMap(({ tensor }) => (kept.has(tensor) ? [] : [tensor])));
      const gradients = this.averaged[k] ?? [];
      const flat = flatten(torch, gradients, "gradients");
      partition.grad = converted(torch, flat, this.master, "gradients");
      this.clearAccumulated(kept);
      for (const gradient of gradients) gradient.release();
      this.averaged[k] = null;
      this.optimizers[k]!.step(torch);
      dropGradient(partition);
    });
  }

  /** Under offload the gradients have gone to the host by then. */
  private clearAveraged(): void {
    for (const gradient of this.averaged.flatMap((own) => own ?? [])) gradient.release();
    this.averaged = [];
    this.clearAccumulated([...this.accumulated.keys()]);
  }

  /** `free_grad_in_param_list`. */
  private clearAccumulated(of: Iterable<Tensor>): void {
    for (const parameter of of) {
      this.accumulated.get(parameter)?.release();
      this.accumulated.delete(parameter);
    }
  }
}
