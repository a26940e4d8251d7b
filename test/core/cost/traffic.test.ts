/** What one GPU sends: sizes by hand for one run of each kind. */
import { strict as assert } from "node:assert";
import { type Traffic, trafficOf } from "../../../src/core/cost/traffic";
import type { ParallelSpec } from "../../../src/core/training/run";
import { causalRun } from "../runs";

const CONFIG = {
  model_type: "llama",
  hidden_size: 1024,
  intermediate_size: 4096,
  num_hidden_layers: 8,
  num_attention_heads: 16,
  num_key_value_heads: 4,
  vocab_size: 32000,
};
const COUNTS = { parameters: 1e9, trainableParameters: 1e9 };
const TOKENS = 2 * 512;

function sent(parallel: Partial<ParallelSpec>, config: object = CONFIG): Partial<Record<Traffic["sender"], Traffic>> {
  const run = causalRun({
    model: { name: "m", family: "llama", source: "config.json", config: { ...config } },
    microBatchSize: 2,
    sequenceLength: 512,
    gradientAccumulationSteps: 1,
  });
  const rows = trafficOf({ ...run, parallel: { ...run.parallel, ...parallel } }, COUNTS);
  return Object.fromEntries(rows.map((row) => [row.sender, row]));
}

describe("what one GPU sends in a step", () => {
  it("is nothing alone, and for layers placed by device_map only what goes to the next one", () => {
    assert.deepEqual(sent({ worldSize: 1 }), {});
    const placed = sent({ worldSize: 4, pipelineParallel: 4, oneAtATime: true });
    assert.deepEqual(Object.keys(placed), ["stages"]);
  });

  it("is the stream and its gradient between stages, two sums of it a layer each way under tensor parallelism", () => {
    const { stages, tensor } = sent({ worldSize: 16, tensorParallel: 2, pipelineParallel: 4 });
    assert.equal(stages?.bytes, 2 * 2 * TOKENS * 1024);
    assert.equal(stages?.span, 16);
    assert.equal(tensor?.bytes, 4 * 2 * TOKENS * 1024 * 2 * 2 * (1 / 2));
    assert.equal(tensor?.span, 2);
  });

  it("is keys and values of a quarter of the heads round the ring, three times", () => {
    const { context } = sent({ worldSize: 4, contextParallel: 4 });
    assert.equal(context?.bytes, 8 * 3 * 2 * 2 * (TOKENS / 4) * 1024 * (1 / 4) * 3);
  });

  it("is every token to its experts and back, in both passes, and their gradients among fewer ranks", () => {
    const config = { ...CONFIG, num_local_experts: 8, num_experts_per_tok: 2 };
    const main = { dtype: "bfloat16", gradientDtype: "float32", sharded: true } as const;
    const { experts, states } = sent({ worldSize: 16, expertParallel: 8, mainParameters: main }, config);
    assert.equal(experts?.bytes, 8 * 4 * 2 * TOKENS * 1024 * 2 * (7 / 8));
    const matrices = 8 * 8 * 3 * 1024 * 4096;
    const all = Math.min(matrices, 1e9);
    assert.equal(Math.round(states?.bytes ?? 0), Math.round(6 * ((15 / 16) * (1e9 - all) + (1 / 2) * (all / 8))));
  });
});
