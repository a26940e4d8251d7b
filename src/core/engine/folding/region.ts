/**
 * The events of one micro-batch as a script that can be played again: the middle layers of a deep model are simulated
 * once and repeated, and a second step that does the same as the first is copied.
 *
 * Nothing is approximated: a copy is made only when the neighbouring layers produced the same events, with every freed
 * block named relative to the layer that frees it. Where they did not, the region is left as it was simulated.
 */
import type { Ledger, LedgerState } from "../ledger";
import { Tensor } from "../tensor";
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
  const recording = new Recording(ledger, state);
  const active = foldings.filter((folding) => folding.copies > 0);
  if (active.length > 0 && recording.interleaved) return null;
  if (!active.every((folding) => recording.isPeriodic(folding))) return null;
  return new Unroller(recording, active, counterpart, trained).run(trained);
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
