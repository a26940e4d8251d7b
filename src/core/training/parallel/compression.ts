/**
 * What hooks that compress gradients allocate for each bucket of DistributedDataParallel. Sources: `default_hooks.py` and `powerSGD_hook.py` of
 * torch/distributed/algorithms/ddp_comm_hooks, whose names the comments have.
 */
import type { DType } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { CompressionSpec } from "../specs/parallel";
import { elements, reserve } from "./strategy";

/** Below it a matrix is sent as it is (`min_compression_rate`). */
const LEAST_RATE = 2;

/** A bucket with the gradients that lie in it. */
export interface Bucket {
  readonly flat: Tensor;
  readonly own: readonly Tensor[];
}

export class Compression {
  /** `error_dict`, `p_memory_dict`, `q_memory_dict`. */
  private readonly errors = new Map<Tensor, Tensor>();
  private readonly factors = new Map<Tensor, readonly Tensor[]>();
  private begun = false;

  constructor(private readonly spec: CompressionSpec) {}

  /**
   * What is there before a step once PowerSGD runs. It begins late (`start_powerSGD_iter`, never in the first steps): the second step stands for
   * all that follow.
   */
  settle(torch: Torch, buckets: readonly Bucket[]): void {
    const { rank, feedback = true, warm = true } = this.spec;
    if (this.begun || rank === undefined) return;
    this.begun = true;
    for (const { flat, own } of buckets) {
      const { dtype } = flat;
      if (feedback) this.errors.set(flat, reserve(torch, "error_dict", flat.elements, dtype, "communication"));
      if (warm) this.factors.set(flat, factorsOf(torch, own, rank, dtype));
    }
  }

  /** A bucket is whole: its hook runs to the end, as far as memory goes (a future of NCCL's is done when its work is queued). */
  reduce(torch: Torch, bucket: Bucket): void {
    const { casts } = this.spec;
    if (casts !== undefined) reserve(torch, "compress", bucket.flat.elements, casts, "communication").release();
    if (this.begun) this.lowRank(torch, bucket);
  }

  /** `powerSGD_hook`. */
  private lowRank(torch: Torch, { flat, own }: Bucket): void {
    const { rank = 1 } = this.spec;
    const { dtype } = flat;
    const made = (name: string, count: number): Tensor => reserve(torch, name, count, dtype, "communication");
    const error = this.errors.get(flat);
    const copy = error === undefined ? null : made("input_tensor_cp", flat.elements);
    const whole = own.filter((one) => !pays(one, rank));
    const beside = whole.length > 0 ? made("uncompressed_tensors_memory", elements(whole)) : null;
    const factors = this.factors.has(flat) ? [] : factorsOf(torch, own, rank, dtype);
    // What was lost is the difference of two whole buckets, and takes the place of the loss before.
    if (error !== undefined) {
      this.errors.set(flat, made("error_dict", flat.elements));
      error.release();
    }
    for (const tensor of [copy, beside, ...factors]) tensor?.release();
  }
}

/** Rows and columns of a gradient as a matrix: what is behind its first dimension is one. */
function sides({ sizes, elements: count }: Tensor): readonly [number, number] {
  const rows = sizes[0] ?? 1;
  return [rows, count / rows];
}

/** Whether two factors are worth sending (`_should_compress`). */
function pays(one: Tensor, rank: number): boolean {
  const [rows, columns] = sides(one);
  return Math.min(rows, columns, rank) * (rows + columns) * LEAST_RATE < rows * columns;
}

/** `p_memory_dict` and `q_memory_dict`: all left and all right factors of a bucket. */
function factorsOf(torch: Torch, own: readonly Tensor[], rank: number, dtype: DType): readonly Tensor[] {
  const squeezed = own.filter((one) => pays(one, rank)).map(sides);
  return ([0, 1] as const).map((side) => {
    const count = squeezed.reduce((sum, both) => sum + both[side] * Math.min(...both, rank), 0);
    return reserve(torch, "low_rank", count, dtype, "communication");
  });
}
