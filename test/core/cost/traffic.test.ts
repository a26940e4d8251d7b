/** What one GPU sends: sizes by hand for one run of each kind. */
import { strict as assert } from "node:assert";
import type { Range } from "../../../src/core/cost/rates";
import { speedOf, type Traffic, trafficOf } from "../../../src/core/cost/traffic";
import { findDevice } from "../../../src/core/hardware/devices";
import type { Links, ParallelSpec } from "../../../src/core/training/run";
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

describe("links that are said", () => {
  const device = findDevice("H100")!.device;
  const speeds = (links: Links, span: number): Range => speedOf({ sender: "states", bytes: 1, span }, device, links);

  it("decide within a machine: PCIe instead of the card's own, or a speed", () => {
    const [, own] = speeds({}, 8);
    const [, pcie] = speeds({ gpus: "host" }, 8);
    assert.ok(pcie < device.hostBandwidth && own > 2 * pcie);
    assert.deepEqual(speeds({ gpus: 100e9 }, 8), [45e9, 85e9]);
    const bridged = findDevice("H100 PCIe")!.device;
    const four: Traffic = { sender: "states", bytes: 1, span: 4 };
    assert.ok(speedOf(four, bridged, { gpus: "linked" })[1] > speedOf(four, bridged)[1]);
  });

  it("decide between machines, where each card has its part of what only some ranks send", () => {
    assert.deepEqual(speeds({ machines: 50e9 }, 16), [22.5e9, 42.5e9]);
    assert.deepEqual(speedOf({ sender: "stages", bytes: 1, span: 16 }, device, { machines: 80e9 }), [4.5e9, 8.5e9]);
  });
});
