/** Steps of different lengths in one pool. */
import assert from "node:assert/strict";
import { batchLengths, type SimulatedLength, variedReserve } from "../../../src/core/allocator/lengths";
import { reservedPeak } from "../../../src/core/allocator/replay";
import { simulate } from "../../../src/core/simulate";
import { graphsOf } from "../receipts/case";
import { causalRun } from "../runs";

function simulated(sequenceLength: number): SimulatedLength {
  const run = causalRun({ microBatchSize: 8, sequenceLength, loadDtype: "bfloat16" });
  const result = simulate(run, graphsOf("llama"));
  assert.ok(result.ok);
  return { length: sequenceLength, ...result.simulation };
}

describe("batches of different lengths", () => {
  it("are padded to their longest sample, and longer with more samples", () => {
    const one = batchLengths(2048, 1, 8);
    const many = batchLengths(2048, 32, 8);
    const mean = (list: readonly number[]): number => list.reduce((sum, value) => sum + value, 0) / list.length;
    assert.ok(mean(one) < mean(many));
    for (const length of [...one, ...many]) assert.ok(length > 0 && length <= 2048 && length % 8 === 0);
    assert.ok(new Set(one).size > 8);
    assert.deepEqual(
      batchLengths(2048, 1, 2048),
      one.map(() => 2048),
    );
  });

  it("follow the data set's statistics, or its very lengths", () => {
    const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;
    const short = batchLengths(2048, 1, 1, { kind: "statistics", mean: 100, p95: 250 });
    const wide = batchLengths(2048, 1, 1, { kind: "statistics", median: 100, p95: 1500 });
    assert.ok(median(short) > 60 && median(short) < 110, `${median(short)}`);
    assert.ok(Math.max(...short) < Math.max(...wide));
    const measured = batchLengths(2048, 1, 1, { kind: "samples", lengths: [10, 20, 30] });
    assert.deepEqual([...new Set(measured)].sort(), [10, 20, 30]);
    // The longest of many samples is near the longest of all.
    assert.ok(batchLengths(2048, 64, 1, { kind: "samples", lengths: [10, 20, 30] }).every((length) => length === 30));
  });

  it("reserve more than steps of one length, and less with expandable segments", () => {
    const whole = simulated(1024);
    const shorter = simulated(512);
    const constant = reservedPeak(whole.ledger, whole.loadedEvents);
    const same = variedReserve(whole, shorter, [1024, 1024, 1024]);
    assert.equal(same?.reservedBytes, constant);
    const varied = variedReserve(whole, shorter, batchLengths(1024, 2, 1));
    assert.ok(varied);
    assert.ok(varied.reservedBytes > constant);
    assert.ok(varied.expandableBytes < varied.reservedBytes);
  });

  it("have the sizes that a simulation at that length has", () => {
    const whole = simulated(1024);
    const shorter = simulated(512);
    const between = simulated(768);
    const start = whole.ledger.phaseList.find(({ step }) => step === 2)?.firstEvent ?? 0;
    const first = whole.ledger.events.slice(start).find((event) => event >= 0) ?? 0;
    for (let id = first; id < whole.ledger.bytes.length; id++) {
      const middle = ((whole.ledger.bytes[id] ?? 0) + (shorter.ledger.bytes[id] ?? 0)) / 2;
      assert.ok(Math.abs((between.ledger.bytes[id] ?? 0) - middle) <= 512);
    }
  });
});
