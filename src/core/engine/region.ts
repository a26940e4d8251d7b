/**
 * The events of one micro-batch as a script that can be played again: the middle layers of a deep model are simulated
 * once and repeated, and a second step that does the same as the first is copied.
 *
 * Nothing is approximated: a copy is made only when the neighbouring layers produced the same events, with every freed
 * block named relative to the layer that frees it. Where they did not, the region is left as it was simulated.
 */
import { widened } from "../columns";
import type { Ledger, LedgerState, Script } from "./ledger";
import { Tensor } from "./tensor";

/** Which layers of a repeat were run, and where the missing ones belong. Ordinals count the layers that were run. */
export interface Folding {
  /** Number of the repeat within the graph's execution. */
  readonly repeat: number;
  /** Index of the repeat's first layer in the model. */
  readonly first: number;
  /** First and last ordinal of the block of layers that is copied. */
  readonly from: number;
  readonly to: number;
  /** Blocks left out after `to`. */
  readonly copies: number;
  /** Whether layers of several kinds are among those left out: both neighbours of the block must do the same then. */
  readonly kinds?: boolean;
  /** Whether the irregular end comes right after the block. */
  readonly beforeEnd?: boolean;
}

/**
 * How layers are left out, in the order of the attempts: as many as can be, up to the last one, which mostly allocates what
 * the others do; also those of another kind, which often do, too (a window of attention changes the mask, not its size);
 * only of the same kind; none.
 */
export const FOLDS = ["up-to-last", "any-kind", "same-kind", "none"] as const;
export type Fold = (typeof FOLDS)[number];

/** The attempt that makes sense after one whose foldings did not hold; null when all layers were run. */
export function nextFold(fold: Fold, foldings: readonly Folding[]): Fold | null {
  if (fold === "none") return null;
  if (fold === "up-to-last" && foldings.some(({ beforeEnd }) => beforeEnd)) return "any-kind";
  return fold !== "same-kind" && foldings.some(({ kinds }) => kinds) ? "same-kind" : "none";
}

/** Layers in the stream: a repeat's number and the ordinal of the layer within it. */
export const NO_LAYER = -1;
const REPEAT = 65536;

export function layerLabel(repeat: number, ordinal: number): number {
  return repeat * REPEAT + ordinal;
}

/** Longest period of a layer pattern that is looked for. */
const LONGEST_PERIOD = 6;

/** Ordinals of the block that is copied, and how often. */
export type FoldingPlan = Pick<Folding, "from" | "to" | "copies" | "kinds" | "beforeEnd">;

/** How many layers a plan leaves out. */
export function leftOut(plan: FoldingPlan | null): number {
  return plan === null ? 0 : plan.copies * (plan.to - plan.from + 1);
}

/** Regular layers that are run before the one that is copied, and after its copies, unless more are asked for. */
const RUN_BESIDE = 2;

/**
 * Finds the longest periodic run of layers and how much of it can be left out: two blocks before the one that is copied
 * (the first sees the irregular start) and two after it (the last sees the irregular end) are run.
 *
 * @param upToLast only the block that sees the irregular end is run after the copies
 * @returns ordinals of the template block and the number of copies, or null when nothing is gained
 */
export function planFolding(
  signatures: readonly string[],
  upToLast = false,
  runBeside = RUN_BESIDE,
): FoldingPlan | null {
  const beside = runBeside + 1 + (upToLast ? 1 : runBeside);
  const count = signatures.length;
  let best: FoldingPlan | null = null;
  for (let period = 1; period <= LONGEST_PERIOD; period++) {
    for (let start = 0; start + period < count; ) {
      let end = start + period;
      while (end < count && signatures[end] === signatures[end - period]) end++;
      const copies = Math.floor((end - start) / period) - beside;
      if (copies > 0 && copies * period > (best === null ? 0 : best.copies * (best.to - best.from + 1)))
        best = {
          from: start + runBeside * period,
          to: start + (runBeside + 1) * period - 1,
          copies,
          ...(upToLast ? { beforeEnd: true } : {}),
        };
      start = end > start + period ? end - period + 1 : start + 1;
    }
  }
  return best;
}

/**
 * As `planFolding` with one layer as the period, for runs of layers that are alike but for their kind. The layers that are
 * run next to the copied one have, with it, every kind of those left out, so that comparing the three settles it.
 */
export function planAcrossKinds(
  signatures: readonly string[],
  kinds: readonly (string | null)[],
  runBeside = RUN_BESIDE,
): FoldingPlan | null {
  let best: FoldingPlan | null = null;
  for (let start = 0; start < signatures.length; ) {
    let end = start + 1;
    while (end < signatures.length && signatures[end] === signatures[start]) end++;
    const found = new Set(kinds.slice(start, end));
    for (let from = start + runBeside; found.size > 1 && from < end - runBeside; from++)
      for (let after = end - runBeside; after > from + 1 + (best?.copies ?? 0); after--)
        if (new Set([kinds[from - 1], kinds[from], kinds[after]]).size === found.size) {
          best = { from, to: from, copies: after - from - 1, kinds: true };
          break;
        }
    start = end;
  }
  return best;
}

/** A stretch of events that belong to one layer, or to none. */
interface Segment {
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

export interface Region {
  readonly script: Script;
  /** Gradients that exist afterwards, by the local block that they are in. */
  readonly gradients: readonly { readonly leaf: Tensor; readonly local: number }[];
  /**
   * The same micro-batch when gradients exist already: what a parameter took over is added to its gradient and freed on
   * the spot, what was made to be a gradient is not made.
   */
  repeated(): Script;
}

/** Finds the parameter that is to another layer what `leaf` is to its own. */
export type Counterpart = (leaf: Tensor, layer: number) => Tensor | undefined;

/** Numbers that grow at the end. */
class Numbers {
  private room: Int32Array;
  length = 0;

  /** @param expected how many there will be, as far as it is known */
  constructor(expected: number) {
    this.room = new Int32Array(Math.max(1, expected));
  }

  push(value: number): void {
    if (this.length === this.room.length) this.room = widened(this.room, new Int32Array(2 * this.length));
    this.room[this.length++] = value;
  }

  at(index: number): number {
    return this.room[index]!;
  }

  set(index: number, value: number): void {
    this.room[index] = value;
  }

  values(): Int32Array {
    return this.length === this.room.length ? this.room : this.room.slice(0, this.length);
  }
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
    return a !== undefined && b !== undefined && a.from === b.from && a.to === b.to && a.copies === b.copies;
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
          keysOf(segment, ({ label }) => label % REPEAT <= to !== segment.label % REPEAT <= to).some(
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
          found.push({ id, repeat: repeatOf(label), ordinal: label % REPEAT, name: `${backward} ${this.ordinal(id)}` });
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
        if (own === undefined || twin === undefined || other === undefined) return false;
        if (other.births !== own.births || !this.alike(own, twin)) return false;
        if (folding.kinds && !this.alike(own, other)) return false;
      }
    }
    return true;
  }
}

/** Ordinals from one layer to another. */
function awayFrom(one: Segment, other: Segment): number {
  return (one.label % REPEAT) - (other.label % REPEAT);
}

function keyOf(label: number, backward: boolean): number {
  return 2 * label + (backward ? 1 : 0);
}

function repeatOf(label: number): number {
  return Math.floor(label / REPEAT);
}

/**
 * Turns the events since `state` into a region, with the layers left out by `foldings` put back; null when a folding
 * does not hold.
 */
export function recordRegion(
  ledger: Ledger,
  state: LedgerState,
  foldings: readonly Folding[],
  trained: readonly Tensor[],
  counterpart: Counterpart,
): Region | null {
  const recording = new Recording(ledger, state);
  const active = foldings.filter((folding) => folding.copies > 0);
  if (active.length > 0 && recording.interleaved) return null;
  if (!active.every((folding) => recording.isPeriodic(folding))) return null;
  return new Unroller(recording, active, counterpart, trained).run(trained);
}

/** Events and blocks of all segments once the missing layers are back. */
function unrolledLength(segments: readonly Segment[]): readonly [events: number, blocks: number] {
  let [events, blocks] = [0, 0];
  for (const { label, folding, start, end, births } of segments) {
    const copied = folding !== undefined && label % REPEAT >= folding.from && label % REPEAT <= folding.to;
    const times = copied ? 1 + folding.copies : 1;
    events += times * (end - start);
    blocks += times * births;
  }
  return [events, blocks];
}

/** Local numbers of the first block of each layer of a repeat once the missing ones are back, by direction. */
type Firsts = readonly [Int32Array, Int32Array];

/** What a layer's frees name, relative to it, for every event of its segment. */
interface Frees {
  /** Layers from the one that allocated to the one that frees. */
  readonly away: Int32Array;
  /** Place in `firsts` of where the blocks of the allocating layers begin. */
  readonly home: Uint8Array;
  readonly firsts: Int32Array[];
  readonly ordinal: Int32Array;
}

export class Unroller {
  private readonly events: Numbers;
  /** The block of the ledger that each local block repeats. */
  private readonly templates: Numbers;
  private readonly phases: Script["phases"][number][] = [];
  private readonly gradients: { leaf: Tensor; local: number }[] = [];
  /** Where each event since the state stands in the script. */
  private readonly places: Int32Array;
  /** Where the script frees blocks of the ledger. */
  private readonly foreign: number[] = [];
  private readonly firsts = new Map<number, Firsts>();
  private readonly frees = new Map<Segment, Frees>();
  /** Gradients taken over, by the event after which that happened, and whether there are any after an event. */
  private readonly taken = new Map<number, number[]>();
  private readonly isTaken: Uint8Array;
  /** Where the script hands a block over as a gradient: after so many events, in order. */
  private readonly handed: { readonly at: number; readonly local: number }[] = [];
  /** Whether a block was allocated only to be a gradient, by id. */
  private readonly made: Uint8Array;

  constructor(
    private readonly recording: Recording,
    foldings: readonly Folding[],
    private readonly counterpart: Counterpart,
    trained: readonly Tensor[],
    /** Blocks of before that are freed in place of one, by event. */
    private readonly instead: ReadonlyMap<number, readonly number[]> = new Map(),
  ) {
    const { ledger, state } = recording;
    const kept = new Set<number>();
    for (const { grad } of trained) if (grad !== null && grad.storage.id >= state.ids) kept.add(grad.storage.id);
    this.places = new Int32Array(recording.events.length - state.events);
    this.made = new Uint8Array(ledger.count);
    for (const id of kept) this.made[id] = 1;
    this.isTaken = new Uint8Array(recording.events.length);
    // Gradients of several parameters may be parts of one block (of what was put together): it goes with the last of them.
    const last = new Map(ledger.takeovers.slice(state.takeovers).map(({ event, id }) => [id, event]));
    for (const [id, event] of last) {
      if (!kept.has(id)) continue;
      this.made[id] = 0;
      this.isTaken[event - 1] = 1;
      const after = this.taken.get(event - 1);
      if (after === undefined) this.taken.set(event - 1, [id]);
      else after.push(id);
    }
    const byRepeat = new Map(foldings.map((folding) => [folding.repeat, folding]));
    for (const segment of recording.segments)
      if (segment.label !== NO_LAYER) segment.folding = byRepeat.get(repeatOf(segment.label));
    const [events, blocks] = unrolledLength(recording.segments);
    this.events = new Numbers(events);
    this.templates = new Numbers(blocks);
    for (const folding of foldings) {
      const labels = recording.segments.filter(({ label }) => label !== NO_LAYER && repeatOf(label) === folding.repeat);
      const last = Math.max(...labels.map(({ label }) => label % REPEAT));
      const count = this.place(folding, last, 0) + 1;
      this.firsts.set(folding.repeat, [new Int32Array(count), new Int32Array(count)]);
    }
  }

  run(trained: readonly Tensor[]): Region | null {
    const { recording } = this;
    const { ledger, state } = recording;
    let phase = state.phases;
    const enterPhases = (event: number): void => {
      while (phase < ledger.phaseList.length && ledger.phaseList[phase]!.firstEvent <= event)
        this.phases.push({ phase: ledger.phaseList[phase++]!.phase, at: this.events.length });
    };
    for (const segment of recording.segments) {
      const { folding } = segment;
      const ordinal = segment.label % REPEAT;
      if (folding !== undefined && segment.backward && ordinal === folding.to)
        for (let copy = folding.copies; copy >= 1; copy--) this.copyBlock(folding, copy, true);
      this.original(segment, enterPhases);
      if (folding !== undefined && !segment.backward && ordinal === folding.to)
        for (let copy = 1; copy <= folding.copies; copy++) this.copyBlock(folding, copy, false);
    }
    enterPhases(ledger.eventCount);
    for (const leaf of trained) if (!this.gradient(leaf)) return null;
    return this.finish();
  }

  /** Where an event stands among those of the script; the end for the one that would come next. */
  placeOf(event: number): number {
    return this.places[event - this.recording.state.events] ?? this.events.length;
  }

  /** The script's number of a block that was simulated, or of what it is to a copy of its layer. */
  localOf(id: number, copy = 0): number {
    const home = this.recording.home(id);
    return home === undefined ? -1 : this.resolve(id, home, copy);
  }

  private finish(): Region {
    const locals = this.templates.length;
    for (const at of this.foreign) this.events.set(at, this.events.at(at) - locals);
    const { ledger, bytes } = this.recording;
    const events = this.events.values();
    const sizes = new Float64Array(locals);
    const labels = new Int32Array(locals);
    for (let local = 0; local < locals; local++) {
      const template = this.templates.at(local);
      sizes[local] = bytes[template]!;
      labels[local] = ledger.labelIndexOf(template);
    }
    const script: Script = { events, bytes: sizes, labels, phases: this.phases };
    const { gradients, handed, made, templates } = this;
    let repeated: Script | undefined;
    return {
      script,
      gradients,
      repeated() {
        repeated ??= accumulating(script, (local) => made[templates.at(local)] === 1, handed);
        return repeated;
      },
    };
  }

  /** Ordinal of a layer once the missing ones are back. */
  private place(folding: Folding, ordinal: number, copy: number): number {
    const length = folding.to - folding.from + 1;
    return ordinal <= folding.to ? ordinal + copy * length : ordinal + folding.copies * length;
  }

  /** Emits a segment as it was simulated. */
  private original(segment: Segment, enterPhases: (event: number) => void): void {
    const { recording, events, templates } = this;
    const { folding } = segment;
    const here = folding === undefined ? 0 : this.place(folding, segment.label % REPEAT, 0);
    segment.first = templates.length;
    if (folding !== undefined) this.firsts.get(folding.repeat)![segment.backward ? 1 : 0][here] = segment.first;
    for (let k = segment.start; k < segment.end; k++) {
      enterPhases(k);
      this.places[k - recording.state.events] = events.length;
      const event = recording.events[k]!;
      if (event >= 0) {
        events.push(templates.length);
        templates.push(event);
        this.takeOver(k, 0);
        continue;
      }
      const home = recording.home(~event);
      const owner = home?.folding;
      if (home === undefined) {
        for (const freed of this.instead.get(k) ?? [~event]) {
          this.foreign.push(events.length);
          events.push(~freed);
        }
      } else if (owner === undefined) events.push(~(home.first + recording.ordinal(~event)));
      else if (folding !== undefined && recording.goTogether(owner.repeat, folding.repeat)) {
        const place = here + awayFrom(home, segment);
        const first = this.firsts.get(owner.repeat)![home.backward ? 1 : 0][place]!;
        events.push(~(first + recording.ordinal(~event)));
      } else {
        const next = this.outside(owner, home, k, segment.end);
        for (; k < next - 1; k++) {
          this.takeOver(k, 0);
          this.places[k + 1 - recording.state.events] = events.length - 1;
        }
      }
      this.takeOver(k, 0);
    }
    // Gradients of the layers left out may be taken over outside all layers, too.
    if (segment.label !== NO_LAYER) return;
    for (let k = segment.start; k < segment.end; k++)
      for (const id of this.taken.get(k) ?? []) {
        const home = this.recording.home(id)!;
        const of = home.folding;
        const ordinal = home.label % REPEAT;
        if (of === undefined || ordinal < of.from || ordinal > of.to) continue;
        for (let copy = 1; copy <= of.copies; copy++)
          this.handed.push({ at: events.length, local: this.resolve(id, home, copy) });
      }
  }

  /** Notes the gradients that parameters took over after event `event` of a segment. */
  private takeOver(event: number, copy: number): void {
    if (this.isTaken[event] !== 1) return;
    for (const id of this.taken.get(event)!) {
      const home = this.recording.home(id)!;
      this.handed.push({ at: this.events.length, local: this.resolve(id, home, copy) });
    }
  }

  /**
   * Frees, from outside the layers, what one layer allocated, or all those of the block that is copied; the copies' blocks go
   * right after.
   */
  private outside(folding: Folding, layer: Segment, start: number, limit: number): number {
    const { recording, events } = this;
    const isCopied = ({ label, folding: own }: Segment): boolean =>
      own === folding && label % REPEAT >= folding.from && label % REPEAT <= folding.to;
    const copied = isCopied(layer);
    const freed: number[] = [];
    let k = start;
    for (; k < limit; k++) {
      const event = recording.events[k]!;
      const home = event >= 0 ? undefined : recording.home(~event);
      if (home === undefined || (copied ? !isCopied(home) : home.label !== layer.label)) break;
      freed.push(~event);
    }
    for (let copy = 0; copy <= (copied ? folding.copies : 0); copy++)
      for (const id of freed) events.push(~this.resolve(id, recording.home(id)!, copy));
    return k;
  }

  /** Local number of a block, or of what it is to a copy of its layer. */
  private resolve(id: number, home: Segment, copy: number): number {
    const { folding } = home;
    const ordinal = this.recording.ordinal(id);
    if (folding === undefined) return home.first + ordinal;
    const place = this.place(folding, home.label % REPEAT, copy);
    return this.firsts.get(folding.repeat)![home.backward ? 1 : 0][place]! + ordinal;
  }

  /** Emits one more block of layers after the template block, `copy` blocks further on. */
  private copyBlock(folding: Folding, copy: number, backward: boolean): void {
    const { from, to } = folding;
    for (let k = 0; k <= to - from; k++) this.copyLayer(folding, backward ? to - k : from + k, copy, backward);
  }

  private copyLayer(folding: Folding, ordinal: number, copy: number, backward: boolean): void {
    const { recording, events, templates } = this;
    const segment = recording.segment(layerLabel(folding.repeat, ordinal), backward)!;
    const frees = this.freesOf(segment);
    const here = this.place(folding, ordinal, copy);
    const firsts = this.firsts.get(folding.repeat)!;
    firsts[backward ? 1 : 0][here] = templates.length;
    for (let k = segment.start; k < segment.end; k++) {
      const event = recording.events[k]!;
      if (event >= 0) {
        events.push(templates.length);
        templates.push(event);
      } else {
        const index = k - segment.start;
        const first = frees.firsts[frees.home[index]!]![here + frees.away[index]!]!;
        events.push(~(first + frees.ordinal[index]!));
      }
      this.takeOver(k, copy);
    }
  }

  private freesOf(segment: Segment): Frees {
    let frees = this.frees.get(segment);
    if (frees !== undefined) return frees;
    const { recording } = this;
    const length = segment.end - segment.start;
    frees = { away: new Int32Array(length), home: new Uint8Array(length), firsts: [], ordinal: new Int32Array(length) };
    for (let index = 0; index < length; index++) {
      const event = recording.events[segment.start + index]!;
      if (event >= 0) continue;
      const home = recording.home(~event)!;
      const firsts = this.firsts.get(repeatOf(home.label))![home.backward ? 1 : 0];
      const known = frees.firsts.indexOf(firsts);
      frees.away[index] = awayFrom(home, segment);
      frees.home[index] = known < 0 ? frees.firsts.push(firsts) - 1 : known;
      frees.ordinal[index] = recording.ordinal(~event);
    }
    this.frees.set(segment, frees);
    return frees;
  }

  /** Notes a gradient made in this region, and those of the same parameter in the copied layers. */
  private gradient(leaf: Tensor): boolean {
    const id = leaf.grad?.storage.id ?? -1;
    const home = id < 0 ? undefined : this.recording.home(id);
    if (home === undefined) return true;
    const { gradients } = this;
    gradients.push({ leaf, local: this.resolve(id, home, 0) });
    const { folding } = home;
    const ordinal = home.label % REPEAT;
    if (folding === undefined || ordinal < folding.from || ordinal > folding.to) return true;
    for (let copy = 1; copy <= folding.copies; copy++) {
      const twin = this.counterpart(leaf, folding.first + this.place(folding, ordinal, copy));
      if (twin === undefined) return false;
      gradients.push({ leaf: twin, local: this.resolve(id, home, copy) });
    }
    return true;
  }
}

/**
 * A script as it runs where its gradients are there already.
 *
 * @param isMade whether a local block is there to be a gradient only
 * @param handed blocks that become gradients, which are added instead and freed, after so many events
 */
function accumulating(
  { events, bytes, labels, phases }: Script,
  isMade: (local: number) => boolean,
  handed: readonly { readonly at: number; readonly local: number }[],
): Script {
  const locals = bytes.length;
  const renumbered = new Int32Array(locals);
  let count = 0;
  for (let local = 0; local < locals; local++) renumbered[local] = isMade(local) ? -1 : count++;
  const out = new Numbers(events.length + handed.length);
  const begun: Script["phases"][number][] = [];
  let hand = 0;
  for (let k = 0; k <= events.length; k++) {
    for (; hand < handed.length && handed[hand]!.at <= k; hand++) out.push(~renumbered[handed[hand]!.local]!);
    while (begun.length < phases.length && phases[begun.length]!.at <= k)
      begun.push({ phase: phases[begun.length]!.phase, at: out.length });
    if (k === events.length) break;
    const code = events[k]!;
    if (code >= 0) {
      if (renumbered[code]! >= 0) out.push(renumbered[code]!);
    } else out.push(~code < locals ? ~renumbered[~code]! : code + locals - count);
  }
  const keptBytes = new Float64Array(count);
  const keptLabels = new Int32Array(count);
  for (let local = 0; local < locals; local++) {
    const kept = renumbered[local]!;
    if (kept < 0) continue;
    keptBytes[kept] = bytes[local]!;
    keptLabels[kept] = labels[local]!;
  }
  return { events: out.values(), bytes: keptBytes, labels: keptLabels, phases: begun };
}

/**
 * Plays a region: its events are appended to the ledger and its gradients appear on their parameters, where they are
 * not there already (`repeated`).
 */
export function playRegion(ledger: Ledger, region: Region, step: number, repeated = false): void {
  const first = ledger.play(repeated ? region.repeated() : region.script, step);
  if (repeated) return;
  const storages = new Map<number, { id: number; references: number }>();
  for (const { leaf, local } of region.gradients) {
    const storage = storages.get(local) ?? { id: first + local, references: 0 };
    storage.references++;
    storages.set(local, storage);
    leaf.grad = new Tensor(ledger, storage, leaf.sizes, leaf.strides, leaf.dtype);
  }
}
