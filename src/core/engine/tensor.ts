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
export class Storage {
  /** @param id in the ledger; -1 for a storage of no bytes or on the host */
  constructor(
    public id: number,
    public references = 1,
  ) {}
}

/** What only leaves have: which parameter they are, and their gradient. */
class Leaf {
  grad: Tensor | null = null;
  accumulator: Node | null = null;
  name: string | null = null;
  moduleKind: string | null = null;
  isTable = false;
  pattern: string | null = null;
  layer: number | null = null;
}

export class Tensor {
  references = 1;
  /** Leaf flag; a tensor made by autograd requires grad through `node`. */
  requiresGradFlag = false;
  /** Whether the tensor is a view made from another (decides autocast's cache). */
  isView = false;
  /** Whether it stands for the conjugates of its numbers, which readers copy first (`is_conj`). */
  conjugated = false;
  /** The tensor a view was made from in the end (not kept alive by it): writing into the view changes its history. */
  base: Tensor | null = null;
  /** How often views of it were written into, and, of a view, how often its base was when its own history was made. */
  writes = 0;
  seenWrites = 0;
  node: Node | null = null;
  outputIndex = 0;
  /** What lives as long as this one: the rest of an output object that it is the name for. */
  along: { release(): void } | null = null;
  /** Made when something of it is set: most tensors are no leaves. */
  private leaf: Leaf | null = null;
  private knownStrides: Sizes | null;

  /** @param strides null: row by row */
  constructor(
    readonly ledger: Ledger,
    readonly storage: Storage,
    readonly sizes: Sizes,
    strides: Sizes | null,
    /** Changes only of a parameter whose name is given to other memory (`parameter.data = …`). */
    public dtype: DType,
  ) {
    this.knownStrides = strides;
  }

  get strides(): Sizes {
    this.knownStrides ??= contiguousStrides(this.sizes);
    return this.knownStrides;
  }

  /** Whether it lies row by row because nothing else was asked for. */
  get byRows(): boolean {
    return this.knownStrides === null;
  }

  private get asLeaf(): Leaf {
    this.leaf ??= new Leaf();
    return this.leaf;
  }

  /** Gradient of a leaf. */
  get grad(): Tensor | null {
    return this.leaf === null ? null : this.leaf.grad;
  }

  set grad(grad: Tensor | null) {
    this.asLeaf.grad = grad;
  }

  /** The leaf's AccumulateGrad node, made on demand. */
  get accumulator(): Node | null {
    return this.leaf === null ? null : this.leaf.accumulator;
  }

  set accumulator(accumulator: Node | null) {
    this.asLeaf.accumulator = accumulator;
  }

  /** `module.path` of a parameter, for provenance. */
  get name(): string | null {
    return this.leaf === null ? null : this.leaf.name;
  }

  set name(name: string | null) {
    this.asLeaf.name = name;
  }

  /** Class of the module that owns a parameter (`Linear`, `Embedding`, …). */
  get moduleKind(): string | null {
    return this.leaf === null ? null : this.leaf.moduleKind;
  }

  set moduleKind(moduleKind: string | null) {
    this.asLeaf.moduleKind = moduleKind;
  }

  /** Whether an embedding looks tokens up in a parameter, by whichever of its names. */
  get isTable(): boolean {
    return this.leaf?.isTable === true;
  }

  set isTable(isTable: boolean) {
    this.asLeaf.isTable = isTable;
  }

  /** Name of a parameter with `{i}` in place of its layer's index. */
  get pattern(): string | null {
    return this.leaf === null ? null : this.leaf.pattern;
  }

  set pattern(pattern: string | null) {
    this.asLeaf.pattern = pattern;
  }

  /** Index of a parameter's layer. */
  get layer(): number | null {
    return this.leaf === null ? null : this.leaf.layer;
  }

  set layer(layer: number | null) {
    this.asLeaf.layer = layer;
  }

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
    return this.knownStrides === null || isContiguous(this.sizes, this.knownStrides);
  }

  /** Size of dimension `dim`, counted from the end when negative. */
  size(dim: number): number {
    return this.sizes[dim < 0 ? dim + this.sizes.length : dim]!;
  }

  retain(): this {
    this.references++;
    return this;
  }

  /** As a saved variable it stands for itself. */
  unpack(): Tensor {
    return this.retain();
  }

  /** Another tensor object over the same storage, without the graph behind this one. */
  detached(): Tensor {
    this.storage.references++;
    return new Tensor(this.ledger, this.storage, this.sizes, this.knownStrides, this.dtype);
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
    const { grad, along } = this;
    if (grad !== null) {
      this.grad = null;
      grad.release();
    }
    if (along !== null) {
      this.along = null;
      along.release();
    }
  }
}

/** Bytes a tensor of these sizes and dtype holds. */
export function tensorBytes(sizes: Sizes, dtype: DType): number {
  return numel(sizes) * ELEMENT_BYTES[dtype];
}

/**
 * A new tensor object over the same storage.
 *
 * @param strides null: row by row
 */
export function alias(source: Tensor, sizes: Sizes, strides: Sizes | null, dtype: DType = source.dtype): Tensor {
  source.storage.references++;
  const view = new Tensor(source.ledger, source.storage, sizes, strides, dtype);
  view.isView = true;
  if (source.conjugated) view.conjugated = dtype === source.dtype;
  return view;
}

/** A new tensor object over the same storage, laid out as the source is. */
export function sameView(source: Tensor): Tensor {
  return alias(source, source.sizes, source.byRows ? null : source.strides);
}

/** A tensor the ledger does not see: on the host, or with nothing in it. */
export function hostTensor(ledger: Ledger, sizes: Sizes, dtype: DType): Tensor {
  return new Tensor(ledger, new Storage(-1), sizes, null, dtype);
}
