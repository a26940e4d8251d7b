/**
 * A micro-batch that leaves something behind (results and batches that a loop names until the next ones are there) is run where
 * it stands: its middle layers are put back among its events, and what is there afterwards is of the blocks that are played.
 */
import type { LedgerState } from "../ledger";
import type { Storage, Tensor } from "../tensor";
import type { Torch } from "../torch";
import type { Folding } from "./plan";
import { appearing, unrollerOf } from "./region";
import type { Counterpart, Region, Unroller } from "./unroller";

/** Layers did not do what their neighbours did, or left out ones would leave something behind: all of them have to be run. */
export class LayersDiffer extends Error {}

/** The parameters whose gradients are looked for. */
export interface Trained {
  readonly trained: readonly Tensor[];
  readonly find: Counterpart;
}

/**
 * Puts the layers that `foldings` leave out back into the ledger, and their gradients on their parameters. Throws
 * `LayersDiffer` where they cannot be known.
 *
 * @param made every storage since `state`
 */
export function putBack(
  torch: Torch,
  state: LedgerState,
  foldings: readonly Folding[],
  { trained, find }: Trained,
  made: readonly Storage[],
): void {
  if (foldings.every(({ copies }) => copies === 0)) return;
  const { ledger } = torch;
  const unroller = unrollerOf(ledger, state, foldings, trained, find);
  const region = unroller?.run(trained) ?? null;
  if (unroller === null || region === null || leavesMore(region, unroller)) throw new LayersDiffer();
  const step = ledger.phaseList[state.phases]?.step ?? 0;
  ledger.rewind(state);
  const base = ledger.play(region.script, step);
  for (const storage of made)
    if (storage.references > 0 && storage.id >= state.ids) storage.id = base + unroller.localOf(storage.id);
  const missing = region.gradients.filter(({ leaf }) => leaf.grad === null);
  const appear = appearing(ledger, missing);
  for (const { leaf } of missing) appear(leaf, base);
}

/** Whether a layer that stands for those left out has anything but gradients in the end: what is left out would, too. */
function leavesMore({ gradients }: Region, unroller: Unroller): boolean {
  const known = new Set(gradients.flatMap(({ leaf }) => (leaf.grad === null ? [] : [leaf.grad.storage.id])));
  return unroller.outlivingCopied().some((id) => !known.has(id));
}
