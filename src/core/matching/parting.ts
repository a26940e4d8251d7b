/**
 * Where two event streams of one run part: what PyTorch allocated on a device that is not there, beside the estimate's own events.
 * Blocks are compared by their sizes, in the order they are made; what both have is also compared by when it goes.
 */
import type { Ledger } from "../engine/ledger";

/** A block of a stream. */
export interface Block {
  /** Rounded up to 512. */
  readonly bytes: number;
  readonly phase: string;
  readonly operator: string;
  /** Path of the module it was made in; empty: none. */
  readonly scope: string;
  /** `file:line` of the person's own code; empty: not known. */
  readonly place: string;
}

/** Blocks by id; `id` in the events allocates one, `~id` frees it. */
export interface Stream {
  readonly blocks: readonly Block[];
  readonly events: ArrayLike<number>;
}

/** What parts first. */
export interface Parting {
  /** `before`: alive when the first forward begins; `made`: only one side has it, or with another size; `kept`: one side frees it sooner. */
  readonly kind: "before" | "made" | "kept";
  /** PyTorch's block; null: the estimate alone has one here. */
  readonly measured: Block | null;
  readonly estimated: Block | null;
  /** Bytes that PyTorch has more by this. */
  readonly bytes: number;
}

/** Blocks below this share of the larger peak are left aside: counters, norms, scalars that a trainer logs. */
const SHARE = 1e-5;
const LEAST_BYTES = 4096;
/** Blocks in a row that must be alike before streams that parted count as together again, and how far ahead that is looked for. */
const ALIKE = 6;
const AHEAD = 200;

/** The events of a simulation as a stream. */
export function streamOf(ledger: Ledger): Stream {
  const { events, phaseList } = ledger;
  const blocks: Block[] = [];
  let at = 0;
  events.forEach((id, k) => {
    while (at + 1 < phaseList.length && phaseList[at + 1]!.firstEvent <= k) at++;
    if (id < 0) return;
    const { operator, scope } = ledger.labelOf(id);
    blocks[id] = { bytes: ledger.sizeOf(id), phase: phaseList[at]!.phase, operator, scope, place: "" };
  });
  return { blocks, events };
}

/** A stream from its first forward on. */
interface Window {
  /** Ids alive when it begins. */
  readonly before: readonly number[];
  /** Ids made later that are large enough to count, in order. */
  readonly made: readonly number[];
  /** How many of `made` there were when a block was freed; absent: never. By id. */
  readonly freed: ReadonlyMap<number, number>;
}

function windowOf({ blocks, events }: Stream, floor: number): Window {
  const before = new Set<number>();
  const made: number[] = [];
  const freed = new Map<number, number>();
  let begun = false;
  for (let k = 0; k < events.length; k++) {
    const id = events[k]!;
    if (id < 0) {
      if (!begun) before.delete(~id);
      else freed.set(~id, made.length);
      continue;
    }
    const block = blocks[id];
    if (block === undefined) continue;
    begun ||= block.phase === "forward";
    if (block.bytes < floor) continue;
    if (begun) made.push(id);
    else before.add(id);
  }
  return { before: [...before], made, freed };
}

function peakOf({ blocks, events }: Stream): number {
  let live = 0;
  let peak = 0;
  for (let k = 0; k < events.length; k++) {
    const id = events[k]!;
    live += id >= 0 ? (blocks[id]?.bytes ?? 0) : -(blocks[~id]?.bytes ?? 0);
    peak = Math.max(peak, live);
  }
  return peak;
}

/** The largest block of `ids` that has no counterpart of its size among `others`. */
function unmatched(ids: readonly number[], of: Stream, others: readonly number[], other: Stream): Block | null {
  const counts = new Map<number, number>();
  for (const id of others) {
    const { bytes } = other.blocks[id]!;
    counts.set(bytes, (counts.get(bytes) ?? 0) + 1);
  }
  let largest: Block | null = null;
  for (const id of ids) {
    const block = of.blocks[id]!;
    const left = counts.get(block.bytes) ?? 0;
    if (left > 0) counts.set(block.bytes, left - 1);
    else if (largest === null || block.bytes > largest.bytes) largest = block;
  }
  return largest;
}

/** How many blocks each side has that the other has not, where the streams are together again soonest. */
function resumed(a: readonly number[], b: readonly number[], i: number, j: number): readonly [number, number] {
  for (let skipped = 1; skipped <= AHEAD; skipped++)
    for (let left = 0; left <= skipped; left++) {
      const [x, y] = [i + left, j + skipped - left];
      let alike = 0;
      while (alike < ALIKE && a[x + alike] === b[y + alike] && a[x + alike] !== undefined) alike++;
      if (alike === ALIKE || (x + alike >= a.length && y + alike >= b.length)) return [left, skipped - left];
    }
  return [1, 1];
}

/**
 * Where blocks that one side alone has begin: among blocks of one size, the last place that explains most operators. Sizes alone would name
 * the last of them.
 *
 * @param parted the first place where sizes differ
 * @param count how many blocks the longer side has more
 */
function insertedAt(longer: readonly Block[], shorter: readonly Block[], parted: number, count: number): number {
  const same = (i: number, j: number): number => (longer[i]?.operator === shorter[j]?.operator ? 1 : 0);
  const { bytes } = longer[parted]!;
  let [best, score, most] = [parted, 0, 0];
  for (let at = parted - 1; at >= Math.max(0, parted - AHEAD); at--) {
    // Were they put in here, what follows stood so much earlier on the other side.
    if (longer[at]!.bytes !== bytes || longer[at + count]?.bytes !== shorter[at]!.bytes) break;
    score += same(at + count, at) - same(at, at);
    if (score > most) [best, most] = [at, score];
  }
  return best;
}

/** Where the streams part first; null where they do not. */
export function partingOf(measured: Stream, estimated: Stream): Parting | null {
  const floor = Math.max(LEAST_BYTES, Math.max(peakOf(measured), peakOf(estimated)) * SHARE);
  const [here, there] = [windowOf(measured, floor), windowOf(estimated, floor)];
  const more = unmatched(here.before, measured, there.before, estimated);
  const less = unmatched(there.before, estimated, here.before, measured);
  if (more !== null || less !== null)
    return { kind: "before", measured: more, estimated: less, bytes: (more?.bytes ?? 0) - (less?.bytes ?? 0) };
  const sizes = ({ blocks }: Stream, ids: readonly number[]): number[] => ids.map((id) => blocks[id]!.bytes);
  const [a, b] = [sizes(measured, here.made), sizes(estimated, there.made)];
  let alike = 0;
  while (alike < a.length && a[alike] === b[alike]) alike++;
  const kept = partedByLife(measured, estimated, here, there, alike);
  if (kept !== null) return kept;
  // A run that is cut off after its last step has freed and made no more than that: the estimate may go on.
  if (alike === a.length) return null;
  const [left, right] = resumed(a, b, alike, alike);
  const blocks = (of: Stream, ids: readonly number[]) => ids.map((id) => of.blocks[id]!);
  const [ours, its] = [blocks(measured, here.made), blocks(estimated, there.made)];
  const at =
    right === 0 ? insertedAt(ours, its, alike, left) : left === 0 ? insertedAt(its, ours, alike, right) : alike;
  const mine = left > 0 ? ours[at]! : null;
  const theirs = right > 0 ? (its[at] ?? null) : null;
  return { kind: "made", measured: mine, estimated: theirs, bytes: (mine?.bytes ?? 0) - (theirs?.bytes ?? 0) };
}

/** The first of the blocks both have that one side frees before another block is made and the other side does not. */
function partedByLife(measured: Stream, estimated: Stream, here: Window, there: Window, alike: number): Parting | null {
  let first: { readonly at: number; readonly parting: Parting } | null = null;
  for (let k = 0; k < alike; k++) {
    const [mine, theirs] = [here.made[k]!, there.made[k]!];
    const [one, other] = [here.freed.get(mine) ?? Infinity, there.freed.get(theirs) ?? Infinity];
    const at = Math.min(one, other);
    if (one === other || at >= alike || (first !== null && first.at <= at)) continue;
    const [block, counterpart] = [measured.blocks[mine]!, estimated.blocks[theirs]!];
    const bytes = one > other ? block.bytes : -block.bytes;
    first = { at, parting: { kind: "kept", measured: block, estimated: counterpart, bytes } };
  }
  return first?.parting ?? null;
}
