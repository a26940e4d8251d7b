/**
 * DistributedDataParallel: every rank keeps everything, and buckets hold all gradients a second time. Sources:
 * torch/nn/parallel/distributed.py, torch/csrc/distributed/c10d/reducer.cpp, whose names the comments have.
 */
import { type DType, ELEMENT_BYTES } from "../../engine/dtype";
import type { Watcher } from "../../engine/notes";
import { clone } from "../../engine/ops/layout";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { DdpSpec } from "../specs/parallel";
import { type Bucket, Compression } from "./compression";
import { moveGradient } from "./deepspeed/blocks";
import { elements, NO_HOST, reserve, type Strategy } from "./strategy";

const MIB = 1024 ** 2;
/** `bucket_cap_mb`, where nobody says it, and what the first bucket is closed at then (`_DEFAULT_FIRST_BUCKET_BYTES`). */
const BUCKET_MIB = 25;
const FIRST_BUCKET_MIB = 1;

export class DistributedDataParallel implements Strategy, Watcher {
  readonly parameterDtype = null;
  readonly keepsAutocast = true;
  readonly shardsParameters = false;
  readonly host = NO_HOST;
  private trained: readonly Tensor[] = [];
  private buckets: Bucket[] = [];
  private readonly bucketOf = new Map<Tensor, Bucket>();
  private readonly compression: Compression | null;
  /** Gradients that have come in this pass, and buckets that were reduced (`next_bucket_`). */
  private readonly there = new Set<Tensor>();
  private next = 0;
  /** `has_rebuilt_bucket_`; null: nothing has been reduced. */
  private rebuilt: boolean | null = null;
  private reduces = true;
  private isFirst = true;

  constructor(private readonly spec: DdpSpec) {
    this.compression = spec.compression === undefined ? null : new Compression(spec.compression);
  }

  /** Gradients that become parts of buckets, or whose buckets a hook is given, are told of as they are there. */
  get watcher(): Watcher | undefined {
    return this.spec.bucketViews === true || this.compression !== null ? this : undefined;
  }

  private get tracesUnused(): boolean {
    return this.spec.findsUnused === true && this.spec.staticGraph !== true;
  }

  prepare(torch: Torch, parameters: readonly Tensor[]): void {
    this.trained = parameters.filter((parameter) => parameter.requiresGradFlag);
    // `_ddp_init_helper`: one bucket, until the order is known in which gradients come, where it will be.
    this.make(torch, this.tracesUnused ? this.limits() : [Number.POSITIVE_INFINITY], this.trained);
    if (this.tracesUnused) reserve(torch, "local_used_map", this.trained.length, "int32", "communication");
  }

  private limits(): readonly number[] {
    const { bucketMib } = this.spec;
    return bucketMib === undefined ? [FIRST_BUCKET_MIB * MIB, BUCKET_MIB * MIB] : [bucketMib * MIB];
  }

  /** `initialize_buckets`. */
  private make(torch: Torch, limits: readonly number[], order: readonly Tensor[]): void {
    for (const { flat } of this.buckets) flat.release();
    this.buckets = bucketed(order, limits).map((own) => {
      const flat = reserve(torch, "ddp_buckets", elements(own), own[0]!.dtype, "communication");
      const bucket = { flat, own };
      for (const tensor of own) this.bucketOf.set(tensor, bucket);
      return bucket;
    });
  }

  optimizerGroups(_: Torch, groups: readonly (readonly Tensor[])[]): readonly (readonly Tensor[])[] {
    return groups;
  }

  /** `_rebuild_buckets`, as the first forward after a reduction begins; gradients come last layer first. */
  beginMicroBatch(torch: Torch, last: boolean): void {
    this.reduces = last;
    this.there.clear();
    this.next = 0;
    if (this.rebuilt === false && !this.tracesUnused) {
      this.rebuilt = true;
      this.make(torch, this.limits(), this.trained.toReversed());
    }
    if (this.rebuilt !== null) this.compression?.settle(torch, this.buckets);
  }

  endMicroBatch(torch: Torch): void {
    // What has had no gradient is marked as ready, too.
    if (this.reduces) this.launch(torch, () => true);
    if (this.reduces) this.rebuilt ??= false;
    this.isFirst = false;
  }

  /** `_DDPSink`, which clones all that the model returns. */
  returned(torch: Torch, outputs: readonly Tensor[]): Tensor[] {
    if (!this.tracesUnused && !(this.spec.staticGraph === true && this.isFirst)) return [...outputs];
    const clones = outputs.map((output) => clone(torch, output));
    for (const output of outputs) output.release();
    return clones;
  }

  /** `mark_variable_ready_dense`. */
  gradient(torch: Torch, leaf: Tensor): void {
    const bucket = this.bucketOf.get(leaf);
    if (!this.reduces || bucket === undefined) return;
    if (this.spec.bucketViews === true) moveGradient(leaf, bucket.flat);
    this.there.add(leaf);
    this.launch(torch, ({ own }) => own.every((one) => this.there.has(one)));
  }

  /** `mark_bucket_ready`: buckets are sent in their order. */
  private launch(torch: Torch, isReady: (bucket: Bucket) => boolean): void {
    if (this.compression === null) return;
    for (
      let bucket = this.buckets[this.next];
      bucket !== undefined && isReady(bucket);
      bucket = this.buckets[this.next]
    ) {
      this.compression.reduce(torch, bucket);
      this.next++;
    }
  }
}

/** `compute_bucket_assignment_by_size`: a bucket of each dtype is closed once it has as much as its limit, the last limit holds for all that follow. */
export function bucketed(order: readonly Tensor[], limits: readonly number[]): readonly (readonly Tensor[])[] {
  const closed: Tensor[][] = [];
  const open = new Map<DType, { own: Tensor[]; bytes: number; limit: number }>();
  for (const tensor of order) {
    const bucket = open.get(tensor.dtype) ?? { own: [], bytes: 0, limit: 0 };
    open.set(tensor.dtype, bucket);
    bucket.own.push(tensor);
    bucket.bytes += tensor.elements * ELEMENT_BYTES[tensor.dtype];
    if (bucket.bytes < limits[bucket.limit]!) continue;
    closed.push(bucket.own);
    open.set(tensor.dtype, { own: [], bytes: 0, limit: Math.min(bucket.limit + 1, limits.length - 1) });
  }
  return [...closed, ...[...open.values()].flatMap(({ own }) => (own.length > 0 ? [own] : []))];
}

/** One device: nothing changes. */
export function singleDevice(): Strategy {
  return {
    parameterDtype: null,
    keepsAutocast: true,
    shardsParameters: false,
    prepare() {},
    optimizerGroups: (_, groups) => groups,
    host: NO_HOST,
  };
}
