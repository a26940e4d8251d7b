/** The blocks that the caching allocator's segments are cut into, in the order of their addresses. */
import { widened } from "../columns";

/** Bytes of the smallest block. Sizes and addresses of blocks are counted in it. */
export const GRANULE = 512;

/** In granules. */
export const MIN_BLOCK = 1;

/** Granules of a request of so many bytes. */
export function granulesOf(bytes: number): number {
  const granules = Math.ceil(bytes * (1 / GRANULE));
  return granules > MIN_BLOCK ? granules : MIN_BLOCK;
}

/** No block: nothing fits, or a neighbour that is not there. */
export const NONE = -1;

/** Columns of `numbers`, by block. */
const NUMBERS = 2;
const ADDRESS = 1;
/** Columns of `links`, by block. */
export const LINKS = 8;
const NEXT = 1;
const STATE = 2;
/** Three columns are the pool's: neighbours among the free blocks of one size, and the list of that size. */
export const BEFORE = 3;
export const AFTER = 4;
export const LIST = 5;

/** What a block is to the allocator. */
export const USED = 0;
export const FREE = 1;
/** A stretch of addresses without memory behind it. */
export const UNMAPPED = 2;
export type BlockState = typeof USED | typeof FREE | typeof UNMAPPED;

/**
 * Blocks of all segments, by number. Addresses run through the segments in the order they were made; the numbers of blocks that
 * were joined to a neighbour are used again. A replay makes hundreds of thousands of blocks: what is asked of one lies together.
 */
export class Blocks {
  private numbers = new Float64Array(NUMBERS * 1024);
  links = new Int32Array(LINKS * 1024);
  /** Blocks there is room for. */
  room = 1024;
  private count = 0;
  /** The number given back last; behind it, in the place of its neighbour, the one before. */
  private unused = NONE;

  make(size: number, address: number, previous: number, next: number): number {
    let block = this.unused;
    if (block === NONE) {
      block = this.count++;
      if (block === this.room) this.grow();
    } else this.unused = this.nextOf(block);
    const { numbers, links } = this;
    numbers[NUMBERS * block] = size;
    numbers[NUMBERS * block + ADDRESS] = address;
    const at = LINKS * block;
    links[at] = previous;
    links[at + NEXT] = next;
    links[at + STATE] = USED;
    return block;
  }

  /** In granules. */
  sizeOf(block: number): number {
    return this.numbers[NUMBERS * block]!;
  }

  /** In granules. */
  addressOf(block: number): number {
    return this.numbers[NUMBERS * block + ADDRESS]!;
  }

  /** The neighbour before a block in its segment, or `NONE`. */
  previousOf(block: number): number {
    return this.links[LINKS * block]!;
  }

  /** The neighbour after a block in its segment, or `NONE`. */
  nextOf(block: number): number {
    return this.links[LINKS * block + NEXT]!;
  }

  is(block: number, state: BlockState): boolean {
    return this.links[LINKS * block + STATE] === state;
  }

  become(block: number, state: BlockState): void {
    this.links[LINKS * block + STATE] = state;
  }

  /** Cuts a block down to `size` granules; the rest is a block of its own after it. */
  split(block: number, size: number): number {
    const after = this.nextOf(block);
    const rest = this.make(this.sizeOf(block) - size, this.addressOf(block) + size, block, after);
    const { numbers, links } = this;
    if (after !== NONE) links[LINKS * after] = rest;
    links[LINKS * block + NEXT] = rest;
    numbers[NUMBERS * block] = size;
    return rest;
  }

  /** Joins a block to the one before it in memory. */
  join(block: number, following: number): void {
    const { numbers, links } = this;
    numbers[NUMBERS * block]! += numbers[NUMBERS * following]!;
    const after = links[LINKS * following + NEXT]!;
    links[LINKS * block + NEXT] = after;
    if (after !== NONE) links[LINKS * after] = block;
    this.drop(following);
  }

  /** A block that is no more, joined to another or given back: its number is used again. */
  drop(block: number): void {
    this.links[LINKS * block + NEXT] = this.unused;
    this.unused = block;
  }

  private grow(): void {
    this.room *= 2;
    this.numbers = widened(this.numbers, new Float64Array(NUMBERS * this.room));
    this.links = widened(this.links, new Int32Array(LINKS * this.room));
  }
}
