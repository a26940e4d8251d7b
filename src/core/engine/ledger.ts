/**
 * The event stream: every allocation and free of device memory, in order, with what each allocation is.
 * Sizes are bytes rounded up to 512, as the CUDA caching allocator rounds them (c10/cuda/CUDACachingAllocator.cpp,
 * kMinBlockSize).
 */

import { say } from "../../words/message";
import { widened } from "../columns";
import type { ComponentKind, Phase } from "../report/estimate";
import { MOST_EVENTS, MOST_SIMULATED, OverBudget, SIMULATED } from "./budget";
import { type Label, Labels, NO_KERNEL, type SideStream, type Work } from "./labels";
import { ImpossibleSizes } from "./not-modelled";
import type { Note, PlacedNote } from "./notes";

/** Bytes that blocks are multiples of. */
export const BLOCK = 512;

/**
 * The allocator's `round_size`: to 512 bytes, or with `roundup_power2_divisions` to the next of so many steps between
 * powers of two, for sizes above so many blocks (roundup_power2_next_division).
 */
export function roundSize(size: number, divisions: number): number {
  const blocks = Math.max(BLOCK, Math.ceil(size / BLOCK) * BLOCK);
  if (divisions <= 1 || size <= BLOCK * divisions) return blocks;
  const floor = 2 ** Math.floor(Math.log2(size));
  const step = floor / divisions;
  return size === floor ? size : step < 1 ? 2 * floor : Math.ceil(size / step) * step;
}

/** Events of one micro-batch or forward, to be played. */
export interface Script {
  /** `k` allocates local block `k`, in order; `~k` frees it; `~(locals + id)` frees block `id` of the ledger. */
  readonly events: Int32Array;
  /** Bytes of each local block. */
  readonly bytes: Float64Array;
  /** Index of each local block's label in the ledger. */
  readonly labels: Int32Array;
  /** Phases and the events before which they begin, in order. */
  readonly phases: readonly { readonly phase: Phase; readonly at: number }[];
  /** What happens beside the events, and the events before which it does, in order. */
  readonly notes: readonly { readonly note: Note; readonly at: number }[];
}

/** What blocks of one label come to. */
export interface LabelBytes {
  readonly label: Label;
  readonly bytes: number;
}

/** A position to come back to. */
export interface LedgerState {
  readonly events: number;
  readonly ids: number;
  readonly phases: number;
  readonly marks: number;
  readonly roundMarks: number;
  readonly takeovers: number;
  readonly notes: number;
  readonly live: number;
  readonly peak: number;
  readonly peakEvent: number;
  readonly peakPhase: number;
}

/** Room for this many events at first; doubled when it is used up. */
const FIRST_ROOM = 4096;
/** Room for what is played, with what optimizers do in between. */
const BESIDE = 1.25;

export class Ledger {
  /** Columns with room to grow; `eventCount` and `count` say how much of them is used. */
  private eventColumn = new Int32Array(FIRST_ROOM);
  private byteColumn = new Float64Array(FIRST_ROOM);
  private labelColumn = new Int32Array(FIRST_ROOM);
  private readonly labels = new Labels();
  eventCount = 0;
  /** Blocks so far: the next one's id. */
  count = 0;
  /** Allocations that were simulated, those taken back included. */
  private simulated = 0;

  readonly phaseList: { phase: Phase; step: number; firstEvent: number; peak: number; readonly before: number }[] = [];
  /** From event `event` on, events belong to the layer `label` (see `folding/label.ts`). */
  readonly marks: { event: number; label: number }[] = [];
  /** The same of the rounds of loops inside layers (see `folding/rounds.ts`). */
  readonly roundMarks: { event: number; label: number }[] = [];
  /** Blocks that are not the caching allocator's, by id. */
  readonly apart = new Set<number>();
  /** Gradients a parameter took over as they were: the block and how many events there were by then. */
  readonly takeovers: { event: number; id: number }[] = [];
  /** What happened beside the events. */
  readonly notes: PlacedNote[] = [];

  /** Events before which the run's own code empties the allocator's cache. */
  readonly emptied: number[] = [];

  /** The side stream that what is allocated now is of; null: the model's own. */
  stream: SideStream | null = null;

  live = 0;
  peak = 0;
  /** Index into `events` of the event that reached the peak. */
  peakEvent = -1;
  peakPhase = 0;
  /** Events before this one belong to loading; the peak of the steps starts after them. */
  private counting = false;
  /** Event from which on what loading frees leaves its segments in the pool, the cache not being emptied again; null: none. */
  segmentsFrom: number | null = null;

  /** @param divisions `roundup_power2_divisions` of the allocator; 1 rounds to blocks of 512 bytes */
  constructor(private readonly divisions = 1) {
    this.enter("load", 0);
  }

  /** `id` for an allocation, `~id` for a free. A view of what there is now: later events are not in it. */
  get events(): Int32Array {
    return this.eventColumn.subarray(0, this.eventCount);
  }

  /** Bytes of every block there is now, by id. */
  get bytes(): Float64Array {
    return this.byteColumn.subarray(0, this.count);
  }

  /** Bytes of one block. */
  sizeOf(id: number): number {
    return this.byteColumn[id]!;
  }

  /** What the stream took to make, in events that are played. */
  get effort(): number {
    return this.eventCount + SIMULATED * this.simulated;
  }

  /** How many labels there are. */
  get labelCount(): number {
    return this.labels.count;
  }

  labelOf(id: number): Label {
    return this.labels.at(this.labelColumn[id]!);
  }

  /** What the label at a place says. */
  labelAt(index: number): Label {
    return this.labels.at(index);
  }

  kindOfLabel(index: number): ComponentKind {
    return this.labels.kindOf(index);
  }

  scopeOfLabel(index: number): string {
    return this.labels.scopeOf(index);
  }

  kindOf(id: number): ComponentKind {
    return this.labels.kindOf(this.labelColumn[id]!);
  }

  scopeOf(id: number): string {
    return this.labels.scopeOf(this.labelColumn[id]!);
  }

  /** Bytes that the kernel which writes a block reads, or `NO_KERNEL`. */
  readsOf(id: number): number {
    return this.labels.readsOf(this.labelColumn[id]!);
  }

  /** What the kernel which writes a block multiplies, or null. */
  workOf(id: number): Work | null {
    return this.labels.workOf(this.labelColumn[id]!);
  }

  /** Place of a block's label, for scripts. */
  labelIndexOf(id: number): number {
    return this.labelColumn[id]!;
  }

  /** The stream that each block is of, by id (0: the model's own); null: there is no other. */
  get streams(): Uint8Array | null {
    if (!this.labels.hasStreams) return null;
    const own = this.labels.byStream();
    const streams = new Uint8Array(this.count);
    for (let id = 0; id < this.count; id++) streams[id] = own[this.labelColumn[id]!]!;
    return streams;
  }

  /** Place of every block's label, by id. */
  get labelIndices(): Int32Array {
    return this.labelColumn.subarray(0, this.count);
  }

  /** What kind of bytes each label says, as `numberOf` counts the kinds. */
  kindsOfLabels(numberOf: Readonly<Record<ComponentKind, number>>): Uint8Array {
    return this.labels.byKind(numberOf);
  }

  /** A small number for each label, by the path of its module. */
  scopesOfLabels(numberOf: (scope: string) => number): Uint16Array {
    return this.labels.byScope(numberOf);
  }

  /** For each label whether an operator allocates (1); null when it never does. */
  labelsOf(operator: string): Uint8Array | null {
    return this.labels.ofOperator(operator);
  }

  /** Books a block as something else; nothing for a tensor without one. */
  relabel(id: number, kind: ComponentKind): void {
    if (id >= 0) this.labels.setKind(this.labelColumn[id]!, kind);
  }

  /** Starts a phase of a step (0 = before the first). */
  enter(phase: Phase, step: number): void {
    this.phaseList.push({ phase, step, firstEvent: this.eventCount, peak: this.live, before: this.live });
  }

  /** `torch.cuda.empty_cache()`. Not taken back by `rewind`: only what is run once says it. */
  emptyCache(): void {
    this.emptied.push(this.eventCount);
  }

  /** From here on the peak counts: loading is over. */
  startCounting(): void {
    this.counting = true;
  }

  /** Bytes of a block for so many. */
  rounded(size: number): number {
    return this.divisions > 1 ? roundSize(size, this.divisions) : Math.ceil(size / BLOCK) * BLOCK;
  }

  /** Books a block with other bytes; what is alive at any time is not counted anew. */
  resize(id: number, bytes: number): void {
    this.byteColumn[id] = bytes;
  }

  /** @param reads bytes that the kernel which writes the block reads, or `NO_KERNEL` */
  allocate(
    size: number,
    operator: string,
    kind: ComponentKind,
    scope: string,
    reads = NO_KERNEL,
    work: Work | null = null,
  ): number {
    // No tensor has fewer elements than none, or no number of them: what a config's negative or missing sizes come to.
    if (!(size >= 0)) throw new ImpossibleSizes(say("engine.sizes"));
    const rounded = this.rounded(size);
    if (++this.simulated > MOST_SIMULATED) this.stop(MOST_SIMULATED);
    this.reserve(1, 1);
    const id = this.count++;
    this.byteColumn[id] = rounded;
    const label = this.labels.add(kind, operator, scope, reads, work);
    if (this.stream !== null) this.labels.setStream(label, this.stream);
    this.labelColumn[id] = label;
    this.eventColumn[this.eventCount++] = id;
    this.live += rounded;
    this.notePeak();
    return id;
  }

  /** Takes what is allocated now for the phase's peak, and the run's, where it is more than before. */
  private notePeak(): void {
    const last = this.phaseList.length - 1;
    const phase = this.phaseList[last]!;
    if (this.live > phase.peak) phase.peak = this.live;
    if (!this.counting || this.live <= this.peak) return;
    this.peak = this.live;
    this.peakEvent = this.eventCount - 1;
    this.peakPhase = last;
  }

  /**
   * As if blocks that were just made were made so many times more, one after the other each time: what a loop keeps of
   * thousands of rounds has no other cost than its events.
   *
   * @returns id of the first; the others follow
   */
  makeAgain(ids: readonly number[], times: number): number {
    const first = this.count;
    const more = ids.length * times;
    this.checkAllocations(more);
    this.simulated += more;
    this.reserve(more, more);
    const { byteColumn, labelColumn, eventColumn } = this;
    for (let k = 0; k < more; k++) {
      const like = ids[k % ids.length]!;
      byteColumn[first + k] = byteColumn[like]!;
      labelColumn[first + k] = labelColumn[like]!;
      eventColumn[this.eventCount + k] = first + k;
      this.live += byteColumn[like]!;
    }
    if (more === 0) return first;
    this.count += more;
    this.eventCount += more;
    this.notePeak();
    return first;
  }

  /** Frees so many blocks in a row, from `first` on. */
  freeRow(first: number, count: number): void {
    for (let k = 0; k < count; k++) this.free(first + k);
  }

  free(id: number): void {
    this.reserve(1, 0);
    this.eventColumn[this.eventCount++] = ~id;
    this.live -= this.byteColumn[id]!;
  }

  /**
   * Appends a script's events, its phases as those of `step`.
   *
   * @param told hears its notes between the events, with the id of its first block; what it allocates and frees goes there
   * @returns id of its first block; the others follow
   */
  play(
    { events, bytes, labels, phases, notes }: Script,
    step: number,
    told?: (note: Note, first: number) => void,
  ): number {
    const base = this.count;
    const locals = bytes.length;
    this.checkRoom(events.length);
    this.reserve(events.length, locals);
    this.byteColumn.set(bytes, base);
    this.labelColumn.set(labels, base);
    this.count += locals;
    let from = 0;
    let note = 0;
    const upTo = (at: number, last: boolean): void => {
      for (; told !== undefined && note < notes.length; note++) {
        const own = notes[note]!;
        if (last ? own.at > at : own.at >= at) break;
        this.playPart(events, from, own.at, base, locals);
        from = own.at;
        told(own.note, base);
      }
      this.playPart(events, from, at, base, locals);
      from = at;
    };
    for (const { phase, at } of phases) {
      upTo(at, false);
      this.enter(phase, step);
    }
    upTo(events.length, true);
    return base;
  }

  /** Events `from` to `to` of a script, all of one phase. */
  private playPart(script: Int32Array, from: number, to: number, base: number, locals: number): void {
    if (to === from) return;
    this.reserve(to - from, 0);
    const { byteColumn, eventColumn } = this;
    const shift = this.eventCount - from;
    let { live } = this;
    let highest = live;
    let highestAt = -1;
    for (let k = from; k < to; k++) {
      const code = script[k]!;
      if (code >= 0) {
        const id = base + code;
        eventColumn[k + shift] = id;
        live += byteColumn[id]!;
        if (live > highest) {
          highest = live;
          highestAt = k + shift;
        }
        continue;
      }
      const id = ~code < locals ? base + ~code : ~code - locals;
      eventColumn[k + shift] = ~id;
      live -= byteColumn[id]!;
    }
    this.live = live;
    this.eventCount = to + shift;
    const phase = this.phaseList[this.phaseList.length - 1]!;
    if (highest > phase.peak) phase.peak = highest;
    if (this.counting && highest > this.peak) {
      this.peak = highest;
      this.peakEvent = highestAt;
      this.peakPhase = this.phaseList.length - 1;
    }
  }

  /** A script will be played so often: columns that are wide enough need not grow on the way. */
  expect({ events, bytes }: Script, times: number): void {
    this.checkRoom(times * events.length);
    this.reserve(Math.ceil(BESIDE * times * events.length), Math.ceil(BESIDE * times * bytes.length));
  }

  /** Throws `OverBudget` where so many more events are more than a run is followed for. */
  checkRoom(events: number): void {
    if (this.eventCount + events > MOST_EVENTS) this.stop();
  }

  /** Throws `OverBudget` where so many more blocks, simulated one by one, are more than a run is followed for. */
  checkAllocations(count: number): void {
    if (this.simulated + count > MOST_SIMULATED) this.stop(MOST_SIMULATED);
  }

  private stop(most = MOST_EVENTS): never {
    throw new OverBudget(Math.max(this.peak, this.live), most);
  }

  /** Makes room for so many more events and blocks. */
  private reserve(events: number, blocks: number): void {
    const wantedEvents = this.eventCount + events;
    if (wantedEvents > this.eventColumn.length)
      this.eventColumn = widened(this.eventColumn, new Int32Array(Math.max(wantedEvents, 2 * this.eventColumn.length)));
    const wanted = this.count + blocks;
    if (wanted <= this.byteColumn.length) return;
    const room = Math.max(wanted, 2 * this.byteColumn.length);
    this.byteColumn = widened(this.byteColumn, new Float64Array(room));
    this.labelColumn = widened(this.labelColumn, new Int32Array(room));
  }

  /** The following events belong to a layer (or, with -1, to none). */
  mark(label: number): void {
    this.marks.push({ event: this.eventCount, label });
  }

  /** The following events belong to a round (or, with -1, to none). */
  markRound(label: number): void {
    this.roundMarks.push({ event: this.eventCount, label });
  }

  state(): LedgerState {
    return {
      events: this.eventCount,
      ids: this.count,
      phases: this.phaseList.length,
      marks: this.marks.length,
      roundMarks: this.roundMarks.length,
      takeovers: this.takeovers.length,
      notes: this.notes.length,
      live: this.live,
      peak: this.peak,
      peakEvent: this.peakEvent,
      peakPhase: this.peakPhase,
    };
  }

  /** Forgets everything after `state`, but for labels: scripts made meanwhile refer to them. */
  rewind(state: LedgerState): void {
    this.eventCount = state.events;
    this.count = state.ids;
    this.phaseList.length = state.phases;
    this.marks.length = state.marks;
    this.roundMarks.length = state.roundMarks;
    this.takeovers.length = state.takeovers;
    this.notes.length = state.notes;
    this.live = state.live;
    this.peak = state.peak;
    this.peakEvent = state.peakEvent;
    this.peakPhase = state.peakPhase;
  }

  /**
   * Other events in place of those after `state`, of blocks that are there; what is alive at any time is not counted anew
   * (the events are to be taken back and played).
   *
   * @param placeOf where what stood at an event stands among the new ones
   */
  replaceEvents(state: LedgerState, events: readonly number[], placeOf: (event: number) => number): void {
    for (let k = state.marks; k < this.marks.length; k++) this.marks[k]!.event = placeOf(this.marks[k]!.event);
    for (let k = state.phases; k < this.phaseList.length; k++)
      this.phaseList[k]!.firstEvent = placeOf(this.phaseList[k]!.firstEvent);
    for (let k = state.takeovers; k < this.takeovers.length; k++)
      this.takeovers[k]!.event = placeOf(this.takeovers[k]!.event);
    for (let k = state.notes; k < this.notes.length; k++) this.notes[k]!.event = placeOf(this.notes[k]!.event);
    this.eventCount = state.events;
    this.reserve(events.length, 0);
    this.eventColumn.set(events, state.events);
    this.eventCount = state.events + events.length;
  }

  /** Bytes alive right after the event at `index`, by the labels of their blocks, in the order of the first block of each. */
  aliveByLabel(index: number): readonly LabelBytes[] {
    const found: number[] = [];
    const bytes = this.bytesByLabel(index + 1, found);
    return found.map((label) => ({ label: this.labels.at(label), bytes: bytes[label]! }));
  }

  /**
   * Bytes alive before the event at `index`, by label.
   *
   * @param found labels that are alive, in the order of the first block of each: they are put there
   */
  bytesByLabel(index: number, found: number[] = []): Float64Array {
    const { eventColumn, byteColumn, labelColumn } = this;
    const alive = new Uint8Array(this.count);
    for (let k = 0; k < index; k++) {
      const event = eventColumn[k]!;
      if (event >= 0) alive[event] = 1;
      else alive[~event] = 0;
    }
    const bytes = new Float64Array(this.labelCount);
    for (let id = 0; id < alive.length; id++) {
      if (alive[id] === 0) continue;
      const label = labelColumn[id]!;
      if (bytes[label] === 0) found.push(label);
      bytes[label]! += byteColumn[id]!;
    }
    return bytes;
  }

  /** Labels that a block has (1). */
  labelsInUse(): Uint8Array {
    const used = new Uint8Array(this.labelCount);
    for (let id = 0; id < this.count; id++) used[this.labelColumn[id]!] = 1;
    return used;
  }
}
