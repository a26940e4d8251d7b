/** Streams of events, to be compared. */
import { strict as assert } from "node:assert";
import type { Ledger } from "../../src/core/engine/ledger";
import type { FamilyGraphs } from "../../src/core/graph/types";
import { simulate } from "../../src/core/simulate";
import type { TrainingRun } from "../../src/core/training/run";

/** Sizes of all events, with every free naming how many allocations ago its block was made. */
function stream({ events, bytes }: Ledger): string[] {
  const order = new Map<number, number>();
  return Array.from(events, (event) => {
    if (event >= 0) {
      order.set(event, order.size);
      return `+${bytes[event]}`;
    }
    return `-${order.get(~event)}`;
  });
}

/** Asserts that leaving out what repeats changes nothing; gives both ledgers. */
export function sameEvents(
  run: TrainingRun,
  graphs: FamilyGraphs,
): { readonly folded: Ledger; readonly whole: Ledger } {
  const [folded, whole] = [true, false].map((fold) => {
    const result = simulate(run, graphs, fold);
    assert.ok(result.ok);
    return result.simulation.ledger;
  }) as [Ledger, Ledger];
  assert.deepEqual(stream(folded), stream(whole));
  const freed = folded.events.filter((event) => event < 0);
  assert.equal(new Set(freed).size, freed.length, "a block is freed once");
  assert.equal(folded.peak, whole.peak);
  return { folded, whole };
}
