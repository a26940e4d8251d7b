/** Drawing a recording: which tensors are alive at each column of the timeline, and what lies under a point. Pure. */
import type { Lifetimes } from "../../src/evidence/snapshot/lifetimes";
import type { Segment } from "../../src/evidence/snapshot/types";

/** Part of a trace that is shown: entries from, up to but not including. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** A run of tensors of one colour in a column, from the bottom. Bytes. */
export interface Band {
  readonly from: number;
  readonly to: number;
  /** Number of the part, which decides the colour. */
  readonly part: number;
  /** Whether the search found it; everything is found where nothing is searched. */
  readonly found: boolean;
}

export interface Column {
  /** The entry of the column after which most is alive. */
  readonly entry: number;
  readonly bands: readonly Band[];
}

/** What tensors are drawn by. */
export interface Drawn {
  readonly lifetimes: Lifetimes;
  /** Part of each tensor. */
  readonly parts: Uint8Array;
  /** For each stack whether the search finds it; null: nothing is searched. */
  readonly found: Uint8Array | null;
}

/** The fullest entry of a span of entries. */
function fullest(alive: Float64Array, from: number, to: number): number {
  let best = from;
  for (let k = from + 1; k < to; k++) if (alive[k]! > alive[best]!) best = k;
  return best;
}

/** Entries of the columns of a range, each the fullest of its span. */
function columnEntries(alive: Float64Array, { from, to }: Range, columns: number): Int32Array {
  const entries = new Int32Array(Math.min(columns, Math.max(1, to - from)));
  const step = (to - from) / entries.length;
  for (let k = 0; k < entries.length; k++) {
    const first = Math.floor(from + k * step);
    entries[k] = fullest(alive, first, Math.max(first + 1, Math.floor(from + (k + 1) * step)));
  }
  return entries;
}

/** Tensors alive at each of ascending entries, oldest first, told one entry after another. */
function* aliveAlong({ births, deaths }: Lifetimes, entries: Int32Array): Generator<readonly number[]> {
  let alive: number[] = [];
  let next = 0;
  for (const entry of entries) {
    while (next < births.length && births[next]! <= entry) alive.push(next++);
    alive = alive.filter((id) => deaths[id]! > entry);
    yield alive;
  }
}

/** Bands of alive tensors; neighbours of one colour are one. */
function bandsOf(ids: readonly number[], { lifetimes, parts, found }: Drawn): readonly Band[] {
  const bands: { from: number; to: number; part: number; found: boolean }[] = [];
  let at = 0;
  for (const id of ids) {
    const size = lifetimes.sizes[id]!;
    const part = parts[id]!;
    const isFound = found === null || found[lifetimes.stacks[id]!] === 1;
    const last = bands[bands.length - 1];
    if (last !== undefined && last.part === part && last.found === isFound) last.to += size;
    else bands.push({ from: at, to: at + size, part, found: isFound });
    at += size;
  }
  return bands;
}

export function columnsOf(drawn: Drawn, range: Range, columns: number): readonly Column[] {
  const entries = columnEntries(drawn.lifetimes.alive, range, columns);
  const shown: Column[] = [];
  let k = 0;
  for (const ids of aliveAlong(drawn.lifetimes, entries))
    shown.push({ entry: entries[k++]!, bands: bandsOf(ids, drawn) });
  return shown;
}

/** The tensor that lies at a height among those alive; -1: none. */
export function tensorAt(ids: readonly number[], { sizes }: Lifetimes, bytes: number): number {
  let at = 0;
  for (const id of ids) {
    at += sizes[id]!;
    if (bytes < at) return id;
  }
  return -1;
}

/** A segment's blocks as shares of the longest segment, for a row each. */
export interface SegmentRow {
  readonly segment: Segment;
  /** 0 to 1, of the longest. */
  readonly length: number;
  readonly blocks: readonly {
    readonly from: number;
    readonly to: number;
    readonly used: boolean;
    readonly stack: number;
  }[];
}

export function segmentRows(segments: readonly Segment[]): readonly SegmentRow[] {
  const sorted = [...segments].sort((a, b) => b.size - a.size);
  const longest = Math.max(1, ...sorted.slice(0, 1).map(({ size }) => size));
  return sorted.map((segment) => {
    let at = 0;
    const blocks = segment.blocks.map(({ size, state, stack }) => {
      const from = at;
      at += size;
      return { from: from / longest, to: at / longest, used: state !== "free", stack };
    });
    return { segment, length: segment.size / longest, blocks };
  });
}
