/**
 * Sizes that there are free blocks of, each with a number for its list, and the smallest of them that is not below a wanted one.
 * Sizes of a small segment or less, which come and go with every block, are bits of a word each; larger ones, of which there are
 * a few dozen, stand in a sorted column.
 */
import { widened } from "../columns";
import { NONE } from "./blocks";

/** Granules of a small segment: sizes up to this are numbers of their own lists. */
const DIRECT = 4096;
const WORD = 32;
const WORDS = DIRECT / WORD + 1;
const GROUPS = Math.ceil(WORDS / WORD);
/** Up to so many sizes are looked through one by one, the largest first; of more, the halves without the wanted one go. */
const SCANNED = 32;

/** Place of the lowest bit that is set. */
function lowest(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}

export class Sizes {
  private readonly bits = new Int32Array(WORDS);
  /** Which words have a bit that is set. */
  private readonly words = new Int32Array(GROUPS);
  /** Larger sizes, ascending, and their lists. */
  private large = new Float64Array(64);
  private lists = new Int32Array(64);
  private count = 0;
  private readonly unused: number[] = [];
  /** Lists that there are numbers for. */
  listCount = DIRECT + 1;

  /** The list of the smallest size that is not below `size`; `NONE` when all are. */
  atLeast(size: number): number {
    if (size > DIRECT) {
      const at = this.place(size);
      return at === this.count ? NONE : this.lists[at]!;
    }
    const word = size >> 5;
    const here = this.bits[word]! & (-1 << (size & 31));
    return here === 0 ? this.beyond(word + 1) : WORD * word + lowest(here);
  }

  /** The list of the smallest size from a word on. */
  private beyond(word: number): number {
    let group = word >> 5;
    let words = group < GROUPS ? this.words[group]! & (-1 << (word & 31)) : 0;
    while (words === 0 && ++group < GROUPS) words = this.words[group]!;
    if (words === 0) return this.count === 0 ? NONE : this.lists[0]!;
    const first = WORD * group + lowest(words);
    return WORD * first + lowest(this.bits[first]!);
  }

  /** The list of a size, which has blocks from now on. */
  enter(size: number): number {
    if (size > DIRECT) return this.enterLarge(size);
    const word = size >> 5;
    this.bits[word]! |= 1 << (size & 31);
    this.words[word >> 5]! |= 1 << (word & 31);
    return size;
  }

  private enterLarge(size: number): number {
    const at = this.place(size);
    if (at < this.count && this.large[at] === size) return this.lists[at]!;
    if (this.count === this.large.length) {
      this.large = widened(this.large, new Float64Array(2 * this.count));
      this.lists = widened(this.lists, new Int32Array(2 * this.count));
    }
    const { large, lists } = this;
    for (let k = this.count++; k > at; k--) {
      large[k] = large[k - 1]!;
      lists[k] = lists[k - 1]!;
    }
    const list = this.unused.pop() ?? this.listCount++;
    this.large[at] = size;
    this.lists[at] = list;
    return list;
  }

  /** A size whose last block is gone. */
  leave(size: number): void {
    if (size <= DIRECT) {
      const word = size >> 5;
      const left = this.bits[word]! & ~(1 << (size & 31));
      this.bits[word] = left;
      if (left === 0) this.words[word >> 5]! &= ~(1 << (word & 31));
      return;
    }
    const at = this.place(size);
    this.unused.push(this.lists[at]!);
    const { large, lists } = this;
    this.count--;
    for (let k = at; k < this.count; k++) {
      large[k] = large[k + 1]!;
      lists[k] = lists[k + 1]!;
    }
  }

  /** Place of the smallest larger size that is not below `size`. */
  private place(size: number): number {
    const { large } = this;
    let low = 0;
    let at = this.count;
    while (at - low > SCANNED) {
      const middle = (low + at) >> 1;
      if (large[middle]! < size) low = middle + 1;
      else at = middle;
    }
    while (at > low && large[at - 1]! >= size) at--;
    return at;
  }
}
