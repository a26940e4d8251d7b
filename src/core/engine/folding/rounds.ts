/**
 * Loops inside layers (`for i in range(seq_len)` in the slow forward of
 * transformers/models/falcon_mamba/modeling_falcon_mamba.py, the recurrence of
 * transformers/models/recurrent_gemma/modeling_recurrent_gemma.py): the first rounds and the last ones are run, those between
 * them are put back by the events of one that did what its neighbours did, as layers are (`recording.ts`).
 */
import { isOfLayer } from "../../graph/expression";
import type { GraphFunction, Instruction, Operand } from "../../graph/types";
import type { Ledger, LedgerState } from "../ledger";
import type { Storage } from "../tensor";
import { layerLabel, NO_LAYER } from "./label";
import type { Folding } from "./plan";
import { type Outliving, Recording } from "./recording";
import { Unroller } from "./unroller";

/** Steps that a run is followed for. */
const STEPS = 2;
/** Rounds that are run before the one that is copied. */
const RUN_BEFORE = 2;
/**
 * Rounds that are run after its copies. They come first in backward: the last one's states may get no gradient, the one before
 * makes the first gradient of what all rounds read a part of, the one before that is the first to add to it.
 */
const RUN_AFTER = 3;
const RUN = RUN_BEFORE + 1 + RUN_AFTER;

/** Rounds did not do what their neighbours did: all of them have to be run. */
export class RoundsDiffer extends Error {}

/** A loop of which rounds are left out. */
export interface Loop {
  readonly number: number;
  /** Indices of the rounds that are run. */
  readonly indices: readonly number[];
  /** Ordinal of the round that is copied, and how often. */
  readonly copied: number;
  readonly copies: number;
}

/** A block of a round that was there after its micro-batch. */
interface Outlived {
  /** The loop that it is of. */
  readonly loop: Folding;
  readonly round: number;
  readonly name: string;
  readonly id: number;
  /** What it is to the rounds left out, in their order. */
  readonly copies: readonly number[];
}

/** Blocks of rounds that modules keep to their next forward (`kept.ts`), by id. */
export type KeptRounds = Map<number, Outlived>;

/** The loops of one micro-batch, and the blocks it makes. */
export class Rounds {
  readonly foldings: Folding[] = [];
  private readonly state: LedgerState;

  /** @param kept null where nothing of a round may outlive its micro-batch */
  constructor(
    private readonly ledger: Ledger,
    private readonly kept: KeptRounds | null,
  ) {
    this.state = ledger.state();
  }

  /** Leaves rounds from `first` to `last` (exclusive) out; null where all have to be run. */
  begin(fn: GraphFunction, first: number, last: number): Loop | null {
    const copies = last - first - RUN;
    if (copies <= 0 || !fn.body.every(isAlike)) return null;
    // What a round makes comes back in forward and backward of both steps.
    this.ledger.checkRoom(2 * STEPS * copies * fn.body.length);
    const number = this.foldings.length;
    this.foldings.push({ repeat: number, first, from: RUN_BEFORE, to: RUN_BEFORE, copies });
    const indices = Array.from({ length: RUN }, (_, k) => first + k + (k > RUN_BEFORE ? copies : 0));
    return { number, indices, copied: RUN_BEFORE, copies };
  }

  /**
   * Puts the rounds back into the ledger. Throws `RoundsDiffer` where they cannot be known.
   *
   * @param made every storage since the micro-batch began
   */
  unroll(made: readonly Storage[]): void {
    const { ledger, state, foldings } = this;
    if (foldings.length === 0) {
      ledger.roundMarks.length = state.roundMarks;
      return;
    }
    const byRepeat = new Map(foldings.map((folding) => [folding.repeat, folding]));
    const recording = new Recording(ledger, state, ledger.roundMarks, state.roundMarks, byRepeat);
    if (recording.interleaved || !foldings.every((folding) => recording.holds(folding))) throw new RoundsDiffer();
    if ([...ledger.apart].some((id) => id >= state.ids)) throw new RoundsDiffer();
    const outliving = recording.outliving();
    const isCopied = ({ repeat, ordinal }: Outliving): boolean => byRepeat.get(repeat)?.from === ordinal;
    if (this.kept === null && outliving.some(isCopied)) throw new RoundsDiffer();
    const unroller = new Unroller(recording, foldings, () => undefined, [], this.freedInstead());
    const region = unroller.run([]);
    if (region === null) throw new RoundsDiffer();
    const marks = ledger.marks.slice(state.marks);
    const takeovers = ledger.takeovers.slice(state.takeovers);
    const step = ledger.phaseList[state.phases]?.step ?? 0;
    ledger.rewind(state);
    const base = ledger.play(region.script, step);
    const placeOf = (event: number): number => state.events + unroller.placeOf(event);
    const idOf = (id: number): number => (id < state.ids ? id : base + unroller.localOf(id));
    for (const { event, label } of marks) ledger.marks.push({ event: placeOf(event), label });
    // What was taken over was so right after an event.
    for (const { event, id } of takeovers) ledger.takeovers.push({ event: placeOf(event - 1) + 1, id: idOf(id) });
    for (const one of outliving) {
      const loop = byRepeat.get(one.repeat)!;
      const copies = Array.from({ length: isCopied(one) ? loop.copies : 0 }, (_, k) => k + 1);
      const id = idOf(one.id);
      this.kept?.set(id, {
        id,
        loop,
        round: one.ordinal,
        name: one.name,
        copies: copies.map((copy) => base + unroller.localOf(one.id, copy)),
      });
    }
    for (const storage of made) if (storage.references > 0) storage.id = idOf(storage.id);
  }

  /** What is freed in place of what those rounds that were run before had allocated, by event: that of all rounds. */
  private freedInstead(): ReadonlyMap<number, readonly number[]> {
    const instead = new Map<number, readonly number[]>();
    for (const run of this.runs())
      for (let from = 0; from < run.frees.length; ) {
        const stretch = stretchOf(run, from);
        if (stretch === null) {
          if (run.frees[from++]!.round === run.loop.from) throw new RoundsDiffer();
          continue;
        }
        for (let k = 0; k < stretch.length; k++)
          instead.set(run.at + from + k, k === 0 ? this.whole(run, stretch) : []);
        from += stretch.length;
      }
    return instead;
  }

  /** The blocks of a stretch with those of the rounds left out. */
  private whole({ frees, loop }: Run, { from, length, period, step }: Stretch): number[] {
    const ids = new Map<string, number>();
    for (const { name, round, id, copies } of frees) {
      ids.set(`${round > loop.to ? round + loop.copies : round} ${name}`, id);
      copies.forEach((copy, k) => {
        ids.set(`${round + 1 + k} ${name}`, copy);
      });
    }
    return Array.from({ length: length + period * loop.copies }, (_, k) => {
      const { round, name } = frees[from + (k % period)]!;
      const first = round > loop.to ? round + loop.copies : round;
      const id = ids.get(`${first + step * Math.floor(k / period)} ${name}`);
      if (id === undefined) throw new RoundsDiffer();
      return id;
    });
  }

  private runs(): readonly Run[] {
    const { ledger, kept, state } = this;
    const runs: Run[] = [];
    const { events } = ledger;
    for (let k = state.events; k < events.length && kept !== null; k++) {
      const event = events[k]!;
      const free = event < 0 ? kept.get(~event) : undefined;
      if (free === undefined) continue;
      const run = runs.at(-1);
      if (run?.loop === free.loop && run.at + run.frees.length === k) run.frees.push(free);
      else runs.push({ loop: free.loop, at: k, frees: [free] });
    }
    return runs;
  }
}

/** Frees, one after the other, of what rounds of one loop had allocated. */
interface Run {
  readonly loop: Folding;
  /** The first of the events. */
  readonly at: number;
  readonly frees: Outlived[];
}

/** Part of a run in which every `period` frees do for the next round (`step`: which way) what those before did for theirs. */
interface Stretch {
  readonly from: number;
  readonly length: number;
  readonly period: number;
  readonly step: number;
}

/** Longest period that is looked for: blocks of one round. */
const LONGEST_PERIOD = 8;

/** The longest stretch that goes from one side of the rounds left out to the other; null without any. */
function stretchOf({ frees, loop }: Run, from: number): Stretch | null {
  let best: Stretch | null = null;
  for (let period = 1; period <= LONGEST_PERIOD; period++)
    for (const step of [-1, 1]) {
      let length = period;
      for (; from + length < frees.length; length++) {
        const [one, other] = [frees[from + length - period]!, frees[from + length]!];
        if (one.name !== other.name || other.round !== one.round + step) break;
      }
      const isAfter = ({ round }: Outlived): boolean => round > loop.to;
      const first = frees.slice(from, from + period);
      const last = frees.slice(from + length - period, from + length);
      const crosses = first.every((one) => isAfter(one) === step < 0) && last.every((one) => isAfter(one) === step > 0);
      if (crosses && length > (best?.length ?? 0)) best = { from, length, period, step };
    }
  return best;
}

/** The label of events that belong to one round. */
export function roundLabel({ number }: Loop, ordinal: number): number {
  return layerLabel(number, ordinal);
}

export const NO_ROUND = NO_LAYER;

/** Whether what an instruction makes has the same size in every round: the index only picks an element. */
function isAlike(instruction: Instruction): boolean {
  if ("block" in instruction || "repeat" in instruction || "store" in instruction) return false;
  if ("op" in instruction) {
    const { op, in: operands, kw } = instruction;
    const sizes = op === "select.int" ? operands.slice(0, 2) : operands;
    return !sizes.some(isCounted) && !Object.values(kw ?? {}).some(isCounted);
  }
  if ("call" in instruction) return ![...instruction.in, ...Object.values(instruction.attrs ?? {})].some(isCounted);
  return true;
}

function isCounted(operand: Operand): boolean {
  if (Array.isArray(operand)) return operand.some(isCounted);
  return typeof operand === "string" && operand.startsWith("=") && isOfLayer(operand.slice(1));
}
