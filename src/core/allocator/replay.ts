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

interface Block {
  size: number;
  /** Order of addresses: segments come in the order they were made. */
  readonly segment: number;
  readonly offset: number;
  previous: Block | null;
  next: Block | null;
  free: boolean;
}

/** Free blocks ordered by size, then address. */
class Pool {
  private readonly blocks: Block[] = [];

  private find(size: number, segment: number, offset: number): number {
    let low = 0;
    let high = this.blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const block = this.blocks[middle]!;
      const before =
        block.size < size ||
        (block.size === size && (block.segment < segment || (block.segment === segment && block.offset < offset)));
      if (before) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  insert(block: Block): void {
    this.blocks.splice(this.find(block.size, block.segment, block.offset), 0, block);
  }

  remove(block: Block): void {
    this.blocks.splice(this.find(block.size, block.segment, block.offset), 1);
  }

  /** Takes the smallest block of at least `size` bytes, unless it is oversized and the request is not, or far smaller. */
  take(size: number, maxSplit: number): Block | undefined {
    const at = this.find(size, -1, -1);
    const block = this.blocks[at];
    if (block === undefined) return undefined;
    const refused = size < maxSplit ? block.size >= maxSplit : block.size >= size + LARGE_SEGMENT;
    return refused ? undefined : this.blocks.splice(at, 1)[0];
  }
}

export interface EventStream {
  /** `id` for an allocation, `~id` for a free. */
  readonly events: readonly number[];
  /** Bytes of each id. */
  readonly bytes: readonly number[];
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
  const pools = [new Pool(), new Pool()] as const;
  const placed: (Block | undefined)[] = new Array(bytes.length);
  const freedWhileLoading = new Set<number>();
  for (let k = 0; k < loaded; k++) if (events[k]! < 0) freedWhileLoading.add(~events[k]!);
  let reserved = 0;
  let peak = 0;
  let segments = 0;
  for (let k = 0; k < events.length; k++) {
    const event = events[k]!;
    if (k < loaded && freedWhileLoading.has(event < 0 ? ~event : event)) continue;
    if (event >= 0) {
      const size = Math.max(MIN_BLOCK, bytes[event]!);
      const small = size <= SMALL_LIMIT;
      const pool = pools[small ? 0 : 1];
      let block = pool.take(size, maxSplit);
      if (block === undefined) {
        const length = small ? SMALL_SEGMENT : size < LARGE_LIMIT ? LARGE_SEGMENT : Math.ceil(size / ROUND) * ROUND;
        reserved += length;
        if (reserved > peak) peak = reserved;
        block = { size: length, segment: segments++, offset: 0, previous: null, next: null, free: false };
      }
      const rest = block.size - size;
      if (small ? rest >= MIN_BLOCK : rest > SMALL_LIMIT && size < maxSplit) {
        const remainder: Block = {
          size: rest,
          segment: block.segment,
          offset: block.offset + size,
          previous: block,
          next: block.next,
          free: true,
        };
        if (block.next !== null) block.next.previous = remainder;
        block.next = remainder;
        block.size = size;
        pool.insert(remainder);
      }
      block.free = false;
      placed[event] = block;
      continue;
    }
    let block = placed[~event];
    if (block === undefined) continue;
    placed[~event] = undefined;
    const pool = pools[bytes[~event]! <= SMALL_LIMIT ? 0 : 1];
    const { previous, next } = block;
    if (next?.free) {
      pool.remove(next);
      block.size += next.size;
      block.next = next.next;
      if (next.next !== null) next.next.previous = block;
    }
    if (previous?.free) {
      pool.remove(previous);
      previous.size += block.size;
      previous.next = block.next;
      if (block.next !== null) block.next.previous = previous;
      block = previous;
    }
    block.free = true;
    pool.insert(block);
  }
  return peak;
}
