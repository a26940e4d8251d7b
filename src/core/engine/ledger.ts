/**
 * The event stream: every allocation and free of device memory, in order, with what each allocation is.
 * Sizes are bytes rounded up to 512, as the CUDA caching allocator rounds them (c10/cuda/CUDACachingAllocator.cpp,
 * kMinBlockSize).
 */
import type { ComponentKind, Phase } from "../report/estimate";

const BLOCK = 512;

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

/** A position to come back to. */
export interface LedgerState {
  readonly events: number;
  readonly ids: number;
  readonly phases: number;
  readonly marks: number;
  readonly takeovers: number;
  readonly live: number;
  readonly peak: number;
  readonly peakEvent: number;
  readonly peakPhase: number;
}

export class Ledger {
  /** `id` for an allocation, `~id` for a free. */
  readonly events: number[] = [];
  readonly bytes: number[] = [];
  readonly kinds: ComponentKind[] = [];
  readonly operators: string[] = [];
  readonly scopes: string[] = [];
  readonly phaseList: { phase: Phase; step: number; firstEvent: number; peak: number }[] = [];
  /** From event `event` on, events belong to the layer `label` (see `region.ts`). */
  readonly marks: { event: number; label: number }[] = [];
  /** Gradients a parameter took over as they were: the block and how many events there were by then. */
  readonly takeovers: { event: number; id: number }[] = [];

  live = 0;
  peak = 0;
  /** Index into `events` of the event that reached the peak. */
  peakEvent = -1;
  peakPhase = 0;
  /** Events before this one belong to loading; the peak of the steps starts after them. */
  private counting = false;

  /** @param divisions `roundup_power2_divisions` of the allocator; 1 rounds to blocks of 512 bytes */
  constructor(private readonly divisions = 1) {
    this.enter("load", 0);
  }

  /** Starts a phase of a step (0 = before the first). */
  enter(phase: Phase, step: number): void {
    this.phaseList.push({ phase, step, firstEvent: this.events.length, peak: this.live });
  }

  /** From here on the peak counts: loading is over. */
  startCounting(): void {
    this.counting = true;
  }

  allocate(size: number, operator: string, kind: ComponentKind, scope: string): number {
    const rounded = this.divisions > 1 ? roundSize(size, this.divisions) : Math.ceil(size / BLOCK) * BLOCK;
    return this.append(rounded, operator, kind, scope);
  }

  /** Allocates a block whose size is rounded already. */
  append(rounded: number, operator: string, kind: ComponentKind, scope: string): number {
    const id = this.bytes.length;
    this.bytes.push(rounded);
    this.kinds.push(kind);
    this.operators.push(operator);
    this.scopes.push(scope);
    this.events.push(id);
    this.live += rounded;
    const phase = this.phaseList.length - 1;
    const current = this.phaseList[phase]!;
    if (this.live > current.peak) current.peak = this.live;
    if (this.counting && this.live > this.peak) {
      this.peak = this.live;
      this.peakEvent = this.events.length - 1;
      this.peakPhase = phase;
    }
    return id;
  }

  /** The following events belong to a layer (or, with -1, to none). */
  mark(label: number): void {
    this.marks.push({ event: this.events.length, label });
  }

  state(): LedgerState {
    return {
      events: this.events.length,
      ids: this.bytes.length,
      phases: this.phaseList.length,
      marks: this.marks.length,
      takeovers: this.takeovers.length,
      live: this.live,
      peak: this.peak,
      peakEvent: this.peakEvent,
      peakPhase: this.peakPhase,
    };
  }

  /** Forgets everything after `state`. */
  rewind(state: LedgerState): void {
    this.events.length = state.events;
    for (const list of [this.bytes, this.kinds, this.operators, this.scopes]) list.length = state.ids;
    this.phaseList.length = state.phases;
    this.marks.length = state.marks;
    this.takeovers.length = state.takeovers;
    this.live = state.live;
    this.peak = state.peak;
    this.peakEvent = state.peakEvent;
    this.peakPhase = state.peakPhase;
  }

  free(id: number): void {
    this.events.push(~id);
    this.live -= this.bytes[id]!;
  }

  /** Bytes alive right before the event at `index`. */
  liveBefore(index: number): number {
    let live = 0;
    for (let k = 0; k < index; k++) {
      const event = this.events[k]!;
      live += event >= 0 ? this.bytes[event]! : -this.bytes[~event]!;
    }
    return live;
  }

  /** Ids alive right after the event at `index`. */
  aliveAt(index: number): number[] {
    const alive = new Uint8Array(this.bytes.length);
    for (let k = 0; k <= index; k++) {
      const event = this.events[k]!;
      if (event >= 0) alive[event] = 1;
      else alive[~event] = 0;
    }
    const ids: number[] = [];
    for (let id = 0; id < alive.length; id++) if (alive[id] === 1) ids.push(id);
    return ids;
  }
}
