/**
 * The blocks of the caching allocator's segments, and the free ones among them in the allocator's order: by size, then by
 * address (c10/cuda/CUDACachingAllocator.cpp, BlockComparatorSize).
 */
import { widened } from "../columns";

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
  /** Neighbours among the free blocks of one size, by address. */
  before = new Int32Array(1024);
  after = new Int32Array(1024);
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
    this.drop(following);
  }

  /** A block that is no more, joined to another or given back: its number is used again. */
  drop(block: number): void {
    this.unused.push(block);
  }

  private grow(): void {
    const room = 2 * this.sizes.length;
    this.sizes = widened(this.sizes, new Float64Array(room));
    this.addresses = widened(this.addresses, new Float64Array(room));
    this.previous = widened(this.previous, new Int32Array(room));
    this.next = widened(this.next, new Int32Array(room));
    this.free = widened(this.free, new Uint8Array(room));
    this.before = widened(this.before, new Int32Array(room));
    this.after = widened(this.after, new Int32Array(room));
  }
}

/** Up to so many sizes are looked through one by one, the largest first; of more, the halves without the wanted one go. */
const SCANNED = 32;
/** Shorter columns are moved by a loop, longer ones by `copyWithin`, which is slow to begin. */
const LOOPED = 64;
/**
 * Express lanes over a list of blocks: one of four blocks is in the first, of those one of four in the second, and so on
 * (a skip list), so that a place in a list of any length is found in a few steps.
 */
const LANES = 6;

/** How many express lanes a block is in: the same at every run, spread like throws of a four-sided die. */
function lanesOf(block: number): number {
  const mixed = Math.imul(block + 1, 0x9e3779b1) ^ (block >>> 7);
  let lanes = 0;
  for (let bits = mixed >>> 8; (bits & 3) === 3 && lanes < LANES; bits >>>= 2) lanes++;
  return lanes;
}

/** Free blocks: mostly a few hundred of a dozen sizes, in one list per size, by address. */
export class Pool {
  /** Sizes that there are, ascending; per size the block with the lowest address, and where its lanes begin. */
  private sizes = new Float64Array(64);
  private firsts = new Int32Array(64);
  private starts = new Int32Array(64);
  private count = 0;
  /** First block of each lane of each size that has or had one; -1: none. */
  private heads = new Int32Array(LANES).fill(NONE);
  /** The next block in each lane, per block. */
  private lanes = new Int32Array(0);
  private readonly unusedStarts: number[] = [];
  private startCount = 0;

  constructor(private readonly blocks: Blocks) {}

  /** Place of the smallest size that is not below `size`. */
  private place(size: number): number {
    const { sizes } = this;
    let low = 0;
    let at = this.count;
    while (at - low > SCANNED) {
      const middle = (low + at) >> 1;
      if (sizes[middle]! < size) low = middle + 1;
      else at = middle;
    }
    while (at > low && sizes[at - 1]! >= size) at--;
    return at;
  }

  /** Begins the list of a size that no other block has. */
  private open(at: number, size: number, block: number): void {
    if (this.count === this.sizes.length) this.grow();
    const { sizes, firsts, starts } = this;
    if (this.count - at > LOOPED) {
      sizes.copyWithin(at + 1, at, this.count);
      firsts.copyWithin(at + 1, at, this.count);
      starts.copyWithin(at + 1, at, this.count);
    } else
      for (let k = this.count; k > at; k--) {
        sizes[k] = sizes[k - 1]!;
        firsts[k] = firsts[k - 1]!;
        starts[k] = starts[k - 1]!;
      }
    this.count++;
    sizes[at] = size;
    firsts[at] = block;
    starts[at] = NONE;
  }

  /** Ends a list whose last block is gone. */
  private close(at: number): void {
    const { sizes, firsts, starts } = this;
    if (starts[at]! !== NONE) this.unusedStarts.push(starts[at]!);
    const last = --this.count;
    if (last - at > LOOPED) {
      sizes.copyWithin(at, at + 1, last + 1);
      firsts.copyWithin(at, at + 1, last + 1);
      starts.copyWithin(at, at + 1, last + 1);
    } else
      for (let k = at; k < last; k++) {
        sizes[k] = sizes[k + 1]!;
        firsts[k] = firsts[k + 1]!;
        starts[k] = starts[k + 1]!;
      }
  }

  private grow(): void {
    this.sizes = widened(this.sizes, new Float64Array(2 * this.count));
    this.firsts = widened(this.firsts, new Int32Array(2 * this.count));
    this.starts = widened(this.starts, new Int32Array(2 * this.count));
  }

  /** Where the lanes of the size at `at` begin, made now if it had none. */
  private lanesAt(at: number): number {
    let start = this.starts[at]!;
    if (start !== NONE) return start;
    start = this.unusedStarts.pop() ?? LANES * this.startCount++;
    if (start + LANES > this.heads.length)
      this.heads = widened(this.heads, new Int32Array(2 * this.heads.length).fill(NONE));
    this.starts[at] = start;
    return start;
  }

  /** Enters a block in its lanes. */
  private enter(at: number, block: number, count: number): void {
    const { addresses, sizes } = this.blocks;
    if (this.lanes.length < LANES * sizes.length)
      this.lanes = widened(this.lanes, new Int32Array(LANES * sizes.length));
    const { lanes } = this;
    const start = this.lanesAt(at);
    const { heads } = this;
    const address = addresses[block]!;
    let from = NONE;
    for (let lane = LANES - 1; lane >= 0; lane--) {
      let next = from === NONE ? heads[start + lane]! : lanes[from * LANES + lane]!;
      while (next !== NONE && addresses[next]! < address) {
        from = next;
        next = lanes[from * LANES + lane]!;
      }
      if (lane >= count) continue;
      lanes[block * LANES + lane] = next;
      if (from === NONE) heads[start + lane] = block;
      else lanes[from * LANES + lane] = block;
    }
  }

  /** Takes a block out of its lanes. */
  private leave(at: number, block: number, count: number): void {
    const { addresses } = this.blocks;
    const { heads, lanes } = this;
    const start = this.starts[at]!;
    if (this.blocks.before[block] === NONE) {
      // The first of its list is the first of its lanes.
      for (let lane = 0; lane < count; lane++) heads[start + lane] = lanes[block * LANES + lane]!;
      return;
    }
    const address = addresses[block]!;
    let from = NONE;
    for (let lane = LANES - 1; lane >= 0; lane--) {
      let next = from === NONE ? heads[start + lane]! : lanes[from * LANES + lane]!;
      while (next !== NONE && addresses[next]! < address) {
        from = next;
        next = lanes[from * LANES + lane]!;
      }
      if (lane >= count) continue;
      if (from === NONE) heads[start + lane] = lanes[block * LANES + lane]!;
      else lanes[from * LANES + lane] = lanes[block * LANES + lane]!;
    }
  }

  /** The last block of the lanes before an address; `NONE` when it comes before all of them. */
  private nearest(start: number, address: number): number {
    const { addresses } = this.blocks;
    const { heads, lanes } = this;
    let from = NONE;
    for (let lane = LANES - 1; lane >= 0; lane--) {
      let next = from === NONE ? heads[start + lane]! : lanes[from * LANES + lane]!;
      while (next !== NONE && addresses[next]! < address) {
        from = next;
        next = lanes[from * LANES + lane]!;
      }
    }
    return from;
  }

  insert(block: number): void {
    const { addresses, before, after, free } = this.blocks;
    free[block] = 1;
    const size = this.blocks.sizes[block]!;
    const at = this.place(size);
    let previous = NONE;
    let next = NONE;
    if (at === this.count || this.sizes[at] !== size) this.open(at, size, block);
    else {
      const address = addresses[block]!;
      const start = this.starts[at]!;
      if (start !== NONE) previous = this.nearest(start, address);
      next = previous === NONE ? this.firsts[at]! : after[previous]!;
      while (next !== NONE && addresses[next]! < address) {
        previous = next;
        next = after[next]!;
      }
      if (next !== NONE) before[next] = block;
      if (previous !== NONE) after[previous] = block;
      else this.firsts[at] = block;
    }
    before[block] = previous;
    after[block] = next;
    const lanes = lanesOf(block);
    if (lanes > 0) this.enter(at, block, lanes);
  }

  remove(block: number): void {
    const { before, after, sizes } = this.blocks;
    const previous = before[block]!;
    const next = after[block]!;
    const lanes = lanesOf(block);
    if (next !== NONE) before[next] = previous;
    if (previous !== NONE) after[previous] = next;
    if (previous !== NONE && lanes === 0) return;
    const at = this.place(sizes[block]!);
    if (lanes > 0) this.leave(at, block, lanes);
    if (previous !== NONE) return;
    if (next !== NONE) this.firsts[at] = next;
    else this.close(at);
  }

  /** Lets go of the free blocks that are whole segments; gives how many granules they had. */
  release(): number {
    const { blocks } = this;
    const whole: number[] = [];
    for (let at = 0; at < this.count; at++)
      for (let block = this.firsts[at]!; block !== NONE; block = blocks.after[block]!)
        if (blocks.previous[block] === NONE && blocks.next[block] === NONE) whole.push(block);
    let granules = 0;
    for (const block of whole) {
      granules += blocks.sizes[block]!;
      this.remove(block);
      blocks.drop(block);
    }
    return granules;
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

  /** The first of the free blocks of at least `size`, in the order by size and address; `NONE` when there is none. */
  first(size: number): number {
    const at = this.place(size);
    return at === this.count ? NONE : this.firsts[at]!;
  }

  /** The free block that comes after another in that order; `NONE` after the last. */
  following(block: number): number {
    const same = this.blocks.after[block]!;
    if (same !== NONE) return same;
    const at = this.place(this.blocks.sizes[block]!) + 1;
    return at === this.count ? NONE : this.firsts[at]!;
  }

  /** Takes the first block of at least `size` granules; `NONE` when there is none, or when it has `limit` or more. */
  take(size: number, limit: number): number {
    const at = this.place(size);
    if (at === this.count || this.sizes[at]! >= limit) return NONE;
    const { before, after, free } = this.blocks;
    const block = this.firsts[at]!;
    const next = after[block]!;
    const lanes = lanesOf(block);
    if (lanes > 0) this.leave(at, block, lanes);
    if (next === NONE) this.close(at);
    else {
      this.firsts[at] = next;
      before[next] = NONE;
    }
    free[block] = 0;
    return block;
  }
}
