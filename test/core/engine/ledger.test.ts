/** What the event stream says of blocks that are made in a row is what it says of them one by one. */
import { strict as assert } from "node:assert";
import { Ledger } from "../../../src/core/engine/ledger";

const ROUND = [700, 5000] as const;

/** The stream of a loop that keeps two blocks of each round, with the rounds behind the first made by `more`. */
function loop(more: (ledger: Ledger, ids: readonly number[]) => void): Ledger {
  const ledger = new Ledger();
  ledger.startCounting();
  ledger.enter("forward", 1);
  more(
    ledger,
    ROUND.map((bytes) => ledger.allocate(bytes, "cat", "activations", "model")),
  );
  return ledger;
}

describe("blocks made in a row", () => {
  it("are the events, the bytes and the peak of those made one by one", () => {
    const one = loop((ledger) => {
      const ids = Array.from({ length: 20 }, () =>
        ROUND.map((bytes) => ledger.allocate(bytes, "cat", "activations", "model")),
      );
      for (const id of ids.flat()) ledger.free(id);
    });
    const row = loop((ledger, ids) => ledger.freeRow(ledger.makeAgain(ids, 20), 40));
    const said = (ledger: Ledger) => ({
      events: [...ledger.events],
      bytes: [...ledger.bytes],
      labels: Array.from(ledger.bytes, (_, id) => ledger.labelOf(id)),
      phases: ledger.phaseList,
      peak: [ledger.peak, ledger.peakEvent, ledger.peakPhase, ledger.live],
    });
    assert.deepEqual(said(row), said(one));
  });

  it("are bounded as those are, and may be none", () => {
    const ledger = loop((ledger, ids) => assert.throws(() => ledger.makeAgain(ids, 1e9)));
    const { eventCount, live } = ledger;
    ledger.freeRow(ledger.makeAgain([], 5), 0);
    assert.deepEqual([ledger.eventCount, ledger.live], [eventCount, live]);
  });
});
