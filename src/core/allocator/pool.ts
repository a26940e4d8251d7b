/**
 * The free blocks of the caching allocator's segments in the allocator's order: by size, then by address
 * (c10/cuda/CUDACachingAllocator.cpp, BlockComparatorSize).
 */
import { widened } from "../columns";
import { AFTER, BEFORE, type Blocks, FREE, LINKS, LIST, NONE, USED } from "./blocks";
import { Sizes } from "./sizes";

/** Blocks that are passed on the way to a place before the express lanes are taken. */
const WALKED = 24;
/**
 * Express lanes over a list of blocks: one of sixteen blocks is in the first, of those one of four in the second, and so on
 * (a skip list), so that a place in a list of any length is found in a few steps.
 */
const LANES = 6;

/** How many express lanes a block is in: the same at every run, spread like throws of a die. */
function lanesOf(block: number): number {
  const mixed = (Math.imul(block + 1, 0x9e3779b1) ^ (block >>> 7)) >>> 8;
  if ((mixed & 15) !== 15) return 0;
  let lanes = 1;
  for (let bits = mixed >>> 4; (bits & 3) === 3 && lanes < LANES; bits >>>= 2) lanes++;
  return lanes;
}

/** Free blocks: one list per size, by address. What is freed mostly lies beside what was freed before it. */
export class Pool {
  private readonly sizes = new Sizes();
  /** Per list the block with the lowest address, the one that came last, and where its lanes begin; `NONE`: none. */
  private firsts: Int32Array;
  private latest: Int32Array;
  private starts: Int32Array;
  /** First block of each lane of each list that has or had one. */
  private heads = new Int32Array(LANES).fill(NONE);
  /** The next block in each lane, per block. */
  private lanes = new Int32Array(0);
  /** What `findAhead` found, per lane; `NONE`: the lane's first block is behind the address, or there is none. */
  private readonly ahead = new Int32Array(LANES);
  private startCount = 0;
  /**
   * The block that was freed last stands in no list yet: mostly the next request takes it, or it is joined to what is freed
   * next to it. `NONE`: every free block stands in its list.
   */
  private waiting = NONE;

  constructor(private readonly blocks: Blocks) {
    const room = this.sizes.listCount + 64;
    this.firsts = new Int32Array(room).fill(NONE);
    this.latest = new Int32Array(room).fill(NONE);
    this.starts = new Int32Array(room).fill(NONE);
  }

  private grow(): void {
    const room = 2 * this.firsts.length;
    this.firsts = widened(this.firsts, new Int32Array(room).fill(NONE));
    this.latest = widened(this.latest, new Int32Array(room).fill(NONE));
    this.starts = widened(this.starts, new Int32Array(room).fill(NONE));
  }

  insert(block: number): void {
    this.settle();
    this.blocks.become(block, FREE);
    this.waiting = block;
  }

  /** Puts the block that waits into its list. */
  private settle(): void {
    const block = this.waiting;
    if (block === NONE) return;
    this.waiting = NONE;
    const { blocks } = this;
    const { links } = blocks;
    const list = this.sizes.enter(blocks.sizeOf(block));
    if (list >= this.firsts.length) this.grow();
    const address = blocks.addressOf(block);
    const first = this.firsts[list]!;
    let before = NONE;
    let after = first;
    if (first !== NONE && blocks.addressOf(first) < address) {
      before = this.placeIn(list, address);
      after = links[LINKS * before + AFTER]!;
      links[LINKS * before + AFTER] = block;
    } else this.firsts[list] = block;
    if (after !== NONE) links[LINKS * after + BEFORE] = block;
    this.latest[list] = block;
    const at = LINKS * block;
    links[at + BEFORE] = before;
    links[at + AFTER] = after;
    links[at + LIST] = list;
    const lanes = lanesOf(block);
    if (lanes > 0) this.enterLanes(list, block, lanes);
  }

  /** The last block of a list before an address, which is not before all of them. */
  private placeIn(list: number, address: number): number {
    const { blocks } = this;
    const { links } = blocks;
    let block = this.latest[list]!;
    let left = WALKED;
    while (blocks.addressOf(block) > address && left-- > 0) block = links[LINKS * block + BEFORE]!;
    if (left < 0) {
      block = this.nearest(list, address);
      left = Number.MAX_SAFE_INTEGER;
    }
    for (;;) {
      const after = links[LINKS * block + AFTER]!;
      if (after === NONE || blocks.addressOf(after) > address) return block;
      block = after;
      if (left-- !== 0) continue;
      block = this.nearest(list, address);
      left = Number.MAX_SAFE_INTEGER;
    }
  }

  /** A block of a list before an address, as near as its lanes know one. */
  private nearest(list: number, address: number): number {
    const start = this.starts[list]!;
    if (start !== NONE) this.findAhead(start, address);
    const from = start === NONE ? NONE : this.ahead[0]!;
    return from === NONE ? this.firsts[list]! : from;
  }

  /** Where the lanes of a list begin, made now if it had none. */
  private lanesAt(list: number): number {
    if (this.starts[list] === NONE) {
      this.starts[list] = LANES * this.startCount++;
      if (this.starts[list]! + LANES > this.heads.length)
        this.heads = widened(this.heads, new Int32Array(2 * this.heads.length).fill(NONE));
    }
    return this.starts[list]!;
  }

  private enterLanes(list: number, block: number, count: number): void {
    const { blocks } = this;
    if (this.lanes.length < LANES * blocks.room) this.lanes = widened(this.lanes, new Int32Array(LANES * blocks.room));
    const start = this.lanesAt(list);
    this.findAhead(start, blocks.addressOf(block));
    const { ahead, heads, lanes } = this;
    for (let lane = 0; lane < count; lane++) {
      const from = ahead[lane]!;
      lanes[block * LANES + lane] = from === NONE ? heads[start + lane]! : lanes[from * LANES + lane]!;
      if (from === NONE) heads[start + lane] = block;
      else lanes[from * LANES + lane] = block;
    }
  }

  /** Notes the last block before an address in each lane, from the lane of the longest strides down. */
  private findAhead(start: number, address: number): void {
    const { ahead, blocks, heads, lanes } = this;
    let from = NONE;
    for (let lane = LANES - 1; lane >= 0; lane--) {
      let next = from === NONE ? heads[start + lane]! : lanes[from * LANES + lane]!;
      while (next !== NONE && blocks.addressOf(next) < address) {
        from = next;
        next = lanes[from * LANES + lane]!;
      }
      ahead[lane] = from;
    }
  }

  private leaveLanes(list: number, block: number, count: number): void {
    const start = this.starts[list]!;
    this.findAhead(start, this.blocks.addressOf(block));
    const { ahead, heads, lanes } = this;
    for (let lane = 0; lane < count; lane++) {
      const from = ahead[lane]!;
      if (from === NONE) heads[start + lane] = lanes[block * LANES + lane]!;
      else lanes[from * LANES + lane] = lanes[block * LANES + lane]!;
    }
  }

  remove(block: number): void {
    if (block === this.waiting) {
      this.waiting = NONE;
      return;
    }
    const { blocks } = this;
    const { links } = blocks;
    const at = LINKS * block;
    const before = links[at + BEFORE]!;
    const after = links[at + AFTER]!;
    const list = links[at + LIST]!;
    const lanes = lanesOf(block);
    if (lanes > 0) this.leaveLanes(list, block, lanes);
    if (after !== NONE) links[LINKS * after + BEFORE] = before;
    if (before !== NONE) links[LINKS * before + AFTER] = after;
    else {
      this.firsts[list] = after;
      if (after === NONE) this.sizes.leave(blocks.sizeOf(block));
    }
    if (this.latest[list] === block) this.latest[list] = before === NONE ? after : before;
  }

  /** Lets go of the free blocks that are whole segments; gives how many granules they had. */
  release(): number {
    const { blocks } = this;
    let granules = 0;
    for (let block = this.first(0); block !== NONE; ) {
      const following = this.following(block);
      if (blocks.previousOf(block) === NONE && blocks.nextOf(block) === NONE) {
        granules += blocks.sizeOf(block);
        this.remove(block);
        blocks.drop(block);
      }
      block = following;
    }
    return granules;
  }

  /** Joins a block that is freed with its free neighbours, which leave the pool; gives what became of it. */
  merged(freed: number): number {
    const { blocks } = this;
    const next = blocks.nextOf(freed);
    if (next !== NONE && blocks.is(next, FREE)) {
      this.remove(next);
      blocks.join(freed, next);
    }
    const previous = blocks.previousOf(freed);
    if (previous === NONE || !blocks.is(previous, FREE)) return freed;
    this.remove(previous);
    blocks.join(previous, freed);
    return previous;
  }

  /** The first of the free blocks of at least `size`, in the order by size and address; `NONE` when there is none. */
  first(size: number): number {
    this.settle();
    return this.firstListed(size);
  }

  private firstListed(size: number): number {
    const list = this.sizes.atLeast(size);
    return list === NONE ? NONE : this.firsts[list]!;
  }

  /** The free block that comes after another in that order; `NONE` after the last. */
  following(block: number): number {
    const same = this.blocks.links[LINKS * block + AFTER]!;
    return same === NONE ? this.first(this.blocks.sizeOf(block) + 1) : same;
  }

  /** Takes the first block of at least `size` granules; `NONE` when there is none, or when it has `limit` or more. */
  take(size: number, limit: number): number {
    const block = this.best(size, limit);
    if (block === NONE) return NONE;
    this.remove(block);
    this.blocks.become(block, USED);
    return block;
  }

  /** Whether {@link take} would find a block. What is freed right after it was taken leaves the same free blocks behind. */
  serves(size: number, limit: number): boolean {
    return this.best(size, limit) !== NONE;
  }

  private best(size: number, limit: number): number {
    const { blocks, waiting } = this;
    let block = this.firstListed(size);
    if (waiting !== NONE && blocks.sizeOf(waiting) >= size && (block === NONE || this.precedes(waiting, block)))
      block = waiting;
    return block === NONE || blocks.sizeOf(block) >= limit ? NONE : block;
  }

  /** Whether a block comes before another in the order by size and address. */
  private precedes(one: number, other: number): boolean {
    const { blocks } = this;
    const more = blocks.sizeOf(one) - blocks.sizeOf(other);
    return more < 0 || (more === 0 && blocks.addressOf(one) < blocks.addressOf(other));
  }
}
