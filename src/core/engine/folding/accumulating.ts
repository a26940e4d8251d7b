/** A micro-batch after the first of a step: gradients are added to those that are there. */
import { Numbers } from "../../columns";
import type { Script } from "../ledger";

/**
 * A script as it runs where its gradients are there already.
 *
 * @param isMade whether a local block is there to be a gradient only
 * @param handed blocks that become gradients, which are added instead and freed, after so many events
 */
export function accumulating(
  { events, bytes, labels, phases, notes }: Script,
  isMade: (local: number) => boolean,
  handed: readonly { readonly at: number; readonly local: number }[],
): Script {
  const locals = bytes.length;
  const renumbered = new Int32Array(locals);
  let count = 0;
  for (let local = 0; local < locals; local++) renumbered[local] = isMade(local) ? -1 : count++;
  const out = new Numbers(events.length + handed.length);
  const begun: Script["phases"][number][] = [];
  const told: Script["notes"][number][] = [];
  let hand = 0;
  for (let k = 0; k <= events.length; k++) {
    for (; hand < handed.length && handed[hand]!.at <= k; hand++) out.push(~renumbered[handed[hand]!.local]!);
    while (begun.length < phases.length && phases[begun.length]!.at <= k)
      begun.push({ phase: phases[begun.length]!.phase, at: out.length });
    while (told.length < notes.length && notes[told.length]!.at <= k)
      told.push({ note: notes[told.length]!.note, at: out.length });
    if (k === events.length) break;
    const code = events[k]!;
    if (code >= 0) {
      if (renumbered[code]! >= 0) out.push(renumbered[code]!);
    } else out.push(~code < locals ? ~renumbered[~code]! : code + locals - count);
  }
  const keptBytes = new Float64Array(count);
  const keptLabels = new Int32Array(count);
  for (let local = 0; local < locals; local++) {
    const kept = renumbered[local]!;
    if (kept < 0) continue;
    keptBytes[kept] = bytes[local]!;
    keptLabels[kept] = labels[local]!;
  }
  return { events: out.values(), bytes: keptBytes, labels: keptLabels, phases: begun, notes: told };
}
