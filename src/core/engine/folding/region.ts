/**
 * The events of one micro-batch as a script that can be played again: the middle layers of a deep model are simulated
 * once and repeated, and a second step that does the same as the first is copied.
 *
 * Nothing is approximated: a copy is made only when the neighbouring layers produced the same events, with every freed
 * block named relative to the layer that frees it. Where they did not, the region is left as it was simulated.
 */
import type { Ledger, LedgerState } from "../ledger";
import { tell } from "../notes";
import { Storage, Tensor } from "../tensor";
import type { Torch } from "../torch";
import { REPEATS_EACH } from "./label";
import type { Folding } from "./plan";
import { Recording } from "./recording";
import { type Counterpart, type Region, Unroller } from "./unroller";

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
  return unrollerOf(ledger, state, foldings, trained, counterpart)?.run(trained) ?? null;
}

/** What puts the layers left out back into the events since `state`; null when a folding does not hold. */
export function unrollerOf(
  ledger: Ledger,
  state: LedgerState,
  foldings: readonly Folding[],
  trained: readonly Tensor[],
  counterpart: Counterpart,
): Unroller | null {
  const active = foldings.filter((folding) => folding.copies > 0);
  const recording = new Recording(ledger, state, ledger.marks, state.marks, pairedOf(active));
  if (active.length > 0 && recording.interleaved) return null;
  if (!active.every((folding) => recording.isPeriodic(folding))) return null;
  return new Unroller(recording, active, counterpart, trained);
}

/** Foldings by their repeats, where there are several passes: a layer of one may free what it has made in another. */
function pairedOf(foldings: readonly Folding[]): ReadonlyMap<number, Folding> | undefined {
  if (foldings.every(({ repeat }) => repeat < REPEATS_EACH)) return undefined;
  return new Map(foldings.map((folding) => [folding.repeat, { ...folding, stack: folding.repeat % REPEATS_EACH }]));
}

/** Puts gradients on their parameters, each once, with the number of the script's first block; several may be parts of one block. */
export function appearing(ledger: Ledger, made: Region["gradients"]): (leaf: Tensor, first: number) => void {
  const storages = storagesOf(made, 0);
  const locals = new Map<Tensor, number>();
  for (const { leaf, local } of made) locals.set(leaf, local);
  return (leaf, first) => {
    const local = locals.get(leaf);
    if (local === undefined) return;
    locals.delete(leaf);
    const storage = storages.get(local)!;
    storage.id = first + local;
    putOn(ledger, leaf, storage);
  };
}

/** The blocks of gradients by their numbers in the script, of which the ledger has the first under `first`. */
function storagesOf(made: Region["gradients"], first: number): ReadonlyMap<number, Storage> {
  const storages = new Map<number, Storage>();
  for (const { local } of made) {
    const storage = storages.get(local);
    if (storage === undefined) storages.set(local, new Storage(first + local));
    else storage.references++;
  }
  return storages;
}

function putOn(ledger: Ledger, leaf: Tensor, storage: Storage): void {
  leaf.grad = new Tensor(ledger, storage, leaf.sizes, leaf.byRows ? null : leaf.strides, leaf.dtype);
}

/**
 * Plays a region: its events are appended to the ledger and its gradients appear on their parameters, where they are
 * not there already (`repeated`). Whoever watches is told of its notes between the events.
 */
export function playRegion(torch: Torch, region: Region, step: number, repeated = false): void {
  const { ledger, watcher } = torch;
  const made = repeated ? [] : region.gradients;
  const script = repeated ? region.repeated() : region.script;
  if (watcher === null) {
    const storages = storagesOf(made, ledger.play(script, step));
    for (const { leaf, local } of made) putOn(ledger, leaf, storages.get(local)!);
    return;
  }
  const appear = appearing(ledger, made);
  const first = ledger.play(script, step, (note, base) => {
    if (note.kind === "gradient") appear(note.leaf, base);
    tell(torch, watcher, note);
  });
  for (const { leaf } of made) appear(leaf, first);
}
