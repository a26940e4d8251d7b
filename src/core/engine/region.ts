/**
 * The events of one micro-batch as a script that can be played again: the middle layers of a deep model are simulated
 * once and repeated, and a second step that does the same as the first is copied.
 *
 * Nothing is approximated: a copy is made only when the neighbouring layers produced the same events, with every freed
 * block named relative to the layer that frees it. Where they did not, the region is left as it was simulated.
 */
import type { ComponentKind, Phase } from "../report/estimate";
import type { Ledger, LedgerState } from "./ledger";
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
}

/** Layers in the stream: a repeat's number and the ordinal of the layer within it. */
export const NO_LAYER = -1;
const REPEAT = 65536;

export function layerLabel(repeat: number, ordinal: number): number {
  return repeat * REPEAT + ordinal;
}

/** Longest period of a layer pattern that is looked for. */
const LONGEST_PERIOD = 6;

/**
 * Finds the longest periodic run of layers and how much of it can be left out: two blocks before the one that is copied
 * (the first sees the irregular start) and two after it (the last sees the irregular end) are always run.
 *
 * @returns ordinals of the template block and the number of copies, or null when nothing is gained
 */
export function planFolding(signatures: readonly string[]): { from: number; to: number; copies: number } | null {
  const count = signatures.length;
  let best: { from: number; to: number; copies: number } | null = null;
  for (let period = 1; period <= LONGEST_PERIOD; period++) {
    for (let start = 0; start + period < count; ) {
      let end = start + period;
      while (end < count && signatures[end] === signatures[end - period]) end++;
      const copies = Math.floor((end - start) / period) - 5;
      if (copies > 0 && copies * period > (best === null ? 0 : best.copies * (best.to - best.from + 1)))
        best = { from: start + 2 * period, to: start + 3 * period - 1, copies };
      start = end > start + period ? end - period + 1 : start + 1;
    }
  }
  return best;
}

interface Segment {
  readonly label: number;
  readonly backward: boolean;
  readonly start: number;
  readonly end: number;
  /** Ids allocated in it, in order. */
  readonly births: number[];
}

export interface Region {
  /** `k` allocates local block `k`; `~k` frees it; `~(locals + id)` frees block `id` of the ledger. */
  readonly script: readonly number[];
  readonly bytes: readonly number[];
  readonly kinds: readonly ComponentKind[];
  readonly operators: readonly string[];
  readonly scopes: readonly string[];
  readonly phases: readonly { readonly phase: Phase; readonly at: number }[];
  /** Gradients that exist afterwards. */
  readonly gradients: readonly { readonly leaf: Tensor; readonly local: number }[];
  /**
   * The same micro-batch when gradients exist already: what a parameter took over is added to its gradient and freed on
   * the spot, what was made to be a gradient is not made.
   */
  readonly repeated: Script;
}

/** Events of a region with the phases that begin in it. */
export interface Script {
  readonly script: readonly number[];
  readonly phases: readonly { readonly phase: Phase; readonly at: number }[];
}

/** Finds the parameter that is to another layer what `leaf` is to its own. */
export type Counterpart = (leaf: Tensor, layer: number) => Tensor | undefined;

class Builder {
  readonly script: number[] = [];
  readonly again: number[] = [];
  readonly bytes: number[] = [];
  readonly kinds: ComponentKind[] = [];
  readonly operators: string[] = [];
  readonly scopes: string[] = [];
  readonly phases: { phase: Phase; at: number }[] = [];
  readonly phasesAgain: { phase: Phase; at: number }[] = [];
  readonly gradients: { leaf: Tensor; local: number }[] = [];
  /** Frees of the ledger's own blocks; their ids follow the locals, whose number is known at the end. */
  private readonly foreign: { at: number; again: number; id: number }[] = [];

  /** @param made blocks that were allocated only to be gradients */
  constructor(
    private readonly ledger: Ledger,
    private readonly made: ReadonlySet<number>,
  ) {}

  allocate(template: number): number {
    const local = this.bytes.length;
    const { ledger } = this;
    this.bytes.push(ledger.bytes[template]!);
    this.kinds.push(ledger.kinds[template]!);
    this.operators.push(ledger.operators[template]!);
    this.scopes.push(ledger.scopes[template]!);
    this.script.push(local);
    if (!this.made.has(template)) this.again.push(local);
    return local;
  }

  free(local: number): void {
    this.script.push(~local);
    this.again.push(~local);
  }

  /** A gradient that is only added to the one there is. */
  freeAgain(local: number): void {
    this.again.push(~local);
  }

  freeForeign(id: number): void {
    this.foreign.push({ at: this.script.length, again: this.again.length, id });
    this.free(0);
  }

  enter(phase: Phase): void {
    this.phases.push({ phase, at: this.script.length });
    this.phasesAgain.push({ phase, at: this.again.length });
  }

  finish(): Region {
    const locals = this.bytes.length;
    for (const { at, again, id } of this.foreign) {
      this.script[at] = ~(locals + id);
      this.again[again] = ~(locals + id);
    }
    const { script, bytes, kinds, operators, scopes, phases, gradients } = this;
    const repeated = { script: this.again, phases: this.phasesAgain };
    return { script, bytes, kinds, operators, scopes, phases, gradients, repeated };
  }
}

/** Where a block was allocated. */
interface Birth {
  readonly segment: Segment;
  readonly ordinal: number;
}

/** Everything derived from the events since `state`. */
class Recording {
  readonly segments: Segment[] = [];
  private readonly births = new Map<number, Birth>();

  constructor(
    readonly ledger: Ledger,
    readonly state: LedgerState,
  ) {
    const { events, marks } = ledger;
    const seen = new Set<number>();
    let label = NO_LAYER;
    let start = state.events;
    const close = (end: number): void => {
      if (end > start) {
        const segment: Segment = { label, backward: seen.has(label), start, end, births: [] };
        for (let k = start; k < end; k++) {
          const event = events[k]!;
          if (event < 0) continue;
          this.births.set(event, { segment, ordinal: segment.births.length });
          segment.births.push(event);
        }
        this.segments.push(segment);
        if (label !== NO_LAYER) seen.add(label);
      }
      start = end;
    };
    for (const mark of marks.slice(state.marks)) {
      if (mark.label === label) continue;
      close(mark.event);
      label = mark.label;
    }
    close(events.length);
  }

  birth(id: number): Birth | undefined {
    return this.births.get(id);
  }

  segment(label: number, backward: boolean): Segment | undefined {
    return this.segments.find((segment) => segment.label === label && segment.backward === backward);
  }

  /** Events of a layer with blocks named relative to it, or null when it frees something outside the repeat. */
  relative(segment: Segment): string | null {
    const { events, bytes } = this.ledger;
    const codes: string[] = [];
    for (let k = segment.start; k < segment.end; k++) {
      const event = events[k]!;
      if (event >= 0) codes.push(`+${bytes[event]}`);
      else {
        const born = this.births.get(~event);
        if (born === undefined || Math.floor(born.segment.label / REPEAT) !== Math.floor(segment.label / REPEAT))
          return null;
        codes.push(`-${born.segment.backward ? "b" : "f"}${born.segment.label - segment.label},${born.ordinal}`);
      }
    }
    return codes.join(" ");
  }

  /** Whether the block that would be copied does what both its neighbours do. */
  isPeriodic(folding: Folding): boolean {
    const length = folding.to - folding.from + 1;
    // A frozen model's layers have a forward only.
    const trained = this.segments.some(
      ({ label, backward }) => backward && Math.floor(label / REPEAT) === folding.repeat,
    );
    for (const backward of trained ? [false, true] : [false]) {
      for (let ordinal = folding.from; ordinal <= folding.to; ordinal++) {
        const own = this.segment(layerLabel(folding.repeat, ordinal), backward);
        // Forward copies follow the block, backward copies precede it.
        const twin = this.segment(layerLabel(folding.repeat, ordinal + (backward ? -length : length)), backward);
        const other = this.segment(layerLabel(folding.repeat, ordinal + (backward ? length : -length)), backward);
        if (own === undefined || twin === undefined || other === undefined) return false;
        if (other.births.length !== own.births.length) return false;
        const code = this.relative(own);
        if (code === null || code !== this.relative(twin)) return false;
      }
    }
    return true;
  }
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
  if (!active.every((folding) => recording.isPeriodic(folding))) return null;
  return new Unroller(recording, active, counterpart, trained).run(trained);
}

class Unroller {
  private readonly builder: Builder;
  /** Local block by direction, label after unrolling, and order of birth; blocks outside layers by id. */
  private readonly layered = new Map<number, number[]>();
  private readonly plain = new Map<number, number>();
  private readonly byRepeat: ReadonlyMap<number, Folding>;

  /** Gradients taken over, by the event after which that happened. */
  private readonly taken = new Map<number, number[]>();

  constructor(
    private readonly recording: Recording,
    foldings: readonly Folding[],
    private readonly counterpart: Counterpart,
    trained: readonly Tensor[],
  ) {
    const { ledger, state } = recording;
    const kept = new Set(
      trained.flatMap(({ grad }) => (grad !== null && grad.storage.id >= state.ids ? [grad.storage.id] : [])),
    );
    const made = new Set(kept);
    // Gradients of several parameters may be parts of one block (of what was put together): it goes with the last of them.
    const last = new Map(ledger.takeovers.slice(state.takeovers).map(({ event, id }) => [id, event]));
    for (const [id, event] of last) {
      if (!kept.has(id)) continue;
      made.delete(id);
      const after = this.taken.get(event - 1);
      if (after === undefined) this.taken.set(event - 1, [id]);
      else after.push(id);
    }
    this.builder = new Builder(ledger, made);
    this.byRepeat = new Map(foldings.map((folding) => [folding.repeat, folding]));
  }

  run(trained: readonly Tensor[]): Region | null {
    const { recording, builder } = this;
    const { ledger, state } = recording;
    let phase = state.phases;
    const enterPhases = (event: number): void => {
      while (phase < ledger.phaseList.length && ledger.phaseList[phase]!.firstEvent <= event) {
        builder.enter(ledger.phaseList[phase]!.phase);
        phase++;
      }
    };
    for (const segment of recording.segments) {
      const folding = this.foldingOf(segment.label);
      const ordinal = segment.label % REPEAT;
      if (folding !== undefined && segment.backward && ordinal === folding.to)
        for (let copy = folding.copies; copy >= 1; copy--) this.copyBlock(folding, copy, true);
      this.original(segment, enterPhases);
      if (folding !== undefined && !segment.backward && ordinal === folding.to)
        for (let copy = 1; copy <= folding.copies; copy++) this.copyBlock(folding, copy, false);
    }
    enterPhases(ledger.events.length);
    for (const leaf of trained) if (!this.gradient(leaf)) return null;
    return builder.finish();
  }

  private foldingOf(label: number): Folding | undefined {
    return label === NO_LAYER ? undefined : this.byRepeat.get(Math.floor(label / REPEAT));
  }

  /** Ordinal of a layer once the missing ones are back. */
  private place(folding: Folding, ordinal: number, copy: number): number {
    const length = folding.to - folding.from + 1;
    return ordinal <= folding.to ? ordinal + copy * length : ordinal + folding.copies * length;
  }

  private key(repeat: number, place: number, backward: boolean): number {
    return (repeat * REPEAT + place) * 2 + (backward ? 1 : 0);
  }

  private bucket(repeat: number, place: number, backward: boolean): number[] {
    const key = this.key(repeat, place, backward);
    let bucket = this.layered.get(key);
    if (bucket === undefined) {
      bucket = [];
      this.layered.set(key, bucket);
    }
    return bucket;
  }

  /** Emits a segment as it was simulated. */
  private original(segment: Segment, enterPhases: (event: number) => void): void {
    const { recording, builder } = this;
    const { events } = recording.ledger;
    const folding = this.foldingOf(segment.label);
    for (let k = segment.start; k < segment.end; k++) {
      enterPhases(k);
      const event = events[k]!;
      if (event >= 0) {
        const local = builder.allocate(event);
        if (folding === undefined) this.plain.set(event, local);
        else this.bucket(folding.repeat, this.place(folding, segment.label % REPEAT, 0), segment.backward).push(local);
        this.takeOver(k, 0);
        continue;
      }
      const born = recording.birth(~event);
      const owner = born === undefined ? undefined : this.foldingOf(born.segment.label);
      if (born === undefined) builder.freeForeign(~event);
      else if (owner === undefined) builder.free(this.plain.get(~event)!);
      else if (owner === folding) builder.free(this.relative(owner, segment, born, 0));
      else k = this.outside(owner, born, k, segment.end) - 1;
      this.takeOver(k, 0);
    }
  }

  /** Frees, in the repeated script, the gradients parameters took over after event `event` of a segment. */
  private takeOver(event: number, copy: number): void {
    for (const id of this.taken.get(event) ?? []) {
      const born = this.recording.birth(id)!;
      const owner = this.foldingOf(born.segment.label);
      this.builder.freeAgain(owner === undefined ? this.plain.get(id)! : this.resolve(owner, born, copy));
    }
  }

  /** Frees, from outside the layers, what one layer allocated; the copies' blocks go right after. */
  private outside(folding: Folding, first: Birth, start: number, limit: number): number {
    const { recording, builder } = this;
    const { events } = recording.ledger;
    const births: Birth[] = [];
    let k = start;
    for (; k < limit; k++) {
      const event = events[k]!;
      const born = event < 0 ? recording.birth(~event) : undefined;
      if (born === undefined || born.segment.label !== first.segment.label) break;
      births.push(born);
    }
    for (const born of births) builder.free(this.resolve(folding, born, 0));
    const ordinal = first.segment.label % REPEAT;
    if (ordinal >= folding.from && ordinal <= folding.to)
      for (let copy = 1; copy <= folding.copies; copy++)
        for (const born of births) builder.free(this.resolve(folding, born, copy));
    return k;
  }

  private resolve(folding: Folding, born: Birth, copy: number): number {
    const place = this.place(folding, born.segment.label % REPEAT, copy);
    return this.layered.get(this.key(folding.repeat, place, born.segment.backward))![born.ordinal]!;
  }

  /** A block named from within the layers: so many layers away from the one that frees it. */
  private relative(folding: Folding, segment: Segment, born: Birth, copy: number): number {
    const here = this.place(folding, segment.label % REPEAT, copy);
    const place = here + born.segment.label - segment.label;
    return this.layered.get(this.key(folding.repeat, place, born.segment.backward))![born.ordinal]!;
  }

  /** Emits one more block of layers after the template block, `copy` blocks further on. */
  private copyBlock(folding: Folding, copy: number, backward: boolean): void {
    const ordinals: number[] = [];
    for (let ordinal = folding.from; ordinal <= folding.to; ordinal++) ordinals.push(ordinal);
    if (backward) ordinals.reverse();
    for (const ordinal of ordinals) this.copyLayer(folding, ordinal, copy, backward);
  }

  private copyLayer(folding: Folding, ordinal: number, copy: number, backward: boolean): void {
    const { recording, builder } = this;
    const { events } = recording.ledger;
    const segment = recording.segment(layerLabel(folding.repeat, ordinal), backward)!;
    const here = this.place(folding, ordinal, copy);
    const bucket = this.bucket(folding.repeat, here, backward);
    for (let k = segment.start; k < segment.end; k++) {
      const event = events[k]!;
      if (event >= 0) bucket.push(builder.allocate(event));
      else builder.free(this.relative(folding, segment, recording.birth(~event)!, copy));
      this.takeOver(k, copy);
    }
  }

  /** Notes a gradient made in this region, and those of the same parameter in the copied layers. */
  private gradient(leaf: Tensor): boolean {
    const id = leaf.grad?.storage.id ?? -1;
    const born = id < 0 ? undefined : this.recording.birth(id);
    if (born === undefined) return true;
    const folding = this.foldingOf(born.segment.label);
    const { gradients } = this.builder;
    if (folding === undefined) {
      gradients.push({ leaf, local: this.plain.get(id)! });
      return true;
    }
    gradients.push({ leaf, local: this.resolve(folding, born, 0) });
    const ordinal = born.segment.label % REPEAT;
    if (ordinal < folding.from || ordinal > folding.to) return true;
    for (let copy = 1; copy <= folding.copies; copy++) {
      const twin = this.counterpart(leaf, folding.first + this.place(folding, ordinal, copy));
      if (twin === undefined) return false;
      gradients.push({ leaf: twin, local: this.resolve(folding, born, copy) });
    }
    return true;
  }
}

/**
 * Plays a region: its events are appended to the ledger and its gradients appear on their parameters, where they are
 * not there already (`repeated`).
 */
export function playRegion(ledger: Ledger, region: Region, step: number, repeated = false): void {
  const locals = region.bytes.length;
  const ids = new Array<number>(locals);
  let phase = 0;
  const { script, phases } = repeated ? region.repeated : region;
  for (let k = 0; k <= script.length; k++) {
    while (phase < phases.length && phases[phase]!.at <= k) ledger.enter(phases[phase++]!.phase, step);
    if (k === script.length) break;
    const code = script[k]!;
    if (code >= 0) {
      ids[code] = ledger.append(
        region.bytes[code]!,
        region.operators[code]!,
        region.kinds[code]!,
        region.scopes[code]!,
      );
    } else {
      const which = ~code;
      ledger.free(which < locals ? ids[which]! : which - locals);
    }
  }
  if (repeated) return;
  const storages = new Map<number, { id: number; references: number }>();
  for (const { leaf, local } of region.gradients) {
    const storage = storages.get(local) ?? { id: ids[local]!, references: 0 };
    storage.references++;
    storages.set(local, storage);
    leaf.grad = new Tensor(ledger, storage, leaf.sizes, leaf.strides, leaf.dtype);
  }
}
