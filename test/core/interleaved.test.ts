/** Stages that share a rank, against what torch's schedule gives (torch/distributed/pipelining/schedules.py), and how layers are divided. */
import assert from "node:assert/strict";
import { NotModelled } from "../../src/core/engine/not-modelled";
import { simulateFullest } from "../../src/core/stages";
import { keptOf } from "../../src/core/training/parallel/interleaved";
import { layersOf } from "../../src/core/training/parallel/pipeline";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

const INTERLEAVED = { stages: 2, schedule: "interleaved" } as const;

describe("interleaved pipelines", () => {
  it("keep what the schedule has run forward and not backward", () => {
    // `0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1` on the first of two ranks, `1F0 1F1 3F0 3B0 3F1 3B1 1B0 1B1` on the last.
    const [first, last] = [0, 1].map((rank) => keptOf({ ...INTERLEAVED, rank, ranks: 2, microBatches: 2 }));
    assert.deepEqual(
      first?.map(({ counts }) => counts),
      [
        [2, 2],
        [2, 1],
        [2, 0],
        [1, 0],
      ],
    );
    assert.deepEqual(
      last?.map(({ counts, trained }) => [counts, trained]),
      [
        [
          [2, 1],
          [false, false],
        ],
        [
          [2, 1],
          [false, true],
        ],
        [
          [2, 0],
          [false, true],
        ],
        [
          [1, 0],
          [true, true],
        ],
      ],
    );
  });

  it("are refused where rounds are not equally long", () => {
    assert.equal(keptOf({ ...INTERLEAVED, rank: 0, ranks: 2, microBatches: 5 }), null);
    assert.notEqual(keptOf({ ...INTERLEAVED, rank: 0, ranks: 4, microBatches: 7 }), null);
  });

  it("of many micro-batches have few states that differ", () => {
    const kept = keptOf({ ...INTERLEAVED, rank: 0, ranks: 8, stages: 4, microBatches: 1024 });
    assert.ok(kept !== null && kept.length < 500, String(kept?.length));
  });

  it("of more stages on a rank than are followed have no estimate, which says so", () => {
    const parallel = { ...causalRun({}).parallel, worldSize: 2, pipelineParallel: 2, stagesPerRank: 1500 };
    const { model } = causalRun({});
    const run = causalRun({ model: { ...model, config: { ...model.config, num_hidden_layers: 3000 } }, parallel });
    assert.throws(
      () => simulateFullest(run, graphsOf(model.family)),
      (thrown) => thrown instanceof NotModelled && thrown.reason.id === "engine.many-stages",
    );
  });

  it("divide layers among stages whose ends count as some", () => {
    const stages = (layers: number, count: number, ends?: { first: number; last: number }) =>
      Array.from({ length: count }, (_, index) => layersOf(layers, count, index, ends));
    assert.deepEqual(stages(10, 4), [
      [0, 3],
      [3, 6],
      [6, 8],
      [8, 10],
    ]);
    // generate_llm_fqn_per_model_part(4, 32)
    assert.deepEqual(stages(32, 4, { first: 1, last: 1 }), [
      [0, 8],
      [8, 17],
      [17, 25],
      [25, 32],
    ]);
  });
});
