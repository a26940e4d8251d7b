/** Workspaces of convolutions in the allocator's pool: blocks for a moment, which what comes after them takes. */
import { strict as assert } from "node:assert";
import { reservedPeak } from "../../src/core/allocator/replay";
import { convolutionWorkspaces } from "../../src/core/engine/kernels";
import { withMoments } from "../../src/core/pool";
import { simulateFullest } from "../../src/core/stages";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

const MIB = 2 ** 20;

describe("workspaces", () => {
  it("of 30 MiB before tensors of 24 MiB open a segment each time: the tensor takes the one that is left behind", () => {
    const stream = { events: [0, 1, 2], bytes: [24 * MIB, 24 * MIB, 24 * MIB] };
    assert.equal(reservedPeak(stream), 72 * MIB);
    assert.equal(reservedPeak(withMoments(stream, () => 30 * MIB)), (24 + 30 + 30 + 30) * MIB);
  });

  it("move the places where the cache is emptied along", () => {
    const { events, emptied } = withMoments({ events: [0, 1], bytes: [512, 512], emptied: [1] }, () => 512);
    assert.deepEqual([Array.from(events), emptied], [[0, 2, ~2, 1, 3, ~3], [3]]);
  });

  it("are as large as what a convolution reads and writes, of each one that is not by channels", () => {
    const model = { name: "x", family: "resnet", source: "config.json", config: { model_type: "resnet" } } as const;
    const run = causalRun({ model, task: "image-cls", imageSize: 64, microBatchSize: 2, sequenceLength: 0 });
    const result = simulateFullest(run, graphsOf("resnet"));
    assert.ok(result.ok);
    const workspaces = convolutionWorkspaces(result.simulation.ledger);
    // From 3 channels of 64 × 64 to 64 of 32 × 32 in float32, with the kernel of 7 × 7.
    const first = 4 * (2 * 3 * 64 ** 2 + 2 * 64 * 32 ** 2 + 64 * 3 * 49);
    assert.ok([...(workspaces?.bytes.values() ?? [])].includes(first));
    const text = simulateFullest(causalRun({}), graphsOf("llama"));
    assert.ok(text.ok && convolutionWorkspaces(text.simulation.ledger) === null);
  });
});
