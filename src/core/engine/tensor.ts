/**
 * Tensors without data: storages counted by reference, views with sizes and strides, and the autograd node that made
 * them. A tensor lives while something refers to it (a Python name, a saved variable, a gradient buffer), exactly as
 * in PyTorch; when the last reference goes its storage and its graph may go too.
 */
import type { DType } from "./dtype";
import { ELEMENT_BYTES } from "./dtype";
import type { Ledger } from "./ledger";
import type { Node } from "./node";
import { releaseNode } from "./node";
import { contiguousStrides, isContiguous, numel, type Sizes } from "./shape";

/** One block of device memory. */
export interface Storage {
  /** Id in the ledger; -1 for a storage of no bytes or on the host. */
  readonly id: number;
  references: number;
}

export class Tensor {
  references = 1;
  /** Leaf flag; a tensor made by autograd requires grad through `node`. */
  requiresGradFlag = false;
  /** Whether the tensor is a view made from another (decides autocast's cache). */
  isView = false;
  /** The tensor a view was made from in the end (not kept alive by it): writing into the view changes its history. */
  base: Tensor | null = null;
  node: Node | null = null;
  outputIndex = 0;
  /** Gradient of a leaf. */
  grad: Tensor | null = null;
  /** What lives as long as this one: the rest of an output object that it is the name for. */
  along: { release(): void } | null = null;
  /** The leaf's AccumulateGrad node, made on demand. */
  accumulator: Node | null = null;
  /** `module.path` of a parameter, for provenance. */
  name: string | null = null;
  /** Class of the module that owns a parameter (`Linear`, `Embedding`, …). */
  moduleKind: string | null = null;
  /** Name of a parameter with `{i}` in place of its layer's index, and that index. */
  pattern: string | null = null;
  layer: number | null = null;

  constructor(
    readonly ledger: Ledger,
    readonly storage: Storage,
    readonly sizes: Sizes,
    readonly strides: Sizes,
    readonly dtype: DType,
  ) {}

  get requiresGrad(): boolean {
    return this.requiresGradFlag || this.node !== null;
  }

  get isLeaf(): boolean {
    return this.node === null;
  }

  get rank(): number {
    return this.sizes.length;
  }

  get elements(): number {
    return numel(this.sizes);
  }

  get contiguous(): boolean {
    return isContiguous(this.sizes, this.strides);
  }

  /** Size of dimension `dim`, counted from the end when negative. */
  size(dim: number): number {
    return this.sizes[dim < 0 ? dim + this.sizes.length : dim]!;
  }

  retain(): this {
    this.references++;
    return this;
  }

  /** Another tensor object over the same storage, without the graph behind this one. */
  detached(): Tensor {
    this.storage.references++;
    return new Tensor(this.ledger, this.storage, this.sizes, this.strides, this.dtype);
  }

  /** Lets go of one reference; the last frees the storage and the graph behind it. */
  release(): void {
    if (--this.references > 0) return;
    if (--this.storage.references === 0 && this.storage.id >= 0) this.ledger.free(this.storage.id);
    if (this.node !== null) {
      const node = this.node;
      this.node = null;
      releaseNode(node);
    }
    if (this.grad !== null) {
      const grad = this.grad;
      this.grad = null;
      grad.release();
    }
    if (this.along !== null) {
      const { along } = this;
      this.along = null;
      along.release();
    }
  }
}

/** Bytes a tensor of these sizes and dtype holds. */
export function tensorBytes(sizes: Sizes, dtype: DType): number {
  return numel(sizes) * ELEMENT_BYTES[dtype];
}

/** A new tensor object over the same storage. */
export function alias(source: Tensor, sizes: Sizes, strides: Sizes, dtype: DType = source.dtype): Tensor {
  source.storage.references++;
  const view = new Tensor(source.ledger, source.storage, sizes, strides, dtype);
  view.isView = true;
  return view;
}

/** A tensor the ledger does not see: on the host, or with nothing in it. */
export function hostTensor(ledger: Ledger, sizes: Sizes, dtype: DType): Tensor {
  return new Tensor(ledger, { id: -1, references: 1 }, sizes, contiguousStrides(sizes), dtype);
}
