/**
 * The caching allocator with `expandable_segments:True`: one growing segment for small blocks and one for large ones, mapped
 * page by page, so that free blocks of odd sizes do not pile up; emptying the cache unmaps the pages that are free. Source:
 * c10/cuda/CUDACachingAllocator.cpp (ExpandableSegment, get_free_block, find_expandable_block,
 * try_allocate_expandable_block, map_block, unmap_block).
 */
import { Blocks, FREE, GRANULE, granulesOf, MIN_BLOCK, NONE, UNMAPPED, USED } from "./blocks";
import { Pool } from "./pool";
import { Repeated } from "./repeated";
import { type EventStream, sidesIn } from "./replay";

const MIB = (1 << 20) / GRANULE;
/** Pages mapped at a time: 2 MiB for small blocks, 20 MiB for large ones. */
const SMALL_PAGE = 2 * MIB;
const LARGE_PAGE = 20 * MIB;

/** One segment: mapped blocks and unmapped stretches by address, the last of them without an end. */
class Segment {
  /** In granules. */
  mapped = 0;
  private readonly blocks = new Blocks();
  private readonly pool = new Pool(this.blocks);
  /** Unmapped stretches, by address. */
  private readonly holes: number[] = [];

  constructor(
    private readonly page: number,
    private readonly repeated: Repeated,
  ) {
    const all = this.blocks.make(Number.POSITIVE_INFINITY, 0, NONE, NONE);
    this.blocks.become(all, UNMAPPED);
    this.holes.push(all);
  }

  allocate(size: number): number {
    const { blocks, pool } = this;
    const block = this.best(size) ?? this.expanded(size);
    pool.remove(block);
    blocks.become(block, USED);
    if (blocks.sizeOf(block) - size >= MIN_BLOCK) pool.insert(blocks.split(block, size));
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
      const start = blocks.addressOf(block);
      const first = Math.ceil(start / page) * page;
      const end = Math.floor((start + blocks.sizeOf(block)) / page) * page;
      if (end <= first) continue;
      pool.remove(block);
      const from = first > start ? blocks.split(block, first - start) : block;
      if (from !== block) pool.insert(block);
      if (blocks.sizeOf(from) > end - first) pool.insert(blocks.split(from, end - first));
      blocks.become(from, UNMAPPED);
      this.repeated.changed();
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
    const { blocks } = this;
    const after = blocks.nextOf(block);
    return blocks.sizeOf(block) + (after !== NONE && blocks.is(after, UNMAPPED) ? blocks.sizeOf(after) : 0);
  }

  /** A free block of at least `size`, with pages mapped in the lowest stretch of free and unmapped addresses that has room. */
  private expanded(size: number): number {
    const { blocks } = this;
    let block = this.holes[0]!;
    for (const hole of this.holes) {
      const before = blocks.previousOf(hole);
      block = before !== NONE && blocks.is(before, FREE) ? before : hole;
      if (this.hasRoom(block, size)) break;
    }
    if (blocks.is(block, UNMAPPED)) block = this.map(block, Math.min(blocks.sizeOf(block), size));
    while (blocks.sizeOf(block) < size) {
      const hole = blocks.nextOf(block);
      block = this.map(hole, Math.min(size - blocks.sizeOf(block), blocks.sizeOf(hole)));
    }
    return block;
  }

  private hasRoom(start: number, size: number): boolean {
    const { blocks } = this;
    let room = 0;
    for (let block = start; block !== NONE && !blocks.is(block, USED) && room < size; block = blocks.nextOf(block))
      room += blocks.sizeOf(block);
    return room >= size;
  }

  /** Maps the pages of the first `size` granules of a hole; gives the free block that they become, with its neighbours. */
  private map(hole: number, size: number): number {
    const { blocks, holes, page, pool } = this;
    const added = Math.ceil(size / page) * page;
    const at = holes.indexOf(hole);
    if (added < blocks.sizeOf(hole)) {
      const rest = blocks.split(hole, added);
      blocks.become(rest, UNMAPPED);
      holes[at] = rest;
    } else holes.splice(at, 1);
    this.repeated.changed();
    this.mapped += added;
    const block = pool.merged(hole);
    pool.insert(block);
    return block;
  }

  /** Takes a stretch among the unmapped ones, joined with those it touches. */
  private addHole(made: number): void {
    const { blocks, holes } = this;
    let hole = made;
    const after = blocks.nextOf(hole);
    if (after !== NONE && blocks.is(after, UNMAPPED)) {
      holes.splice(holes.indexOf(after), 1);
      blocks.join(hole, after);
    }
    const before = blocks.previousOf(hole);
    if (before !== NONE && blocks.is(before, UNMAPPED)) {
      holes.splice(holes.indexOf(before), 1);
      blocks.join(before, hole);
      hole = before;
    }
    const at = holes.findIndex((other) => blocks.addressOf(other) > blocks.addressOf(hole));
    holes.splice(at < 0 ? holes.length : at, 0, hole);
  }
}

/** Peak of reserved bytes with expandable segments; `loaded` as in `reservedPeak`. */
export function expandablePeak(stream: EventStream, loaded = 0): number {
  const { events, bytes, sides, emptied = [] } = stream;
  const apart = stream.apart?.size === 0 ? undefined : stream.apart;
  const repeated = new Repeated(stream.steps);
  const count = sidesIn(sides);
  const small = Array.from({ length: count }, () => new Segment(SMALL_PAGE, repeated));
  const large = Array.from({ length: count }, () => new Segment(LARGE_PAGE, repeated));
  const mapped = (): number => [...small, ...large].reduce((sum, segment) => sum + segment.mapped, 0);
  const placed = new Int32Array(bytes.length).fill(NONE);
  const temporary = new Uint8Array(bytes.length);
  for (let k = 0; k < loaded; k++) if (events[k]! < 0) temporary[~events[k]!] = 1;
  let emptyings = 0;
  let beside = 0;
  let peak = 0;
  // Nothing is unmapped otherwise unless an allocation fails, so the peak is where the cache is emptied, or the end.
  const empty = (): void => {
    peak = Math.max(peak, mapped() + beside);
    for (const segment of [...small, ...large]) segment.empty();
  };
  for (let k = 0; k < events.length; k++) {
    for (; emptyings < emptied.length && emptied[emptyings]! <= k; emptyings++) empty();
    const at = repeated.skipped(k);
    if (at > k) {
      k = at - 1;
      continue;
    }
    const event = events[k]!;
    const id = event >= 0 ? event : ~event;
    if (k < loaded && temporary[id] === 1) continue;
    if (apart?.has(id)) {
      empty();
      beside += (event >= 0 ? bytes[id]! : -bytes[id]!) / GRANULE;
      continue;
    }
    const segment = (bytes[id]! <= MIB * GRANULE ? small : large)[sides?.[id] ?? 0]!;
    if (event >= 0) placed[id] = segment.allocate(granulesOf(bytes[id]!));
    else {
      const block = placed[id]!;
      placed[id] = NONE;
      if (block !== NONE) segment.release(block);
    }
  }
  return Math.max(peak, mapped() + beside) * GRANULE;
}
