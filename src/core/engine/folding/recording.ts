/** A stretch of the event stream by the layers it belongs to, and whether layers that stand beside one another do the same. */
import type { Ledger, LedgerState } from "../ledger";
import { layerLabel, NO_LAYER, ordinalOf, repeatOf } from "./label";
import type { Folding } from "./plan";

/** A stretch of events that belong to one layer, or to none. */
export interface Segment {
  readonly label: number;
  readonly backward: boolean;
  readonly start: number;
  readonly end: number;
  /** Blocks allocated in it. */
  readonly births: number;
  /** Local number of the first of them, once they are emitted. */
  first: number;
  /** How layers of its repeat are left out; undefined where none are. */
  folding: Folding | undefined;
}

/** A block of a layer that is there at the end. */
export interface Outliving {
  readonly id: number;
  readonly repeat: number;
  readonly ordinal: number;
  /** The same for what is the same block to another layer of the repeat. */
  readonly name: string;
}

/** Everything derived from the events since `state`. */
export class Recording {
  readonly segments: Segment[] = [];
  /** All events of the ledger, and the bytes of its blocks. */
  readonly events: Int32Array;
  readonly bytes: Float64Array;
  /** Of each block since `state`: the segment that allocated it, and how many that one had allocated before. */
  private readonly segmentOf: Int32Array;
  private readonly ordinalOf: Int32Array;
  private readonly byLayer = new Map<number, Segment>();
  /** Whether a layer was left and entered again in one direction: its blocks have no place of their own then. */
  readonly interleaved: boolean;

  constructor(
    readonly ledger: Ledger,
    readonly state: LedgerState,
    marks: readonly { readonly event: number; readonly label: number }[] = ledger.marks,
    firstMark = state.marks,
    private readonly paired: ReadonlyMap<number, Folding> = new Map(),
  ) {
    this.events = ledger.events;
    this.bytes = ledger.bytes;
    const blocks = ledger.count - state.ids;
    this.segmentOf = new Int32Array(blocks);
    this.ordinalOf = new Int32Array(blocks);
    const seen = new Set<number>();
    let twice = false;
    let label = NO_LAYER;
    let start = state.events;
    const close = (end: number): void => {
      if (end > start) {
        const backward = seen.has(label);
        const segment = { label, backward, start, end, births: this.note(start, end), first: -1, folding: undefined };
        this.segments.push(segment);
        if (label !== NO_LAYER) {
          seen.add(label);
          if (this.byLayer.has(keyOf(label, backward))) twice = true;
          else this.byLayer.set(keyOf(label, backward), segment);
        }
      }
      start = end;
    };
    for (let k = firstMark; k < marks.length; k++) {
      const mark = marks[k]!;
      if (mark.label === label) continue;
      close(mark.event);
      label = mark.label;
    }
    close(this.events.length);
    this.interleaved = twice;
  }

  /** Numbers the blocks of the next segment. */
  private note(start: number, end: number): number {
    const index = this.segments.length;
    let births = 0;
    for (let k = start; k < end; k++) {
      const event = this.events[k]!;
      if (event < 0) continue;
      this.segmentOf[event - this.state.ids] = index;
      this.ordinalOf[event - this.state.ids] = births++;
    }
    return births;
  }

  /** The segment that allocated a block; undefined for blocks of before. */
  home(id: number): Segment | undefined {
    return id < this.state.ids ? undefined : this.segments[this.segmentOf[id - this.state.ids]!];
  }

  /** How many blocks its segment had allocated before this one. */
  ordinal(id: number): number {
    return this.ordinalOf[id - this.state.ids]!;
  }

  segment(label: number, backward: boolean): Segment | undefined {
    return this.byLayer.get(keyOf(label, backward));
  }

  /** Whether ordinals of two repeats mean the same layers: a loop that is run again to recompute what its rounds saved. */
  goTogether(one: number, other: number): boolean {
    if (one === other) return true;
    const [a, b] = [this.paired.get(one), this.paired.get(other)];
    if (a === undefined || b === undefined || a.stack !== b.stack) return false;
    return a.from === b.from && a.to === b.to && a.copies === b.copies;
  }

  /** Whether two layers do the same, blocks named relative to each, and free nothing from outside the repeat. */
  private alike(one: Segment, other: Segment): boolean {
    const { events, bytes } = this;
    const length = one.end - one.start;
    if (other.end - other.start !== length) return false;
    for (let k = 0; k < length; k++) {
      const a = events[one.start + k]!;
      const b = events[other.start + k]!;
      if (a >= 0) {
        if (b < 0 || bytes[a] !== bytes[b]) return false;
        continue;
      }
      if (b >= 0) return false;
      const [from, to] = [this.home(~a), this.home(~b)];
      if (from === undefined || to === undefined || this.ordinal(~a) !== this.ordinal(~b)) return false;
      if (!this.goTogether(repeatOf(from.label), repeatOf(one.label))) return false;
      if (repeatOf(from.label) !== repeatOf(to.label) || from.backward !== to.backward) return false;
      if (awayFrom(from, one) !== awayFrom(to, other)) return false;
    }
    return true;
  }

  /** As `isPeriodic`, and no other layer knows one of those left out in a way of its own. */
  holds(folding: Folding): boolean {
    return this.isPeriodic(folding) && !this.reachesAcross(folding);
  }

  /**
   * Whether a layer that was not compared with its neighbour frees, of what the other side of the copies allocated, anything
   * that the copied one does not free as far away from itself.
   */
  private reachesAcross(folding: Folding): boolean {
    const { repeat, to } = folding;
    const isFar = (home: Segment): boolean => home.label !== NO_LAYER && this.goTogether(repeatOf(home.label), repeat);
    const keysOf = (segment: Segment, wanted: (home: Segment) => boolean): string[] => {
      const keys: string[] = [];
      for (let k = segment.start; k < segment.end; k++) {
        const event = this.events[k]!;
        const home = event >= 0 ? undefined : this.home(~event);
        if (home !== undefined && isFar(home) && wanted(home))
          keys.push(`${repeatOf(home.label)} ${home.backward} ${awayFrom(home, segment)} ${this.ordinal(~event)}`);
      }
      return keys;
    };
    return [false, true].some((backward) => {
      const copied = this.segment(layerLabel(repeat, to), backward);
      const known = new Set(copied === undefined ? [] : keysOf(copied, () => true));
      return this.segments.some(
        (segment) =>
          segment.label !== NO_LAYER &&
          repeatOf(segment.label) === repeat &&
          segment.backward === backward &&
          keysOf(segment, ({ label }) => ordinalOf(label) <= to !== ordinalOf(segment.label) <= to).some(
            (key) => !known.has(key),
          ),
      );
    });
  }

  /** Blocks of layers that are there at the end. */
  outliving(): readonly Outliving[] {
    const found: Outliving[] = [];
    const alive = this.living();
    for (const { label, backward, start, end } of this.segments)
      for (let k = start; k < end && label !== NO_LAYER; k++) {
        const id = this.events[k]!;
        if (id >= 0 && alive[id - this.state.ids] === 1)
          found.push({
            id,
            repeat: repeatOf(label),
            ordinal: ordinalOf(label),
            name: `${backward} ${this.ordinal(id)}`,
          });
      }
    return found;
  }

  /** Which blocks since `state` are there at the end (1). */
  private living(): Uint8Array {
    const alive = new Uint8Array(this.ledger.count - this.state.ids);
    for (let k = this.state.events; k < this.events.length; k++) {
      const event = this.events[k]!;
      if (event >= 0) alive[event - this.state.ids] = 1;
      else if (~event >= this.state.ids) alive[~event - this.state.ids] = 0;
    }
    return alive;
  }

  /** Whether the block that would be copied does what both its neighbours do. */
  isPeriodic(folding: Folding): boolean {
    const length = folding.to - folding.from + 1;
    // A frozen model's layers have a forward only.
    const trained = this.segments.some(({ label, backward }) => backward && repeatOf(label) === folding.repeat);
    for (const backward of trained ? [false, true] : [false]) {
      for (let ordinal = folding.from; ordinal <= folding.to; ordinal++) {
        const own = this.segment(layerLabel(folding.repeat, ordinal), backward);
        // Forward copies follow the block, backward copies precede it.
        const twin = this.segment(layerLabel(folding.repeat, ordinal + (backward ? -length : length)), backward);
        const other = this.segment(layerLabel(folding.repeat, ordinal + (backward ? length : -length)), backward);
        // What does nothing between two forwards, as its neighbours do, has nothing to be copied; copies follow the last of the block.
        const idle = own === undefined && twin === undefined && other === undefined && ordinal !== folding.to;
        if (idle) continue;
        if (own === undefined || twin === undefined || other === undefined) return false;
        if (other.births !== own.births || !this.alike(own, twin)) return false;
        if (folding.kinds && !this.alike(own, other)) return false;
      }
    }
    return true;
  }
}

/** Ordinals from one layer to another. */
export function awayFrom(one: Segment, other: Segment): number {
  return ordinalOf(one.label) - ordinalOf(other.label);
}

function keyOf(label: number, backward: boolean): number {
  return 2 * label + (backward ? 1 : 0);
}
