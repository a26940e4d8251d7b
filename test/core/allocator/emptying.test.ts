import { strict as assert } from "node:assert";
import { emptiedAt } from "../../../src/core/allocator/emptying";
import { expandablePeak } from "../../../src/core/allocator/expandable";
import { reservedPeak } from "../../../src/core/allocator/replay";
import { streamOf } from "../../../src/core/pool";
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

  it("leaves what another allocator holds out of the pool, which is emptied for it", () => {
    // 30 MiB come and go, vLLM wakes with 50 MiB and sleeps, 40 MiB are wanted.
    const stream = { events: [0, ~0, 1, ~1, 2], bytes: [30 * MIB, 50 * MIB, 40 * MIB], apart: new Set([1]) };
    assert.deepEqual([reservedPeak(stream), expandablePeak(stream)], [50 * MIB, 50 * MIB]);
    const run = causalRun({});
    const result = simulate(run, graphsOf("llama"));
    assert.ok(result.ok);
    result.simulation.ledger.apart.add(1);
    assert.deepEqual([...(streamOf(result.simulation.ledger, run).apart ?? [])], [1]);
  });

  it("happens in evaluation each time that predictions move to the host", () => {
    const evaluation = {
      batchSize: 2,
      sequenceLength: 32,
      targetLength: 0,
      keeps: "logits" as const,
      accumulationSteps: 2,
      batches: 5,
      concatenates: true,
    };
    const emptied = (emptiesCache: boolean): readonly number[] => {
      const run = causalRun({ evaluation: { ...evaluation, emptiesCache } });
      const result = simulate(run, graphsOf("llama"));
      assert.ok(result.ok);
      const { ledger } = result.simulation;
      const start = ledger.phaseList.find(({ phase }) => phase === "evaluation")?.firstEvent ?? 0;
      const at = streamOf(ledger, run).emptied ?? [];
      assert.ok(at.every((event) => event > start));
      return at;
    };
    assert.equal(emptied(true).length, 1);
    assert.equal(emptied(false).length, 0);
  });

  it("happens before the loss of a distillation returns, with what its code names still there", () => {
    // Loss 2 and what it was made of (0, 1), which goes when the loss returns.
    const phaseList = [
      { phase: "forward" as const, step: 1, firstEvent: 0 },
      { phase: "backward" as const, step: 1, firstEvent: 5 },
    ];
    const ledger = { events: [0, 1, 2, ~0, ~1, 3], phaseList, emptied: [] };
    assert.deepEqual(emptiedAt(ledger, { emptiesInLoss: true }), [3]);
    assert.deepEqual(emptiedAt(ledger, { emptyCacheSteps: 1 }), [5]);
  });

  it("happens between forward and backward, in the first step and every n-th after it", () => {
    const run = causalRun({ gradientAccumulationSteps: 2 });
    const result = simulate(run, graphsOf("llama"));
    assert.ok(result.ok);
    const { ledger, loadedEvents } = result.simulation;
    const backward = ledger.phaseList.filter(({ phase }) => phase === "backward");
    assert.deepEqual(
      emptiedAt(ledger, { emptyCacheSteps: 1 }),
      backward.map(({ firstEvent }) => firstEvent),
    );
    assert.equal(emptiedAt(ledger, { emptyCacheSteps: 2 }).length, 2);
    assert.deepEqual(emptiedAt(ledger, {}), []);
    const { events, bytes } = ledger;
    const emptied = reservedPeak({ events, bytes, emptied: emptiedAt(ledger, { emptyCacheSteps: 1 }) }, loadedEvents);
    assert.ok(emptied <= reservedPeak(ledger, loadedEvents));
    assert.ok(emptied >= ledger.peak);
  });
});
