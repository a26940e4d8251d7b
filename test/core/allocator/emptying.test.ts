import { strict as assert } from "node:assert";
import { emptiedAt } from "../../../src/core/allocator/emptying";
import { reservedPeak } from "../../../src/core/allocator/replay";
import { simulate } from "../../../src/core/simulate";
import { graphsOf } from "../receipts/case";
import { causalRun } from "../runs";

const MIB = 2 ** 20;

describe("emptying the allocator's cache", () => {
  it("gives free segments that are whole back, and no others", () => {
    // 30 MiB come and go, then 40 MiB are wanted: a new segment, beside the free one or in its place.
    const stream = { events: [0, ~0, 1], bytes: [30 * MIB, 40 * MIB] };
    assert.equal(reservedPeak(stream), 70 * MIB);
    assert.equal(reservedPeak({ ...stream, emptied: [2] }), 40 * MIB);
    // Something small stays in the segment.
    const shared = { events: [0, 1, ~0, 2], bytes: [8 * MIB, 2 * MIB, 40 * MIB] };
    assert.equal(reservedPeak({ ...shared, emptied: [3] }), 60 * MIB);
  });

  it("happens between forward and backward, in the first step and every n-th after it", () => {
    const run = causalRun({ gradientAccumulationSteps: 2 });
    const result = simulate(run, graphsOf("llama"));
    assert.ok(result.ok);
    const { ledger, loadedEvents } = result.simulation;
    const backward = ledger.phaseList.filter(({ phase }) => phase === "backward");
    assert.deepEqual(
      emptiedAt(ledger, 1),
      backward.map(({ firstEvent }) => firstEvent),
    );
    assert.equal(emptiedAt(ledger, 2).length, 2);
    assert.deepEqual(emptiedAt(ledger, undefined), []);
    const { events, bytes } = ledger;
    const emptied = reservedPeak({ events, bytes, emptied: emptiedAt(ledger, 1) }, loadedEvents);
    assert.ok(emptied <= reservedPeak(ledger, loadedEvents));
    assert.ok(emptied >= ledger.peak);
  });
});
