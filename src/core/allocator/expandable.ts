/**
 * The caching allocator with `expandable_segments:True`: one growing segment for small blocks and one for large ones,
 * mapped page by page at its end, so that free blocks of odd sizes do not pile up. Source: c10/cuda/
 * CUDACachingAllocator.cpp (ExpandableSegment, try_allocate_expandable_block).
 */
import type { EventStream } from "./replay";

const MIB = 1 << 20;
/** Pages mapped at a time: 2 MiB for small blocks, 20 MiB for large ones. */
const SMALL_PAGE = 2 * MIB;
const LARGE_PAGE = 20 * MIB;
const MIN_BLOCK = 512;

interface Block {
  readonly offset: number;
  size: number;
  previous: Block | null;
  next: Block | null;
  free: boolean;
}

/** One segment whose end moves. */
class Segment {
  mapped = 0;
  private last: Block | null = null;
  private readonly free: Block[] = [];

  constructor(private readonly page: number) {}

  /** Index of the first free block of at least `size` bytes (blocks are ordered by size, then address). */
  private find(size: number, offset: number): number {
    let low = 0;
    let high = this.free.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const block = this.free[middle]!;
      if (block.size < size || (block.size === size && block.offset < offset)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private insert(block: Block): void {
    block.free = true;
    this.free.splice(this.find(block.size, block.offset), 0, block);
  }

  private remove(block: Block): void {
    this.free.splice(this.find(block.size, block.offset), 1);
  }

  allocate(size: number): Block {
    let at = this.find(size, -1);
    // The block at the end could grow, so it counts as larger than any other that fits.
    if (this.free[at] === this.last && at + 1 < this.free.length) at++;
    const block = at < this.free.length ? this.free.splice(at, 1)[0]! : this.grow(size);
    const rest = block.size - size;
    if (rest >= MIN_BLOCK) {
      const remainder: Block = {
        offset: block.offset + size,
        size: rest,
        previous: block,
        next: block.next,
        free: true,
      };
      if (block.next !== null) block.next.previous = remainder;
      else this.last = remainder;
      block.next = remainder;
      block.size = size;
      this.insert(remainder);
    }
    block.free = false;
    return block;
  }

  /** Maps pages at the end until the last block, if it is free, is large enough. */
  private grow(size: number): Block {
    const tail = this.last?.free ? this.last : null;
    const missing = size - (tail?.size ?? 0);
    const added = Math.ceil(missing / this.page) * this.page;
    const end = this.mapped;
    this.mapped += added;
    if (tail !== null) {
      this.remove(tail);
      tail.size += added;
      return tail;
    }
    const block: Block = { offset: end, size: added, previous: this.last, next: null, free: false };
    if (this.last !== null) this.last.next = block;
    this.last = block;
    return block;
  }

  release(freed: Block): void {
    let block = freed;
    const { previous, next } = block;
    if (next?.free) {
      this.remove(next);
      block.size += next.size;
      this.unlink(block, next);
    }
    if (previous?.free) {
      this.remove(previous);
      previous.size += block.size;
      this.unlink(previous, block);
      block = previous;
    }
    this.insert(block);
  }

  private unlink(kept: Block, gone: Block): void {
    kept.next = gone.next;
    if (gone.next !== null) gone.next.previous = kept;
    else this.last = kept;
  }
}

/** Peak of reserved bytes with expandable segments; `loaded` as in `reservedPeak`. */
export function expandablePeak(stream: EventStream, loaded = 0): number {
  const { events, bytes } = stream;
  const segments = [new Segment(SMALL_PAGE), new Segment(LARGE_PAGE)] as const;
  const placed: (Block | undefined)[] = new Array(bytes.length);
  const temporary = new Set<number>();
  for (let k = 0; k < loaded; k++) if (events[k]! < 0) temporary.add(~events[k]!);
  for (let k = 0; k < events.length; k++) {
    const event = events[k]!;
    const id = event >= 0 ? event : ~event;
    if (k < loaded && temporary.has(id)) continue;
    const segment = segments[bytes[id]! <= MIB ? 0 : 1];
    if (event >= 0) placed[id] = segment.allocate(Math.max(MIN_BLOCK, bytes[id]!));
    else {
      const block = placed[id];
      placed[id] = undefined;
      if (block !== undefined) segment.release(block);
    }
  }
  // Nothing is unmapped unless an allocation fails, so the end is the peak.
  return segments[0].mapped + segments[1].mapped;
}
