/** What the kernels of one micro-batch do, in counts: the shapes that the step time is told from. */
import type { DType } from "../engine/dtype";

/** A matrix product: `count` products of rows × inner by inner × columns elements. */
export interface Product {
  readonly count: number;
  readonly rows: number;
  readonly columns: number;
  readonly inner: number;
  /** Of the factors. */
  readonly dtype: DType;
  /** A convolution's: in which order its tensors lie. */
  readonly convolution?: "channels-last" | "channels-first";
}

/** Products that are alike. */
export interface Products extends Product {
  /** Bytes that one of them reads and writes. */
  readonly bytes: number;
  readonly times: number;
  /** A kernel of a package that may be missing multiplies in their place. */
  readonly spared: boolean;
}

/** One pass over the model. */
export interface Pass {
  readonly products: readonly Products[];
  /** FLOP inside attention kernels, and the bytes they read and write. */
  readonly attentionFlops: number;
  readonly attentionBytes: number;
  /** Bytes that the other kernels read and write. */
  readonly elementBytes: number;
  /** Of every sort. */
  readonly kernels: number;
  /** Those of the other kernels that a package which may be missing has one kernel for, and their bytes (in `elementBytes`, too). */
  readonly sparedKernels: number;
  readonly sparedBytes: number;
}

/** What one micro-batch runs on one device. */
export interface Operators {
  readonly forward: Pass;
  /** What checkpointing runs again is in it. */
  readonly backward: Pass;
  /** Scoring of one generation's completions, without gradients; null where there is none. */
  readonly scoring: Pass | null;
  /** Matrix products of the optimizer's step (Muon's, projections of gradients). */
  readonly stepping: readonly Products[];
  /** Tensors that the optimizer steps on. */
  readonly tensors: number;
  /** Bytes that wait in host memory between forward and backward. */
  readonly offloadedBytes: number;
  /** Bytes of the batch, which come from the host. */
  readonly inputBytes: number;
}
