/**
 * Sizes that there are free blocks of, each with a number for its list, and the smallest of them that is not below a wanted one.
 * Sizes of a small segment or less, which come and go with every block, have a bit each; larger ones share theirs with those that
 * are as large but for less than a hundredth, and stand in a chain there, ascending.
 */
import { widened } from "../columns";
import { NONE } from "./blocks";

/** Granules of a small segment: sizes up to this are the numbers of their own lists, and the places of their own bits. */
const DIRECT = 4096;
/** Larger sizes have so many binary digits at least; those with more than the most, which no device has, share one place. */
const LEAST_DIGITS = 13;
const MOST_DIGITS = 32;
/** Digits after the first that tell the place of a larger size. */
const TOLD = 7;
const LARGE = DIRECT + 1;
const CHAINS = (MOST_DIGITS - LEAST_DIGITS + 1) << TOLD;
const WORD = 32;
const WORDS = Math.ceil((LARGE + CHAINS) / WORD);
const GROUPS = Math.ceil(WORDS / WORD);

/** Place of the lowest bit that is set. */
function lowest(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}

/** The chain that a larger size stands in: chains are in the order of the sizes. */
function chainOf(size: number): number {
  if (size >= 2 ** MOST_DIGITS) return CHAINS - 1;
  const digits = 32 - Math.clz32(size);
  return ((digits - LEAST_DIGITS) << TOLD) + (size >>> (digits - 1 - TOLD)) - (1 << TOLD);
}

export class Sizes {
  private readonly bits = new Int32Array(WORDS);
  /** Which words have a bit that is set. */
  private readonly words = new Int32Array(GROUPS);
  /** First list of each chain. */
  private readonly chains = new Int32Array(CHAINS).fill(NONE);
  /** Of each list of a larger size, counted from the first of them: its size, and the list behind it in its chain. */
  private large = new Float64Array(64);
  private following = new Int32Array(64);
  private readonly unused: number[] = [];
  /** Lists that there are numbers for. */
  listCount = LARGE;

  /** The list of the smallest size that is not below `size`; `NONE` when all are. */
  atLeast(size: number): number {
    let place = size;
    if (size > DIRECT) {
      const chain = chainOf(size);
      let list = this.chains[chain]!;
      while (list !== NONE && this.large[list - LARGE]! < size) list = this.following[list - LARGE]!;
      if (list !== NONE) return list;
      place = LARGE + chain + 1;
    }
    const word = place >> 5;
    const here = this.bits[word]! & (-1 << (place & 31));
    return here === 0 ? this.beyond(word + 1) : this.firstAt(WORD * word + lowest(here));
  }

  /** The list of the smallest size from a word on. */
  private beyond(word: number): number {
    let group = word >> 5;
    let words = group < GROUPS ? this.words[group]! & (-1 << (word & 31)) : 0;
    while (words === 0 && ++group < GROUPS) words = this.words[group]!;
    if (words === 0) return NONE;
    const first = WORD * group + lowest(words);
    return this.firstAt(WORD * first + lowest(this.bits[first]!));
  }

  /** The list of the smallest size at a place that has one. */
  private firstAt(place: number): number {
    return place < LARGE ? place : this.chains[place - LARGE]!;
  }

  /** The list of a size, which has blocks from now on. */
  enter(size: number): number {
    if (size <= DIRECT) {
      this.mark(size);
      return size;
    }
    const chain = chainOf(size);
    let before = NONE;
    let list = this.chains[chain]!;
    while (list !== NONE && this.large[list - LARGE]! < size) {
      before = list;
      list = this.following[list - LARGE]!;
    }
    if (list !== NONE && this.large[list - LARGE] === size) return list;
    const made = this.unused.pop() ?? this.newList();
    this.large[made - LARGE] = size;
    this.following[made - LARGE] = list;
    if (before === NONE) {
      this.chains[chain] = made;
      this.mark(LARGE + chain);
    } else this.following[before - LARGE] = made;
    return made;
  }

  /** A size whose last block is gone. */
  leave(size: number): void {
    if (size <= DIRECT) {
      this.unmark(size);
      return;
    }
    const chain = chainOf(size);
    let before = NONE;
    let list = this.chains[chain]!;
    while (this.large[list - LARGE] !== size) {
      before = list;
      list = this.following[list - LARGE]!;
    }
    const after = this.following[list - LARGE]!;
    this.unused.push(list);
    if (before !== NONE) this.following[before - LARGE] = after;
    else {
      this.chains[chain] = after;
      if (after === NONE) this.unmark(LARGE + chain);
    }
  }

  private mark(place: number): void {
    const word = place >> 5;
    this.bits[word]! |= 1 << (place & 31);
    this.words[word >> 5]! |= 1 << (word & 31);
  }

  private unmark(place: number): void {
    const word = place >> 5;
    const left = this.bits[word]! & ~(1 << (place & 31));
    this.bits[word] = left;
    if (left === 0) this.words[word >> 5]! &= ~(1 << (word & 31));
  }

  private newList(): number {
    const list = this.listCount++;
    const room = this.large.length;
    if (list - LARGE === room) {
      this.large = widened(this.large, new Float64Array(2 * room));
      this.following = widened(this.following, new Int32Array(2 * room));
    }
    return list;
  }
}
