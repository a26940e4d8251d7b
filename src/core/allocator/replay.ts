/**
 * The CUDA caching allocator replayed over an event stream: `max_memory_reserved`. Source: c10/cuda/
 * CUDACachingAllocator.cpp (get_allocation_size, should_split, get_free_block: best fit by size then address; a block of
 * `max_split_size` or more is neither split nor given to a smaller request). `garbage_collection_threshold` has no effect
 * there unless the process limits its own share (`set_per_process_memory_fraction`), which trainers do not.
 */
import { Blocks, GRANULE, granulesOf, MIN_BLOCK, NONE } from "./blocks";
import { Pool } from "./pool";
import { type ClosedStep, Repeated } from "./repeated";
import {
  LARGE_LIMIT_BYTES,
  LARGE_SEGMENT_BYTES,
  SEGMENT_ROUND_BYTES,
  SMALL_LIMIT_BYTES,
  SMALL_SEGMENT_BYTES,
} from "./segment";

const SMALL_LIMIT = SMALL_LIMIT_BYTES / GRANULE;
const SMALL_SEGMENT = SMALL_SEGMENT_BYTES / GRANULE;
const LARGE_SEGMENT = LARGE_SEGMENT_BYTES / GRANULE;
const LARGE_LIMIT = LARGE_LIMIT_BYTES / GRANULE;
const ROUND = SEGMENT_ROUND_BYTES / GRANULE;

export interface EventStream {
  /** `id` for an allocation, `~id` for a free. */
  readonly events: ArrayLike<number>;
  /** Bytes of each id. */
  readonly bytes: ArrayLike<number>;
  /** Events before which `torch.cuda.empty_cache()` gives the free segments that are whole back, in order. */
  readonly emptied?: readonly number[];
  /**
   * Blocks that another allocator makes, before which the loop empties the cache: vLLM's, which sleeps in between
   * (vllm/device_allocator/cumem.py; trl/generation/vllm_generation.py, verl/workers/engine_workers.py).
   */
  readonly apart?: ReadonlySet<number>;
  /** The CUDA stream of each id, whose pools serve no other (absent, or 0: the model's own). */
  readonly sides?: ArrayLike<number>;
  /** Steps that free all that they allocate and do not empty the cache, in order. */
  readonly steps?: readonly ClosedStep[];
}

/** What `PYTORCH_CUDA_ALLOC_CONF` says of the pools. */
export interface PoolSettings {
  /** `max_split_size_mb`, in bytes: larger blocks are kept whole. */
  readonly maxSplitBytes?: number | undefined;
}

/** A pool that could not grow as it would have. */
export interface PressedPool {
  /** Whether every request found a place. */
  readonly served: boolean;
  /** Times that all unused segments went back to the driver for a request to be served. */
  readonly releases: number;
}

/**
 * Peak of reserved bytes over the stream.
 *
 * @param loaded of the first `loaded` events only what survives them counts: a checkpoint is loaded without the
 *   temporaries of random initialisation
 */
export function reservedPeak(stream: EventStream, loaded = 0, settings: PoolSettings = {}): number {
  return replay(stream, loaded, settings, Number.POSITIVE_INFINITY).peak * GRANULE;
}

/**
 * What becomes of the stream when the pool may reserve no more than so many bytes: where a segment cannot be had, the free
 * ones that are whole go back and it is tried once more (`release_cached_blocks` in `DeviceCachingAllocator::malloc`).
 */
export function pressedPool(
  stream: EventStream,
  loaded: number,
  settings: PoolSettings,
  limitBytes: number,
): PressedPool {
  return replay(stream, loaded, settings, limitBytes / GRANULE);
}

interface Replayed extends PressedPool {
  /** In granules. */
  readonly peak: number;
}

/** Streams that have pools: one, or up to the last that a block is of. */
export function sidesIn(sides: EventStream["sides"]): number {
  let last = 0;
  for (let id = 0; id < (sides?.length ?? 0); id++) last = Math.max(last, sides![id]!);
  return last + 1;
}

function replay(stream: EventStream, loaded: number, settings: PoolSettings, limit: number): Replayed {
  const { events, bytes, sides, emptied = [] } = stream;
  const apart = stream.apart?.size === 0 ? undefined : stream.apart;
  const maxSplit = (settings.maxSplitBytes ?? Number.POSITIVE_INFINITY) / GRANULE;
  const blocks = new Blocks();
  const count = sidesIn(sides);
  const smallPools = Array.from({ length: count }, () => new Pool(blocks));
  const largePools = Array.from({ length: count }, () => new Pool(blocks));
  const placed = new Int32Array(bytes.length).fill(NONE);
  const skipped = new Uint8Array(bytes.length);
  for (let k = 0; k < loaded; k++) if (events[k]! < 0) skipped[~events[k]!] = 1;
  let reserved = 0;
  let peak = 0;
  let releases = 0;
  // Addresses of segments that went back are not used again: which ones the driver would give is not known.
  let end = 0;
  let emptyings = 0;
  const repeated = new Repeated(stream.steps);
  const release = (): number => {
    repeated.changed();
    return [...smallPools, ...largePools].reduce((granules, pool) => granules + pool.release(), 0);
  };
  for (let k = 0; k < events.length; k++) {
    for (; emptyings < emptied.length && emptied[emptyings]! <= k; emptyings++) reserved -= release();
    const at = repeated.skipped(k);
    if (at > k) {
      k = at - 1;
      continue;
    }
    const event = events[k]!;
    const id = event >= 0 ? event : ~event;
    if (k < loaded && skipped[id] === 1) continue;
    const isSmall = bytes[id]! <= SMALL_LIMIT_BYTES;
    if (apart?.has(id)) {
      const size = granulesOf(bytes[id]!);
      if (event >= 0) reserved += size - release();
      else reserved -= size;
      if (reserved > limit) return { peak, releases, served: false };
      if (reserved > peak) peak = reserved;
      continue;
    }
    const pool = (isSmall ? smallPools : largePools)[sides?.[id] ?? 0]!;
    if (event >= 0) {
      const size = granulesOf(bytes[id]!);
      // A block of `max_split_size` or more is for requests of that size only, and not for far smaller ones.
      const most = size < maxSplit ? maxSplit : size + LARGE_SEGMENT;
      if (events[k + 1] === ~id && emptied[emptyings] !== k + 1 && pool.serves(size, most)) {
        k++;
        continue;
      }
      let block = pool.take(size, most);
      if (block === NONE) {
        const length = isSmall ? SMALL_SEGMENT : size < LARGE_LIMIT ? LARGE_SEGMENT : Math.ceil(size / ROUND) * ROUND;
        if (reserved + length > limit) {
          releases++;
          reserved -= release();
          if (reserved + length > limit) return { peak, releases, served: false };
        }
        repeated.changed();
        block = blocks.make(length, end, NONE, NONE);
        end += length;
        reserved += length;
        if (reserved > peak) peak = reserved;
      }
      const rest = blocks.sizeOf(block) - size;
      if (isSmall ? rest >= MIN_BLOCK : rest > SMALL_LIMIT && size < maxSplit) pool.insert(blocks.split(block, size));
      placed[id] = block;
      continue;
    }
    const block = placed[id]!;
    if (block === NONE) continue;
    placed[id] = NONE;
    pool.insert(pool.merged(block));
  }
  return { peak, releases, served: true };
}
