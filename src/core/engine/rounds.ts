/**
 * Loops inside layers (`for i in range(seq_len)` in the slow forward of
 * transformers/models/falcon_mamba/modeling_falcon_mamba.py, the recurrence of
 * transformers/models/recurrent_gemma/modeling_recurrent_gemma.py): the first rounds and the last ones are run, those between
 * them are put back by the events of one that did what its neighbours did, as layers are (`region.ts`).
 */
import { isOfLayer } from "../graph/expression";
import type { GraphFunction, Instruction, Operand } from "../graph/types";
import type { Ledger, LedgerState } from "./ledger";
import { type Folding, layerLabel, NO_LAYER, Recording, Unroller } from "./region";
import type { Storage } from "./tensor";

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

/** The loops of one micro-batch, and the blocks it makes. */
export class Rounds {
  readonly foldings: Folding[] = [];
  private readonly storages: Storage[] = [];
  private readonly state: LedgerState;

  constructor(private readonly ledger: Ledger) {
    this.state = ledger.state();
  }

  /** Leaves rounds from `first` to `last` (exclusive) out; null where all have to be run. */
  begin(fn: GraphFunction, first: number, last: number): Loop | null {
    const copies = last - first - RUN;
    if (copies <= 0 || !fn.body.every(isAlike)) return null;
    const number = this.foldings.length;
    this.foldings.push({ repeat: number, first, from: RUN_BEFORE, to: RUN_BEFORE, copies });
    const indices = Array.from({ length: RUN }, (_, k) => first + k + (k > RUN_BEFORE ? copies : 0));
    return { number, indices, copied: RUN_BEFORE, copies };
  }

  /** Notes a block that may outlive the micro-batch. */
  made(storage: Storage): void {
    this.storages.push(storage);
  }

  /** Puts the rounds back into the ledger. Throws `RoundsDiffer` where they cannot be known. */
  unroll(): void {
    const { ledger, state, foldings } = this;
    if (foldings.length === 0) {
      ledger.roundMarks.length = state.roundMarks;
      return;
    }
    const byRepeat = new Map(foldings.map((folding) => [folding.repeat, folding]));
    const recording = new Recording(ledger, state, ledger.roundMarks, state.roundMarks, byRepeat);
    if (recording.interleaved || !foldings.every((folding) => recording.holds(folding))) throw new RoundsDiffer();
    if ([...ledger.apart].some((id) => id >= state.ids)) throw new RoundsDiffer();
    const unroller = new Unroller(recording, foldings, () => undefined, []);
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
    for (const storage of this.storages) if (storage.references > 0) storage.id = idOf(storage.id);
  }
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
