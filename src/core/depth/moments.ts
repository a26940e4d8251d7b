/**
 * The same moments in the streams of three depths. What is alive at a moment grows alike with every layer, and between two layers
 * of one stretch of the stream as well: so the highest moment of a deeper run is among those that all three have.
 */
import { COMPONENT_KINDS } from "../../terms/names";
import type { Ledger } from "../engine/ledger";
import type { Simulation } from "../simulate";

/** A stream, of whose first events only what survives them counts. */
export type Followed = Pick<Simulation, "ledger" | "loadedEvents" | "trainableTensors">;

/** What is alive after an event of the second stream and the one of the third that it is. */
interface Moment {
  readonly near: number;
  readonly far: number;
  readonly nearBytes: number;
  readonly farBytes: number;
}

/** The highest moment of a phase, or of the part of one that loading is. */
interface Stretch {
  readonly phase: number;
  readonly counts: boolean;
  readonly highest: Moment;
}

export interface Moments {
  readonly stretches: readonly Stretch[];
  /** The event of the second stream that each of the third is; -1: it is of a layer that the second lacks. */
  readonly near: Int32Array;
}

/** What blocks are, whatever their layer: what allocates them where, and how many bytes, unless those follow the depth. */
class Classes {
  private readonly labels = new Map<string, number>();
  private readonly modules = new Map<string, string>();
  /** Classes by label and size. */
  private readonly sizes: Map<number, number>[] = [];
  count = 0;
  /** The first of those whose size follows the depth, behind all others. */
  firstGrowing = 0;

  /** The classes of the blocks of each stream. */
  of(ledgers: readonly Ledger[]): Int32Array[] {
    const labelled = ledgers.map((ledger) => this.ofLabels(ledger));
    // A class that not every stream has is of the blocks whose size follows the depth.
    const streams: number[] = [];
    const blocks = ledgers.map((ledger, k) =>
      this.ofBlocks(ledger, labelled[k]!, (found) => {
        if (streams[found] === k) streams[found] = k + 1;
        else streams[found] ??= k === 0 ? 1 : 0;
      }),
    );
    this.firstGrowing = this.count;
    this.count += this.sizes.length;
    const merged = new Int32Array(this.firstGrowing);
    this.sizes.forEach((own, label) => {
      for (const found of own.values())
        merged[found] = streams[found] === ledgers.length ? found : this.firstGrowing + label;
    });
    return blocks.map((own) => own.map((found) => merged[found]!));
  }

  /** The class of each label of a ledger, whatever the size. */
  private ofLabels(ledger: Ledger): Int32Array {
    const found = new Int32Array(ledger.labelCount);
    for (let label = 0; label < found.length; label++) {
      const { kind, operator, scope } = ledger.labelAt(label);
      let module = this.modules.get(scope);
      if (module === undefined) {
        module = scope.replace(/\d+/g, "*");
        this.modules.set(scope, module);
      }
      const key = `${COMPONENT_KINDS.indexOf(kind)} ${operator} ${module}`;
      let known = this.labels.get(key);
      if (known === undefined) {
        known = this.sizes.push(new Map()) - 1;
        this.labels.set(key, known);
      }
      found[label] = known;
    }
    return found;
  }

  private ofBlocks({ bytes, labelIndices }: Ledger, labelled: Int32Array, found: (number: number) => void): Int32Array {
    const blocks = new Int32Array(bytes.length);
    for (let id = 0; id < blocks.length; id++) {
      const own = this.sizes[labelled[labelIndices[id]!]!]!;
      const size = bytes[id]!;
      let known = own.get(size);
      if (known === undefined) {
        known = this.count++;
        own.set(size, known);
      }
      found(known);
      blocks[id] = known;
    }
    return blocks;
  }
}

/** A stream with what is alive after each event. */
interface Stream {
  readonly ledger: Ledger;
  readonly alive: Float64Array;
  /** The class of each block. */
  readonly classOf: Int32Array;
}

function streamOf(ledger: Ledger, classOf: Int32Array): Stream {
  const { events, bytes } = ledger;
  const alive = new Float64Array(events.length);
  let live = 0;
  for (let k = 0; k < events.length; k++) {
    const event = events[k]!;
    live += event >= 0 ? bytes[event]! : -bytes[~event]!;
    alive[k] = live;
  }
  return { ledger, alive, classOf };
}

/** Events of a stretch by what they do: those of key `k` are `events[starts[k]]` up to `events[starts[k + 1]]`. */
interface Sorted {
  readonly starts: Int32Array;
  readonly events: Int32Array;
}

/** No class. */
const OUTSIDE = 0;

/**
 * Keys of events: what is allocated or freed, and what is right before and right after it, which tells the stretches of a stream
 * apart that do the same with other blocks.
 */
class Keys {
  private readonly keys = new Map<number, number>();

  constructor(private readonly classes: number) {}

  of({ ledger: { events }, classOf }: Stream, from: number, to: number): Int32Array {
    const base = 2 * this.classes + 2;
    const doneAt = (k: number): number => {
      const event = events[k];
      if (event === undefined || k < from || k >= to) return OUTSIDE;
      return event >= 0 ? 2 * classOf[event]! + 2 : 2 * classOf[~event]! + 3;
    };
    const found = new Int32Array(to - from);
    let [before, own] = [OUTSIDE, doneAt(from)];
    for (let k = from; k < to; k++) {
      const after = doneAt(k + 1);
      const context = (before * base + own) * base + after;
      let known = this.keys.get(context);
      if (known === undefined) {
        known = this.keys.size;
        this.keys.set(context, known);
      }
      found[k - from] = known;
      [before, own] = [own, after];
    }
    return found;
  }

  get count(): number {
    return this.keys.size;
  }
}

function sorted(keys: Int32Array, from: number, count: number): Sorted {
  const starts = new Int32Array(count + 1);
  for (const key of keys) starts[key + 1]!++;
  for (let key = 0; key < count; key++) starts[key + 1]! += starts[key]!;
  const next = starts.slice();
  const events = new Int32Array(keys.length);
  keys.forEach((key, k) => {
    events[next[key]!++] = from + k;
  });
  return { starts, events };
}

/** Bytes of an element of what has one for each trained tensor. */
const WIDTHS = [4, 2, 8] as const;

/**
 * Blocks with an element for each trained tensor (the norms that are clipped together) grow in steps of the allocator's: they are taken
 * as growing alike up to what they are in the whole run.
 */
function evenOut(
  followed: readonly Followed[],
  classesOf: readonly Int32Array[],
  classes: Classes,
  times: number,
): void {
  const tensors = followed.map(({ trainableTensors }) => trainableTensors);
  const [, second = 0, third = 0] = tensors;
  const whole = third + times * (third - second);
  const blocks = classesOf.map((own) => {
    const byClass = new Map<number, number[]>();
    for (let id = 0; id < own.length; id++) {
      const found = own[id]!;
      if (found < classes.firstGrowing) continue;
      const known = byClass.get(found);
      if (known === undefined) byClass.set(found, [id]);
      else known.push(id);
    }
    return byClass;
  });
  for (const growing of blocks[0]?.keys() ?? []) {
    const idsOf = (k: number): readonly number[] => blocks[k]!.get(growing) ?? [];
    const width = WIDTHS.find((bytes) =>
      followed.every(({ ledger }, k) =>
        idsOf(k).every((id) => ledger.sizeOf(id) === ledger.rounded(bytes * tensors[k]!)),
      ),
    );
    if (width === undefined) continue;
    followed.forEach(({ ledger }, k) => {
      const bytes = ledger.rounded(width * whole) - width * (whole - tensors[k]!);
      for (const id of idsOf(k)) ledger.resize(id, bytes);
    });
  }
}

/** Where a stream's phases begin and end, that of loading in two parts: what only loading has, and what stays. */
function boundsOf({ ledger, loadedEvents }: Followed): readonly (readonly [from: number, to: number, phase: number])[] {
  const { phaseList, eventCount } = ledger;
  return phaseList.flatMap(({ firstEvent }, phase) => {
    const end = phaseList[phase + 1]?.firstEvent ?? eventCount;
    const border = Math.min(Math.max(firstEvent, loadedEvents), end);
    const parts = [[firstEvent, border, phase] as const, [border, end, phase] as const];
    return phase === 0 ? parts : parts.slice(1);
  });
}

function sameBounds(one: readonly unknown[], other: readonly unknown[], a: Ledger, b: Ledger): boolean {
  return (
    one.length === other.length &&
    a.phaseList.every(({ phase, step }, k) => phase === b.phaseList[k]?.phase && step === b.phaseList[k]?.step)
  );
}

/**
 * The moments that three streams have in common; null where they do not grow alike.
 *
 * @param followed least depth first
 * @param times as in `Shallow`
 */
export function momentsOf(followed: readonly [Followed, Followed, Followed], times: number): Moments | null {
  const classes = new Classes();
  const classesOf = classes.of(followed.map(({ ledger }) => ledger));
  evenOut(followed, classesOf, classes, times);
  const streams = followed.map(({ ledger }, k) => streamOf(ledger, classesOf[k]!)) as [Stream, Stream, Stream];
  const bounds = followed.map(boundsOf);
  const [first, second, third] = followed;
  if (!sameBounds(bounds[0]!, bounds[2]!, first.ledger, third.ledger)) return null;
  if (!sameBounds(bounds[1]!, bounds[2]!, second.ledger, third.ledger)) return null;
  const near = new Int32Array(third.ledger.eventCount).fill(-1);
  const stretches: Stretch[] = [];
  for (const [index, [from, , phase]] of bounds[2]!.entries()) {
    const keys = new Keys(classes.count);
    const found = streams.map((stream, k) => keys.of(stream, bounds[k]![index]![0], bounds[k]![index]![1]));
    const parts = found.map((own, k) => sorted(own, bounds[k]![index]![0], keys.count)) as [Sorted, Sorted, Sorted];
    const [nearBefore, farBefore] = [bounds[1]![index]![0] - 1, from - 1];
    const before = {
      near: nearBefore,
      far: farBefore,
      nearBytes: streams[1].alive[nearBefore] ?? 0,
      farBytes: streams[2].alive[farBefore] ?? 0,
    };
    const highest = highestIn(streams, parts, before, times, near);
    if (highest === null) return null;
    stretches.push({ phase, counts: from >= third.loadedEvents, highest });
  }
  return { stretches, near };
}

/** Bytes alive in the whole run. */
function wholly({ nearBytes, farBytes }: Moment, times: number): number {
  return farBytes + times * (farBytes - nearBytes);
}

/** The highest moment of a stretch, what was there before it among them; null where the streams do not grow alike in it. */
function highestIn(
  streams: readonly [Stream, Stream, Stream],
  parts: readonly [Sorted, Sorted, Sorted],
  before: Moment,
  times: number,
  near: Int32Array,
): Moment | null {
  const [first, second, third] = streams.map(({ alive }) => alive) as [Float64Array, Float64Array, Float64Array];
  let highest = before;
  let most = wholly(before, times);
  const keys = parts[2].starts.length - 1;
  for (let key = 0; key < keys; key++) {
    const [a, b, c] = parts.map(({ starts }) => starts[key + 1]! - starts[key]!) as [number, number, number];
    const more = c - b;
    if (more !== b - a || more < 0) return null;
    const half = more === 0 ? a : a >> 1;
    const at = (part: Sorted, k: number): number => part.events[part.starts[key]! + k]!;
    for (let k = 0; k < a; k++) {
      const after = k < half ? 0 : more;
      const [one, two, three] = [at(parts[0], k), at(parts[1], k + after), at(parts[2], k + 2 * after)];
      const [oneBytes, nearBytes, farBytes] = [first[one]!, second[two]!, third[three]!];
      if (farBytes - nearBytes !== nearBytes - oneBytes) return null;
      near[three] = two;
      const moment = { near: two, far: three, nearBytes, farBytes };
      const bytes = wholly(moment, times);
      if (bytes <= most) continue;
      [highest, most] = [moment, bytes];
    }
    // Between the ends of the stretch bytes grow alike from one layer to the next.
    const middle = (k: number): number => third[at(parts[2], half + k)]!;
    for (let k = 1; k < more; k++) if (middle(more + k) - middle(k) !== middle(more) - middle(0)) return null;
  }
  return highest;
}

/** The most that is alive in the whole run where it counts. */
export function highestOf({ stretches }: Moments, times: number): number {
  return stretches.reduce((most, { counts, highest }) => (counts ? Math.max(most, wholly(highest, times)) : most), 0);
}

/** Takes, in the second and the third stream, what is the highest moment of the whole run for theirs, in each phase and in all. */
export function placePeaks(
  [, second, third]: readonly [Followed, Followed, Followed],
  { stretches }: Moments,
  times: number,
): void {
  const highest = (among: readonly Stretch[]): Stretch | undefined =>
    among.toSorted((one, other) => wholly(other.highest, times) - wholly(one.highest, times))[0];
  const top = highest(stretches.filter(({ counts }) => counts));
  if (top === undefined) return;
  for (const [{ ledger }, of] of [
    [second, "near"],
    [third, "far"],
  ] as const) {
    ledger.phaseList.forEach((own, phase) => {
      const stretch = highest(stretches.filter((one) => one.phase === phase));
      if (stretch !== undefined) own.peak = stretch.highest[`${of}Bytes`];
    });
    ledger.peakEvent = top.highest[of];
    ledger.peak = top.highest[`${of}Bytes`];
    ledger.peakPhase = top.phase;
  }
}
