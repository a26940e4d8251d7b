import { strict as assert } from "node:assert";
import { fewestDevices, largestMicroBatch, longestSequence } from "../../../src/core/advise/inverse";
import type { TrainingRun } from "../../../src/core/training/run";
import { GIB, RUN, synthetic, ZERO } from "./synthetic";

const SHAPE = { weights: 2, activations: 0.37, logits: 0.21, overhead: 0.5 };

function counted(estimate = synthetic(SHAPE)) {
  let calls = 0;
  return {
    calls: () => calls,
    estimate: (run: TrainingRun) => {
      calls++;
      return estimate(run);
    },
  };
}

describe("inverse questions", () => {
  it("finds the largest micro-batch, with few estimates", () => {
    for (const gib of [10.6, 11, 14, 24, 80, 500, 3000]) {
      const { estimate, calls } = counted();
      let expected = 0;
      for (let batch = 1; batch <= 4096; batch++)
        if (synthetic(SHAPE)({ ...RUN, microBatchSize: batch }).usedPeakBytes <= gib * GIB) expected = batch;
      assert.equal(largestMicroBatch(RUN, estimate, gib * GIB)?.value, expected, `${gib} GiB`);
      assert.ok(calls() <= 20, `${gib} GiB: ${calls()}`);
    }
    assert.equal(largestMicroBatch(RUN, synthetic(SHAPE), GIB), null);
    assert.equal(
      largestMicroBatch(RUN, () => null, GIB),
      null,
    );
  });

  it("finds the longest sequence up to the model's positions", () => {
    for (const gib of [11, 14, 24, 80]) {
      let expected = 0;
      for (let length = 64; length <= 2 ** 17; length += 64)
        if (synthetic(SHAPE)({ ...RUN, sequenceLength: length }).usedPeakBytes <= gib * GIB) expected = length;
      assert.equal(longestSequence(RUN, synthetic(SHAPE), gib * GIB)?.value, expected, `${gib} GiB`);
    }
    const limited = { ...RUN, model: { ...RUN.model, config: { max_position_embeddings: 1024 } } };
    assert.equal(longestSequence(limited, synthetic(SHAPE), 80 * GIB)?.value, 1024);
    assert.equal(longestSequence({ ...RUN, sequenceLength: 0 }, synthetic(SHAPE), 80 * GIB), null);
  });

  it("finds the fewest ranks of a sharded run", () => {
    const deepspeed = ZERO.parallel.deepspeed;
    assert.ok(deepspeed);
    const run: TrainingRun = {
      ...ZERO,
      parallel: { ...ZERO.parallel, worldSize: 2, deepspeed: { ...deepspeed, zeroStage: 3 } },
    };
    const found = fewestDevices(run, synthetic({ ...SHAPE, weights: 40 }), 40 * GIB);
    assert.ok(found !== null && found.value > 2);
    // One rank fewer would not be enough.
    const at = (ranks: number) => ({ ...run, parallel: { ...run.parallel, worldSize: ranks } });
    const used = (ranks: number) => synthetic({ ...SHAPE, weights: 40 })(at(ranks)).usedPeakBytes;
    assert.ok(used(found.value) <= 40 * GIB && used(found.value - 1) > 40 * GIB, String(found.value));
    assert.equal(fewestDevices(RUN, synthetic(SHAPE), 40 * GIB), null);
    assert.equal(fewestDevices(run, synthetic({ ...SHAPE, activations: 99 }), 40 * GIB), null);
  });
});
