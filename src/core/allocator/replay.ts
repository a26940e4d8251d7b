/**
 * The CUDA caching allocator replayed over an event stream: `max_memory_reserved`. Source: c10/cuda/
 * CUDACachingAllocator.cpp (get_allocation_size, should_split, get_free_block: best fit by size then address; a block of
 * `max_split_size` or more is neither split nor given to a smaller request). `garbage_collection_threshold` has no effect
 * there unless the process limits its own share (`set_per_process_memory_fraction`), which trainers do not.
 */
const MIB = 1 << 20;
const SMALL_LIMIT = MIB;
const SMALL_SEGMENT = 2 * MIB;
const LARGE_SEGMENT = 20 * MIB;
const LARGE_LIMIT = 10 * MIB;
const ROUND = 2 * MIB;
const MIN_BLOCK = 512;

const NONE = -1;

/**
 * Blocks of all segments, in columns: a replay makes tens of thousands of them. Addresses run through the segments in the
 * order they were made; those of blocks that were joined to a neighbour are used again.
 */
class Blocks {
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
    return block;
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

/** Free blocks by size, then address, the smallest last: small ones come and go most often. */
class Pool {
  private members = new Int32Array(256);
  /** Sizes of the members, in their order. */
  private sizes = new Float64Array(256);
  private count = 0;

  constructor(private readonly blocks: Blocks) {}

  /** How many members are not before a block of this size and address. */
  private above(size: number, address: number): number {
    const { members, sizes } = this;
    const { addresses } = this.blocks;
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      const here = sizes[middle]!;
      if (here > size || (here === size && addresses[members[middle]!]! >= address)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  insert(block: number): void {
    if (this.count === this.members.length) this.grow();
    const { members, sizes } = this;
    const { addresses } = this.blocks;
    const size = this.blocks.sizes[block]!;
    const address = addresses[block]!;
    let at = this.count++;
    for (; at > 0; at--) {
      const here = sizes[at - 1]!;
      const member = members[at - 1]!;
      if (here > size || (here === size && addresses[member]! > address)) break;
      sizes[at] = here;
      members[at] = member;
    }
    sizes[at] = size;
    members[at] = block;
  }

  remove(block: number): void {
    this.removeAt(this.above(this.blocks.sizes[block]!, this.blocks.addresses[block]!) - 1);
  }

  private removeAt(place: number): void {
    const { members, sizes } = this;
    const last = --this.count;
    for (let at = place; at < last; at++) {
      members[at] = members[at + 1]!;
      sizes[at] = sizes[at + 1]!;
    }
  }

  /** Takes the smallest block of at least `size` bytes, unless it is oversized and the request is not, or far smaller. */
  take(size: number, maxSplit: number): number {
    const at = this.above(size, 0) - 1;
    if (at < 0) return NONE;
    const found = this.sizes[at]!;
    if (size < maxSplit ? found >= maxSplit : found >= size + LARGE_SEGMENT) return NONE;
    const block = this.members[at]!;
    this.removeAt(at);
    return block;
  }

  private grow(): void {
    const members = new Int32Array(2 * this.count);
    const sizes = new Float64Array(2 * this.count);
    members.set(this.members);
    sizes.set(this.sizes);
    this.members = members;
    this.sizes = sizes;
  }
}

export interface EventStream {
  /** `id` for an allocation, `~id` for a free. */
  readonly events: ArrayLike<number>;
  /** Bytes of each id. */
  readonly bytes: ArrayLike<number>;
}

/** What `PYTORCH_CUDA_ALLOC_CONF` says of the pools. */
export interface PoolSettings {
  /** `max_split_size_mb`, in bytes: larger blocks are kept whole. */
  readonly maxSplitBytes?: number | undefined;
}

/**
 * Peak of reserved bytes over the stream.
 *
 * @param loaded of the first `loaded` events only what survives them counts: a checkpoint is loaded without the
 *   temporaries of random initialisation
 */
export function reservedPeak(stream: EventStream, loaded = 0, settings: PoolSettings = {}): number {
  const { events, bytes } = stream;
  const maxSplit = settings.maxSplitBytes ?? Number.POSITIVE_INFINITY;
  const blocks = new Blocks();
  const smallPool = new Pool(blocks);
  const largePool = new Pool(blocks);
  const placed = new Int32Array(bytes.length).fill(NONE);
  const skipped = new Uint8Array(bytes.length);
  for (let k = 0; k < loaded; k++) if (events[k]! < 0) skipped[~events[k]!] = 1;
  let reserved = 0;
  for (let k = 0; k < events.length; k++) {
    const event = events[k]!;
    const id = event >= 0 ? event : ~event;
    if (k < loaded && skipped[id] === 1) continue;
    const size = Math.max(MIN_BLOCK, bytes[id]!);
    const small = size <= SMALL_LIMIT;
    const pool = small ? smallPool : largePool;
    if (event >= 0) {
      let block = pool.take(size, maxSplit);
      if (block === NONE) {
        const length = small ? SMALL_SEGMENT : size < LARGE_LIMIT ? LARGE_SEGMENT : Math.ceil(size / ROUND) * ROUND;
        // Nothing is given back, so that what is reserved at the end is the peak.
        block = blocks.make(length, reserved, NONE, NONE);
        reserved += length;
      }
      const rest = blocks.sizes[block]! - size;
      if (small ? rest >= MIN_BLOCK : rest > SMALL_LIMIT && size < maxSplit) {
        const after = blocks.next[block]!;
        const remainder = blocks.make(rest, blocks.addresses[block]! + size, block, after);
        if (after !== NONE) blocks.previous[after] = remainder;
        blocks.next[block] = remainder;
        blocks.sizes[block] = size;
        blocks.free[remainder] = 1;
        pool.insert(remainder);
      }
      blocks.free[block] = 0;
      placed[id] = block;
      continue;
    }
    let block = placed[id]!;
    if (block === NONE) continue;
    placed[id] = NONE;
    const next = blocks.next[block]!;
    if (next !== NONE && blocks.free[next] === 1) {
      pool.remove(next);
      blocks.join(block, next);
    }
    const previous = blocks.previous[block]!;
    if (previous !== NONE && blocks.free[previous] === 1) {
      pool.remove(previous);
      blocks.join(previous, block);
      block = previous;
    }
    blocks.free[block] = 1;
    pool.insert(block);
  }
  return reserved;
}
