/**
 * The caching allocator with `expandable_segments:True`: one growing segment for small blocks and one for large ones,
 * mapped page by page at its end, so that free blocks of odd sizes do not pile up. Source: c10/cuda/
 * CUDACachingAllocator.cpp (ExpandableSegment, try_allocate_expandable_block).
 */
import { Blocks, GRANULE, NONE, Pool } from "./pool";
import type { EventStream } from "./replay";

const MIB = (1 << 20) / GRANULE;
/** Pages mapped at a time: 2 MiB for small blocks, 20 MiB for large ones. */
const SMALL_PAGE = 2 * MIB;
const LARGE_PAGE = 20 * MIB;
const MIN_BLOCK = 1;

/** One segment whose end moves. */
class Segment {
  mapped = 0;
  /** The block at the end. It could grow, so it counts as larger than any other that fits: free, it is in no pool. */
  private last = NONE;
  private readonly blocks = new Blocks();
  private readonly pool = new Pool(this.blocks);

  constructor(private readonly page: number) {}

  allocate(size: number): number {
    const { blocks, pool } = this;
    const found = pool.take(size, Number.POSITIVE_INFINITY);
    const block = found === NONE ? this.end(size) : found;
    if (blocks.sizes[block]! - size < MIN_BLOCK) return block;
    const rest = blocks.split(block, size);
    if (block !== this.last) pool.insert(rest);
    else {
      blocks.free[rest] = 1;
      this.last = rest;
    }
    return block;
  }

  /** The block at the end, with pages mapped until it is large enough; a new one where it is in use. */
  private end(size: number): number {
    const { blocks, last } = this;
    const isFree = last !== NONE && blocks.free[last] === 1;
    const missing = Math.max(0, size - (isFree ? blocks.sizes[last]! : 0));
    const added = Math.ceil(missing / this.page) * this.page;
    if (isFree) {
      blocks.sizes[last]! += added;
      blocks.free[last] = 0;
    } else {
      this.last = blocks.make(added, this.mapped, last, NONE);
      if (last !== NONE) blocks.next[last] = this.last;
    }
    this.mapped += added;
    return this.last;
  }

  release(freed: number): void {
    const { blocks, pool, last } = this;
    if (last !== freed && blocks.next[freed] === last && blocks.free[last] === 1) {
      blocks.join(freed, last);
      this.last = freed;
    }
    const block = pool.merged(freed);
    if (this.last !== freed) pool.insert(block);
    else {
      blocks.free[block] = 1;
      this.last = block;
    }
  }
}

/** Peak of reserved bytes with expandable segments; `loaded` as in `reservedPeak`. */
export function expandablePeak(stream: EventStream, loaded = 0): number {
  const { events, bytes } = stream;
  const segments = [new Segment(SMALL_PAGE), new Segment(LARGE_PAGE)] as const;
  const placed = new Int32Array(bytes.length).fill(NONE);
  const temporary = new Uint8Array(bytes.length);
  for (let k = 0; k < loaded; k++) if (events[k]! < 0) temporary[~events[k]!] = 1;
  for (let k = 0; k < events.length; k++) {
    const event = events[k]!;
    const id = event >= 0 ? event : ~event;
    if (k < loaded && temporary[id] === 1) continue;
    const segment = segments[bytes[id]! <= MIB * GRANULE ? 0 : 1];
    if (event >= 0) placed[id] = segment.allocate(Math.max(MIN_BLOCK, bytes[id]! / GRANULE));
    else {
      const block = placed[id]!;
      placed[id] = NONE;
      if (block !== NONE) segment.release(block);
    }
  }
  // Nothing is unmapped unless an allocation fails, so the end is the peak.
  return (segments[0].mapped + segments[1].mapped) * GRANULE;
}
