/**
 * The blocks of the caching allocator's segments, and the free ones among them in the allocator's order: by size, then by
 * address (c10/cuda/CUDACachingAllocator.cpp, BlockComparatorSize).
 */

/**
 * Bytes of the smallest block. Sizes and addresses of blocks are counted in it, which keeps them small integers that
 * JavaScript need not allocate.
 */
export const GRANULE = 512;

/** No block: nothing fits, or a neighbour that is not there. */
export const NONE = -1;

/**
 * Blocks of all segments, in columns: a replay makes tens of thousands of them. Addresses run through the segments in the
 * order they were made; those of blocks that were joined to a neighbour are used again.
 */
export class Blocks {
  /** In granules, like the addresses. */
  sizes = new Float64Array(1024);
  addresses = new Float64Array(1024);
  /** Neighbours in the same segment. */
  previous = new Int32Array(1024);
  next = new Int32Array(1024);
  free = new Uint8Array(1024);
  private count = 0;
  private readonly unused: number[] = [];

  make(size: number, address: number, previous: number, next: number): number {
    const block = this.unused.pop() ?? this.count++;
    if (block === this.sizes.length) this.grow();
    this.sizes[block] = size;
    this.addresses[block] = address;
    this.previous[block] = previous;
    this.next[block] = next;
    this.free[block] = 0;
    return block;
  }

  /** Cuts a block down to `size` granules; the rest is a block of its own after it. */
  split(block: number, size: number): number {
    const after = this.next[block]!;
    const rest = this.make(this.sizes[block]! - size, this.addresses[block]! + size, block, after);
    if (after !== NONE) this.previous[after] = rest;
    this.next[block] = rest;
    this.sizes[block] = size;
    return rest;
  }

  /** Joins a block to the one before it in memory. */
  join(block: number, following: number): void {
    this.sizes[block]! += this.sizes[following]!;
    const after = this.next[following]!;
    this.next[block] = after;
    if (after !== NONE) this.previous[after] = block;
    this.unused.push(following);
  }

  private grow(): void {
    const room = 2 * this.sizes.length;
    const widened = <T extends Float64Array | Int32Array | Uint8Array>(column: T, wider: T): T => {
      wider.set(column);
      return wider;
    };
    this.sizes = widened(this.sizes, new Float64Array(room));
    this.addresses = widened(this.addresses, new Float64Array(room));
    this.previous = widened(this.previous, new Int32Array(room));
    this.next = widened(this.next, new Int32Array(room));
    this.free = widened(this.free, new Uint8Array(room));
  }
}

/** Free blocks. They have few different sizes, of which there are many blocks each. */
export class Pool {
  /** Sizes of the blocks that are there, ascending, and per size the blocks, the one with the lowest address last. */
  private readonly sizes: number[] = [];
  private readonly bins: number[][] = [];
  /** Bins that became empty. */
  private readonly spare: number[][] = [];

  constructor(private readonly blocks: Blocks) {}

  /** Place of the smallest size that is not below `size`. */
  private place(size: number): number {
    const { sizes } = this;
    let low = 0;
    let high = sizes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sizes[middle]! < size) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** A bin for a size that has none yet. */
  private open(at: number, size: number): number[] {
    const { sizes, bins } = this;
    const bin = this.spare.pop() ?? [];
    for (let k = sizes.length; k > at; k--) {
      sizes[k] = sizes[k - 1]!;
      bins[k] = bins[k - 1]!;
    }
    sizes[at] = size;
    bins[at] = bin;
    return bin;
  }

  /** Puts an empty bin away. */
  private close(at: number): void {
    const { sizes, bins } = this;
    this.spare.push(bins[at]!);
    for (let k = at + 1; k < sizes.length; k++) {
      sizes[k - 1] = sizes[k]!;
      bins[k - 1] = bins[k]!;
    }
    sizes.pop();
    bins.pop();
  }

  insert(block: number): void {
    const { addresses } = this.blocks;
    this.blocks.free[block] = 1;
    const size = this.blocks.sizes[block]!;
    const address = addresses[block]!;
    const at = this.place(size);
    const bin = this.sizes[at] === size ? this.bins[at]! : this.open(at, size);
    let k = bin.length;
    for (; k > 0 && addresses[bin[k - 1]!]! < address; k--) bin[k] = bin[k - 1]!;
    bin[k] = block;
  }

  remove(block: number): void {
    const at = this.place(this.blocks.sizes[block]!);
    const bin = this.bins[at]!;
    let moved = bin.pop()!;
    for (let k = bin.length - 1; moved !== block; k--) {
      const before = bin[k]!;
      bin[k] = moved;
      moved = before;
    }
    if (bin.length === 0) this.close(at);
  }

  /** Joins a block that is freed with its free neighbours, which leave the pool; gives what became of it. */
  merged(freed: number): number {
    const { blocks } = this;
    let block = freed;
    const next = blocks.next[block]!;
    if (next !== NONE && blocks.free[next] === 1) {
      this.remove(next);
      blocks.join(block, next);
    }
    const previous = blocks.previous[block]!;
    if (previous !== NONE && blocks.free[previous] === 1) {
      this.remove(previous);
      blocks.join(previous, block);
      block = previous;
    }
    return block;
  }

  /** Takes the first block of at least `size` granules; `NONE` when there is none, or when it has `limit` or more. */
  take(size: number, limit: number): number {
    const at = this.place(size);
    if (at === this.sizes.length || this.sizes[at]! >= limit) return NONE;
    const bin = this.bins[at]!;
    const block = bin.pop()!;
    if (bin.length === 0) this.close(at);
    this.blocks.free[block] = 0;
    return block;
  }
}
