/**
 * The caching allocator with `expandable_segments:True`: one growing segment for small blocks and one for large ones, mapped
 * page by page, so that free blocks of odd sizes do not pile up; emptying the cache unmaps the pages that are free. Source:
 * c10/cuda/CUDACachingAllocator.cpp (ExpandableSegment, get_free_block, find_expandable_block,
 * try_allocate_expandable_block, map_block, unmap_block).
 */
import { Blocks, GRANULE, NONE, Pool } from "./pool";
import type { EventStream } from "./replay";

const MIB = (1 << 20) / GRANULE;
/** Pages mapped at a time: 2 MiB for small blocks, 20 MiB for large ones. */
const SMALL_PAGE = 2 * MIB;
const LARGE_PAGE = 20 * MIB;
const MIN_BLOCK = 1;
/** What `Blocks.free` says of a stretch of addresses without memory behind it: neither free nor in use. */
const UNMAPPED = 2;

/** One segment: mapped blocks and unmapped stretches by address, the last of them without an end. */
class Segment {
  /** In granules. */
  mapped = 0;
  private readonly blocks = new Blocks();
  private readonly pool = new Pool(this.blocks);
  /** Unmapped stretches, by address. */
  private readonly holes: number[] = [];

  constructor(private readonly page: number) {
    const all = this.blocks.make(Number.POSITIVE_INFINITY, 0, NONE, NONE);
    this.blocks.free[all] = UNMAPPED;
    this.holes.push(all);
  }

  allocate(size: number): number {
    const { blocks, pool } = this;
    const block = this.best(size) ?? this.expanded(size);
    pool.remove(block);
    blocks.free[block] = 0;
    if (blocks.sizes[block]! - size >= MIN_BLOCK) pool.insert(blocks.split(block, size));
    return block;
  }

  release(block: number): void {
    this.pool.insert(this.pool.merged(block));
  }

  /** Unmaps the whole pages of every free block. */
  empty(): void {
    const { blocks, pool, page } = this;
    const free: number[] = [];
    for (let block = pool.first(0); block !== NONE; block = pool.following(block)) free.push(block);
    for (const block of free) {
      const start = blocks.addresses[block]!;
      const first = Math.ceil(start / page) * page;
      const end = Math.floor((start + blocks.sizes[block]!) / page) * page;
      if (end <= first) continue;
      pool.remove(block);
      const from = first > start ? blocks.split(block, first - start) : block;
      if (from !== block) pool.insert(block);
      if (blocks.sizes[from]! > end - first) pool.insert(blocks.split(from, end - first));
      blocks.free[from] = UNMAPPED;
      this.mapped -= end - first;
      this.addHole(from);
    }
  }

  /** The smallest free block that fits, where one that could grow counts with what it could grow by. */
  private best(size: number): number | undefined {
    const { pool } = this;
    let block = pool.first(size);
    if (block === NONE) return undefined;
    for (;;) {
      const next = pool.following(block);
      if (next === NONE || this.growable(next) >= this.growable(block)) return block;
      block = next;
    }
  }

  private growable(block: number): number {
    const { sizes, next, free } = this.blocks;
    const after = next[block]!;
    return sizes[block]! + (after !== NONE && free[after] === UNMAPPED ? sizes[after]! : 0);
  }

  /** A free block of at least `size`, with pages mapped in the lowest stretch of free and unmapped addresses that has room. */
  private expanded(size: number): number {
    const { blocks } = this;
    let block = this.holes[0]!;
    for (const hole of this.holes) {
      const before = blocks.previous[hole]!;
      block = before !== NONE && blocks.free[before] === 1 ? before : hole;
      if (this.hasRoom(block, size)) break;
    }
    if (blocks.free[block] === UNMAPPED) block = this.map(block, Math.min(blocks.sizes[block]!, size));
    while (blocks.sizes[block]! < size) {
      const hole = blocks.next[block]!;
      block = this.map(hole, Math.min(size - blocks.sizes[block]!, blocks.sizes[hole]!));
    }
    return block;
  }

  private hasRoom(start: number, size: number): boolean {
    const { sizes, next, free } = this.blocks;
    let room = 0;
    for (let block = start; block !== NONE && free[block] !== 0 && room < size; block = next[block]!)
      room += sizes[block]!;
    return room >= size;
  }

  /** Maps the pages of the first `size` granules of a hole; gives the free block that they become, with its neighbours. */
  private map(hole: number, size: number): number {
    const { blocks, holes, page, pool } = this;
    const added = Math.ceil(size / page) * page;
    const at = holes.indexOf(hole);
    if (added < blocks.sizes[hole]!) {
      const rest = blocks.split(hole, added);
      blocks.free[rest] = UNMAPPED;
      holes[at] = rest;
    } else holes.splice(at, 1);
    this.mapped += added;
    const block = pool.merged(hole);
    pool.insert(block);
    return block;
  }

  /** Takes a stretch among the unmapped ones, joined with those it touches. */
  private addHole(made: number): void {
    const { blocks, holes } = this;
    const { previous, next, free, addresses } = blocks;
    let hole = made;
    const after = next[hole]!;
    if (after !== NONE && free[after] === UNMAPPED) {
      holes.splice(holes.indexOf(after), 1);
      blocks.join(hole, after);
    }
    const before = previous[hole]!;
    if (before !== NONE && free[before] === UNMAPPED) {
      holes.splice(holes.indexOf(before), 1);
      blocks.join(before, hole);
      hole = before;
    }
    const at = holes.findIndex((other) => addresses[other]! > addresses[hole]!);
    holes.splice(at < 0 ? holes.length : at, 0, hole);
  }
}

/** Peak of reserved bytes with expandable segments; `loaded` as in `reservedPeak`. */
export function expandablePeak(stream: EventStream, loaded = 0): number {
  const { events, bytes, emptied = [], apart } = stream;
  const small = new Segment(SMALL_PAGE);
  const large = new Segment(LARGE_PAGE);
  const placed = new Int32Array(bytes.length).fill(NONE);
  const temporary = new Uint8Array(bytes.length);
  for (let k = 0; k < loaded; k++) if (events[k]! < 0) temporary[~events[k]!] = 1;
  let emptyings = 0;
  let beside = 0;
  let peak = 0;
  // Nothing is unmapped otherwise unless an allocation fails, so the peak is where the cache is emptied, or the end.
  const empty = (): void => {
    peak = Math.max(peak, small.mapped + large.mapped + beside);
    small.empty();
    large.empty();
  };
  for (let k = 0; k < events.length; k++) {
    for (; emptyings < emptied.length && emptied[emptyings]! <= k; emptyings++) empty();
    const event = events[k]!;
    const id = event >= 0 ? event : ~event;
    if (k < loaded && temporary[id] === 1) continue;
    if (apart?.has(id)) {
      empty();
      beside += (event >= 0 ? bytes[id]! : -bytes[id]!) / GRANULE;
      continue;
    }
    const segment = bytes[id]! <= MIB * GRANULE ? small : large;
    if (event >= 0) placed[id] = segment.allocate(Math.max(MIN_BLOCK, bytes[id]! / GRANULE));
    else {
      const block = placed[id]!;
      placed[id] = NONE;
      if (block !== NONE) segment.release(block);
    }
  }
  return Math.max(peak, small.mapped + large.mapped + beside) * GRANULE;
}
