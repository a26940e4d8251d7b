import { strict as assert } from "node:assert";
import { compareForRun } from "../../../src/core/advise/compare";
import type { TrainingRun } from "../../../src/core/training/run";
import { GIB, RUN, synthetic, ZERO } from "./synthetic";

const SHAPE = { weights: 2, activations: 0.37, logits: 0.21, overhead: 0.5 };
const A100 = { name: "NVIDIA A100-SXM4-80GB", memoryBytes: 80 * GIB, architecture: "ampere", count: 1 };

function largestOf(run: TrainingRun, limit: number): number | null {
  let found: number | null = null;
  for (let batch = 1; batch <= 4096; batch++)
    if (synthetic(SHAPE)({ ...run, microBatchSize: batch }).usedPeakBytes <= limit) found = batch;
  return found;
}

describe("comparison of cards", () => {
  it("says of every card whether the run fits, and its largest micro-batch", () => {
    const lines = compareForRun(RUN, synthetic(SHAPE));
    const cards = lines.filter(({ kind }) => kind === "card");
    assert.ok(cards.length >= 12);
    assert.ok(cards.some(({ device }) => device.name === RUN.device?.name));
    for (const line of cards) {
      assert.equal(line.fits, synthetic(SHAPE)(RUN).band.highBytes <= line.usableBytes, line.device.name);
      assert.equal(line.largestBatch, largestOf(RUN, line.usableBytes), line.device.name);
    }
    assert.deepEqual(
      cards.map(({ usableBytes }) => usableBytes),
      cards.map(({ usableBytes }) => usableBytes).sort((a, b) => a - b),
    );
  });

  it("estimates once per architecture and batch", () => {
    const asked: string[] = [];
    compareForRun(RUN, (run) => {
      asked.push(`${run.device?.architecture} ${run.device?.count} ${run.microBatchSize}`);
      return synthetic(SHAPE)(run);
    });
    assert.equal(new Set(asked).size, asked.length);
  });

  it("adds slices of the run's own card, and several of it", () => {
    const found = compareForRun({ ...RUN, device: A100 }, synthetic(SHAPE));
    const slices = found.filter(({ kind }) => kind === "slice");
    assert.ok(slices.some(({ device }) => device.name.endsWith("MIG 3g.40gb")));
    for (const slice of slices) assert.ok(slice.usableBytes < 80 * GIB);
    assert.deepEqual(
      found.filter(({ kind }) => kind === "several").map(({ count }) => count),
      [2, 4, 8, 16],
    );
  });

  it("keeps a sharded run's number of cards and leaves out numbers its degrees do not divide", () => {
    const run = { ...ZERO, parallel: { ...ZERO.parallel, tensorParallel: 4 } };
    const found = compareForRun(run, synthetic(SHAPE));
    assert.ok(found.filter(({ kind }) => kind === "card").every(({ count }) => count === 8));
    assert.deepEqual(
      found.filter(({ kind }) => kind === "several").map(({ count }) => count),
      [4, 16],
    );
  });

  it("is empty where nothing can be estimated", () => {
    assert.deepEqual(
      compareForRun(RUN, () => null),
      [],
    );
  });
});
