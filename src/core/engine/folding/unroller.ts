/** Turns recorded events into a script, with the layers that were left out put back. */
import { Numbers } from "../../columns";
import type { Script } from "../ledger";
import type { Note, PlacedNote } from "../notes";
import type { Tensor } from "../tensor";
import { accumulating } from "./accumulating";
import { layerLabel, NO_LAYER, ordinalOf, repeatOf } from "./label";
import type { Folding } from "./plan";
import { awayFrom, type Recording, type Segment } from "./recording";

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

/** Events and blocks of all segments once the missing layers are back. */
function unrolledLength(segments: readonly Segment[]): readonly [events: number, blocks: number] {
  let [events, blocks] = [0, 0];
  for (const { label, folding, start, end, births } of segments) {
    const copied = folding !== undefined && ordinalOf(label) >= folding.from && ordinalOf(label) <= folding.to;
    const times = copied ? 1 + folding.copies : 1;
    events += times * (end - start);
    blocks += times * births;
  }
  return [events, blocks];
}

/** Local numbers of the first block of each layer of a repeat once the missing ones are back, by direction. */
type Firsts = readonly [Int32Array, Int32Array];

/** Where blocks that a layer frees were allocated: so many layers away, `firsts` says where those of each layer begin. */
interface Home {
  readonly firsts: Int32Array;
  readonly away: number;
}

/** A layer's events relative to it. */
interface Relative {
  /** Its blocks, in the order in which they are allocated. */
  readonly born: Int32Array;
  /** Of each event the block, counted from the first of its layer: `k` for an allocation, `~k` for a free. */
  readonly codes: Int32Array;
  /** Of each free the place in `homes`. */
  readonly homeOf: Uint16Array;
  readonly homes: readonly Home[];
  readonly notes: readonly PlacedNote[];
  /** Whether parameters take over gradients in it. */
  readonly takes: boolean;
}

/** Indices in the model of a layer and of one that does the same. */
interface Shift {
  readonly from: number;
  readonly to: number;
}

const NO_NOTES: readonly PlacedNote[] = [];

/** Hands notes out to the segments among whose events they stand; at a border, to the one of their layer. */
function notesBySegment(
  segments: readonly Segment[],
  notes: readonly PlacedNote[],
): ReadonlyMap<Segment, readonly PlacedNote[]> {
  const found = new Map<Segment, readonly PlacedNote[]>();
  let next = 0;
  segments.forEach((segment, k) => {
    const first = next;
    const isLast = k === segments.length - 1;
    const isOwn = ({ event, layer }: PlacedNote): boolean =>
      isLast || event < segment.end || (event === segment.end && layer === segment.label);
    while (next < notes.length && isOwn(notes[next]!)) next++;
    if (next > first) found.set(segment, notes.slice(first, next));
  });
  return found;
}

export class Unroller {
  private readonly events: Numbers;
  /** The block of the ledger that each local block repeats. */
  private readonly templates: Numbers;
  private readonly phases: Script["phases"][number][] = [];
  private readonly notes: Script["notes"][number][] = [];
  /** Paths of modules in other layers, by the path and the layer. */
  private readonly paths = new Map<string, Map<number, string>>();
  /** The notes of each segment. */
  private readonly notesOf: ReadonlyMap<Segment, readonly PlacedNote[]>;
  private readonly gradients: { leaf: Tensor; local: number }[] = [];
  /** Where each event since the state stands in the script. */
  private readonly places: Int32Array;
  /** Where the script frees blocks of the ledger. */
  private readonly foreign: number[] = [];
  private readonly firsts = new Map<number, Firsts>();
  private readonly relatives = new Map<Segment, Relative>();
  /** Gradients taken over, by the event after which that happened, and whether there are any after an event. */
  private readonly taken = new Map<number, number[]>();
  private readonly isTaken: Uint8Array;
  /** Where the script hands a block over as a gradient: after so many events, in order. */
  private readonly handed: { readonly at: number; readonly local: number }[] = [];
  /** Whether a block was allocated only to be a gradient, by id. */
  private readonly made: Uint8Array;

  constructor(
    private readonly recording: Recording,
    private readonly foldings: readonly Folding[],
    private readonly counterpart: Counterpart,
    trained: readonly Tensor[],
    /** Blocks of before that are freed in place of one, by event. */
    private readonly instead: ReadonlyMap<number, readonly number[]> = new Map(),
  ) {
    const { ledger, state } = recording;
    const kept = new Set<number>();
    for (const { grad } of trained) if (grad !== null && grad.storage.id >= state.ids) kept.add(grad.storage.id);
    this.places = new Int32Array(recording.events.length - state.events);
    this.notesOf = notesBySegment(recording.segments, ledger.notes.slice(state.notes));
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
    ledger.checkRoom(events);
    this.events = new Numbers(events);
    this.templates = new Numbers(blocks);
    for (const folding of foldings) {
      const labels = recording.segments.filter(({ label }) => label !== NO_LAYER && repeatOf(label) === folding.repeat);
      const last = Math.max(...labels.map(({ label }) => ordinalOf(label)));
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
      const ordinal = ordinalOf(segment.label);
      if (folding !== undefined && segment.backward && ordinal === folding.to) this.copies(folding, true);
      this.original(segment, enterPhases);
      if (folding !== undefined && !segment.backward && ordinal === folding.to) this.copies(folding, false);
    }
    enterPhases(ledger.eventCount);
    if (recording.segments.length === 0) this.tell(ledger.notes.slice(state.notes), 0, Number.POSITIVE_INFINITY, null);
    for (const leaf of trained) if (!this.gradient(leaf)) return null;
    return this.finish();
  }

  /** Where an event stands among those of the script; the end for the one that would come next. */
  placeOf(event: number): number {
    return this.places[event - this.recording.state.events] ?? this.events.length;
  }

  /** Blocks that are there at the end, of the layers that are copied. */
  outlivingCopied(): readonly number[] {
    const { recording, foldings } = this;
    return recording.outliving().flatMap(({ id, repeat, ordinal }) => {
      const isCopied = foldings.some((one) => one.repeat === repeat && ordinal >= one.from && ordinal <= one.to);
      return isCopied ? [id] : [];
    });
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
    const script: Script = { events, bytes: sizes, labels, phases: this.phases, notes: this.notes };
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
    const here = folding === undefined ? 0 : this.place(folding, ordinalOf(segment.label), 0);
    segment.first = templates.length;
    if (folding !== undefined) this.firsts.get(folding.repeat)![segment.backward ? 1 : 0][here] = segment.first;
    const notes = this.notesOf.get(segment) ?? NO_NOTES;
    let told = 0;
    for (let k = segment.start; k < segment.end; k++) {
      enterPhases(k);
      told = this.tell(notes, told, k, null);
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
    this.tell(notes, told, Number.POSITIVE_INFINITY, null);
    // Gradients of the layers left out may be taken over outside all layers, too.
    if (segment.label !== NO_LAYER) return;
    for (let k = segment.start; k < segment.end; k++)
      for (const id of this.taken.get(k) ?? []) {
        const home = this.recording.home(id)!;
        const of = home.folding;
        const ordinal = ordinalOf(home.label);
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
      own === folding && ordinalOf(label) >= folding.from && ordinalOf(label) <= folding.to;
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
    const place = this.place(folding, ordinalOf(home.label), copy);
    return this.firsts.get(folding.repeat)![home.backward ? 1 : 0][place]! + ordinal;
  }

  /** Emits the block of layers that is copied as often as layers were left out, the copies in the order of the pass. */
  private copies(folding: Folding, backward: boolean): void {
    const { from, to, copies } = folding;
    const layers = Array.from({ length: to - from + 1 }, (_, k) => (backward ? to - k : from + k)).flatMap(
      (ordinal) => {
        const segment = this.recording.segment(layerLabel(folding.repeat, ordinal), backward);
        return segment === undefined ? [] : [{ ordinal, segment, relative: this.relativeOf(segment) }];
      },
    );
    const firsts = this.firsts.get(folding.repeat)![backward ? 1 : 0];
    for (let k = 1; k <= copies; k++) {
      const copy = backward ? copies + 1 - k : k;
      for (const { ordinal, segment, relative } of layers) {
        const here = this.place(folding, ordinal, copy);
        firsts[here] = this.templates.length;
        if (relative.takes || relative.notes.length > 0) this.copyTold(folding, { segment, relative, here, copy });
        else this.copyPart(relative, here, 0, relative.codes.length);
        for (let k = 0; k < segment.births; k++) this.templates.push(relative.born[k]!);
      }
    }
  }

  /** As `copyPart` of a whole layer, with what it hands over and what is told in between. */
  private copyTold(
    folding: Folding,
    {
      segment,
      relative,
      here,
      copy,
    }: {
      readonly segment: Segment;
      readonly relative: Relative;
      readonly here: number;
      readonly copy: number;
    },
  ): void {
    const { notes } = relative;
    const shift = {
      from: folding.first + this.place(folding, ordinalOf(segment.label), 0),
      to: folding.first + here,
    };
    let told = 0;
    for (let k = segment.start; k < segment.end; k++) {
      told = this.tell(notes, told, k, shift);
      this.copyPart(relative, here, k - segment.start, k - segment.start + 1);
      this.takeOver(k, copy);
    }
    this.tell(notes, told, Number.POSITIVE_INFINITY, shift);
  }

  /** Emits events of a layer as those of the layer at place `here`. */
  private copyPart({ codes, homeOf, homes }: Relative, here: number, from: number, to: number): void {
    const { events } = this;
    const start = this.templates.length;
    for (let k = from; k < to; k++) {
      const code = codes[k]!;
      if (code >= 0) events.push(start + code);
      else {
        const { firsts, away } = homes[homeOf[k]!]!;
        events.push(code - firsts[here + away]!);
      }
    }
  }

  /**
   * Puts notes from the `told`th on into the script that stand no later than event `until`, of another layer where `shift`
   * says which.
   *
   * @returns how many have been put there
   */
  private tell(notes: readonly PlacedNote[], told: number, until: number, shift: Shift | null): number {
    let next = told;
    for (; next < notes.length && notes[next]!.event <= until; next++) {
      const { note } = notes[next]!;
      const own = shift === null ? note : this.shifted(note, shift);
      if (own !== null) this.notes.push({ note: own, at: this.events.length });
    }
    return next;
  }

  /** The path of a module of one layer in another. */
  private pathIn(path: string, from: number, to: number): string {
    let paths = this.paths.get(path);
    if (paths === undefined) {
      paths = new Map();
      this.paths.set(path, paths);
    }
    let found = paths.get(to);
    if (found === undefined) {
      const parts = path.split(".");
      const at = parts.indexOf(String(from));
      found = at < 0 ? path : parts.with(at, String(to)).join(".");
      paths.set(to, found);
    }
    return found;
  }

  /** What a note of one layer is to another; null where it has none. */
  private shifted(note: Note, { from, to }: Shift): Note | null {
    if (note.kind === "module") return { ...note, path: this.pathIn(note.path, from, to) };
    const { layer } = note.leaf;
    const leaf = layer === null ? undefined : this.counterpart(note.leaf, layer + to - from);
    return leaf === undefined ? null : { ...note, leaf };
  }

  private relativeOf(segment: Segment): Relative {
    const known = this.relatives.get(segment);
    if (known !== undefined) return known;
    const { recording } = this;
    const length = segment.end - segment.start;
    const codes = new Int32Array(length);
    const homeOf = new Uint16Array(length);
    const homes: Home[] = [];
    const born = new Int32Array(segment.births);
    let made = 0;
    let takes = false;
    for (let index = 0; index < length; index++) {
      const event = recording.events[segment.start + index]!;
      takes ||= this.isTaken[segment.start + index] === 1;
      if (event >= 0) {
        born[made] = event;
        codes[index] = made++;
        continue;
      }
      const home = recording.home(~event)!;
      const firsts = this.firsts.get(repeatOf(home.label))![home.backward ? 1 : 0];
      const away = awayFrom(home, segment);
      const at = homes.findIndex((one) => one.firsts === firsts && one.away === away);
      homeOf[index] = at < 0 ? homes.push({ firsts, away }) - 1 : at;
      codes[index] = ~recording.ordinal(~event);
    }
    const relative = { born, codes, homeOf, homes, notes: this.notesOf.get(segment) ?? NO_NOTES, takes };
    this.relatives.set(segment, relative);
    return relative;
  }

  /** Notes a gradient made in this region, and those of the same parameter in the copied layers. */
  private gradient(leaf: Tensor): boolean {
    const id = leaf.grad?.storage.id ?? -1;
    const home = id < 0 ? undefined : this.recording.home(id);
    if (home === undefined) return true;
    const { gradients } = this;
    gradients.push({ leaf, local: this.resolve(id, home, 0) });
    const { folding } = home;
    const ordinal = ordinalOf(home.label);
    if (folding === undefined || ordinal < folding.from || ordinal > folding.to) return true;
    for (let copy = 1; copy <= folding.copies; copy++) {
      const twin = this.counterpart(leaf, folding.first + this.place(folding, ordinal, copy));
      if (twin === undefined) return false;
      gradients.push({ leaf: twin, local: this.resolve(id, home, copy) });
    }
    return true;
  }
}
