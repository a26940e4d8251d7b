/** What batches of different lengths do to an estimate's bound. */
import assert from "node:assert/strict";
import { estimate } from "../../src/core/estimate";
import { deviceOf, usableBytes } from "../../src/core/hardware/devices";
import { boundOfPadded, poolGrowth, reserveOfPadded } from "../../src/core/padded";
import type { TrainingRun } from "../../src/core/training/run";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

const RUN = causalRun({ microBatchSize: 8, sequenceLength: 1024, loadDtype: "bfloat16" });
const BATCHES = { samples: 2, multiple: 1 };
const GRAPHS = graphsOf("llama");

const PEAK = estimated(RUN).reservedPeakBytes;

function estimated(run: TrainingRun) {
  const result = estimate(run, GRAPHS, "peaks");
  assert.ok(result.ok);
  return result.estimate;
}

/** What the pool comes to on a device on which so many bytes are free for it; null where it is not asked for. */
function held(poolBytes: number) {
  const steady = estimated(RUN);
  const overhead = steady.usedPeakBytes - steady.reservedPeakBytes;
  const name = "a card";
  // A device of no known name offers all its memory but what a driver keeps; the rest is occupied.
  const empty: TrainingRun = { ...RUN, device: { name, memoryBytes: 80 * 2 ** 30, count: 1, architecture: "ampere" } };
  const usable = usableOf(empty);
  const occupiedBytes = usable - overhead - poolBytes;
  const run: TrainingRun = { ...empty, device: { ...empty.device!, occupiedBytes } };
  const padded = reserveOfPadded(run, GRAPHS, BATCHES, overhead);
  if (padded === null) return null;
  return {
    steady,
    padded,
    bound: boundOfPadded(steady, padded, run, poolBytes + overhead),
    usable: poolBytes + overhead,
  };
}

function usableOf({ device }: TrainingRun): number {
  return usableBytes(deviceOf(device!));
}

describe("batches of unequal lengths", () => {
  it("raise the bound by what the pool grows", () => {
    const steady = estimated(RUN);
    const padded = reserveOfPadded(RUN, GRAPHS, BATCHES, 0);
    assert.ok(padded);
    const growth = poolGrowth(steady, padded, RUN);
    assert.ok(growth > 0);
    assert.equal(growth, padded.reservedBytes - steady.reservedPeakBytes);
    assert.equal(boundOfPadded(steady, padded, RUN, null), steady.band.highBytes + growth);
    const expandable = { ...RUN, expandableSegments: true };
    assert.ok(poolGrowth(estimated(expandable), padded, expandable) < growth);
    // As long as each other, they change nothing.
    const same = reserveOfPadded(RUN, GRAPHS, { samples: 2, multiple: 1024 }, 0);
    assert.ok(same);
    assert.equal(boundOfPadded(steady, same, RUN, null), steady.band.highBytes);
  });

  it("need no more than the device has where they go through in it", () => {
    const grown = (reserveOfPadded(RUN, GRAPHS, BATCHES, 0)?.reservedBytes ?? 0) - PEAK;
    const pressed = held(PEAK + grown / 2);
    assert.ok(pressed);
    const { steady, padded, bound, usable } = pressed;
    assert.ok(padded.pressed?.served === true && padded.pressed.releases > 0);
    assert.equal(bound, Math.max(steady.band.highBytes, usable));
    assert.ok(bound < steady.band.highBytes + grown);
    const stopped = held(estimated(RUN).allocatedPeakBytes);
    assert.equal(stopped?.padded.pressed?.served, false);
    assert.ok(stopped.bound > stopped.usable);
    // A pool with room grows as it likes, and one that is too small for the tensors alone stops the run.
    assert.equal(held(2 * padded.reservedBytes)?.padded.pressed, null);
    assert.equal(held(0.95 * estimated(RUN).allocatedPeakBytes), null);
  });
});
