/** Reserved memory with expandable segments: mapped pages at the end of one segment per pool. */
import { strict as assert } from "node:assert";
import fc from "fast-check";
import { expandablePeak } from "../../src/core/allocator/expandable";
import { reservedPeak } from "../../src/core/allocator/replay";
import { estimate } from "../../src/core/estimate";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

const MIB = 1 << 20;

/** A stream of sizes in MiB: positive allocates, `["free", k]` frees the k-th allocation. */
function streamOf(steps: readonly (number | readonly ["free", number])[]): { events: number[]; bytes: number[] } {
  const events: number[] = [];
  const bytes: number[] = [];
  for (const step of steps) {
    if (typeof step === "number") {
      events.push(bytes.length);
      bytes.push(step * MIB);
    } else events.push(~step[1]);
  }
  return { events, bytes };
}

describe("expandable segments", () => {
  it("maps large blocks in pages of 20 MiB", () => {
    assert.equal(expandablePeak(streamOf([5])), 20 * MIB);
    assert.equal(expandablePeak(streamOf([21])), 40 * MIB);
  });

  it("maps small blocks in pages of 2 MiB", () => {
    assert.equal(expandablePeak(streamOf([0.5, 0.5, 0.5, 0.5, 0.5])), 4 * MIB);
  });

  it("grows a free block at the end where whole segments would leave a hole", () => {
    const steps = [100, ["free", 0], 120, ["free", 1], 140] as const;
    assert.equal(expandablePeak(streamOf(steps)), 140 * MIB);
    assert.equal(reservedPeak(streamOf(steps)), 360 * MIB);
  });

  it("joins neighbours that are free", () => {
    assert.equal(expandablePeak(streamOf([20, 20, 20, ["free", 0], ["free", 1], 40])), 60 * MIB);
  });

  it("holds at least what is alive, whatever the order", () => {
    const steps = fc.array(fc.record({ size: fc.integer({ min: 1, max: 60 * MIB }), free: fc.nat(30) }), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(steps, (list) => {
        const bytes = list.map(({ size }) => Math.ceil(size / 512) * 512);
        const events: number[] = [];
        const alive: number[] = [];
        let live = 0;
        let peak = 0;
        list.forEach(({ free }, id) => {
          events.push(id);
          alive.push(id);
          live += bytes[id]!;
          peak = Math.max(peak, live);
          if (free < alive.length) {
            const gone = alive.splice(free, 1)[0]!;
            events.push(~gone);
            live -= bytes[gone]!;
          }
        });
        assert.ok(expandablePeak({ events, bytes }) >= peak);
      }),
    );
  });

  it("leaves the end to grow when another block fits", () => {
    // Free are 60 MiB in the middle and 40 MiB at the end; 30 MiB go to the middle, so 70 MiB fit by growing 30.
    const steps = [60, 20, 40, ["free", 0], ["free", 2], 30, 70] as const;
    assert.equal(expandablePeak(streamOf(steps)), 160 * MIB);
  });

  it("gives free pages back where the cache is emptied, and maps the lowest ones again first", () => {
    // 60 MiB of pages in the middle are free: what follows finds them mapped, or maps them again.
    const steps = [20, 60, 20, ["free", 1], 30, 90] as const;
    assert.equal(expandablePeak(streamOf(steps)), 200 * MIB);
    assert.equal(expandablePeak({ ...streamOf(steps), emptied: [4] }), 180 * MIB);
    // Pages of which a part is in use stay; the part that is free is used together with the unmapped ones behind it.
    const shared = [10, 70, 40, ["free", 1], 65, 12] as const;
    assert.equal(expandablePeak({ ...streamOf(shared), emptied: [4] }), 140 * MIB);
    // All that is free at the end goes: the peak is what was mapped before.
    const falling = { ...streamOf([100, ["free", 0], 20]), emptied: [2] };
    assert.equal(expandablePeak(falling), 100 * MIB);
  });

  it("is what a run with the setting reserves", () => {
    const llama = graphsOf("llama");
    const change = { microBatchSize: 16, sequenceLength: 256 };
    const plain = estimate(causalRun(change), llama);
    const expandable = estimate(causalRun({ ...change, expandableSegments: true }), llama);
    assert.ok(plain.ok && expandable.ok);
    assert.equal(expandable.estimate.allocatedPeakBytes, plain.estimate.allocatedPeakBytes);
    assert.ok(expandable.estimate.reservedPeakBytes < plain.estimate.reservedPeakBytes);
  });
});
