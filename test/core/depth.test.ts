/** Deep models, of which three depths are followed: allocated bytes are those of the whole run, followed layer by layer. */
import { strict as assert } from "node:assert";
import { estimate } from "../../src/core/estimate";
import { phasePeaks } from "../../src/core/reading";
import type { Estimate } from "../../src/core/report/estimate";
import { simulateFullest } from "../../src/core/stages";
import type { ModelConfig, TrainingRun } from "../../src/core/training/run";
import { graphsOf } from "./receipts/case";
import { causalRun, loraSpec } from "./runs";

const LAYERS = 800;
const NARROW: ModelConfig = {
  model_type: "llama",
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: LAYERS,
  num_attention_heads: 4,
  num_key_value_heads: 4,
  vocab_size: 1000,
};

function deep(change: Partial<TrainingRun>, config: ModelConfig = {}): TrainingRun {
  const family = String(config["model_type"] ?? "llama");
  return causalRun({
    model: { name: "deep", family, source: "config.json", config: { ...NARROW, ...config } },
    ...change,
  });
}

function estimated(run: TrainingRun): Estimate {
  const result = estimate(run, graphsOf(run.model.family));
  assert.ok(result.ok, JSON.stringify(result));
  return result.estimate;
}

const isDeep = ({ assumptions }: Estimate): boolean => assumptions.some(({ what }) => what.id === "engine.deep");

const RUNS: Readonly<Record<string, TrainingRun>> = {
  "every weight, norms clipped together": deep({}),
  "autocast and checkpoints, gradients accumulated": deep({
    autocast: "bfloat16",
    checkpointing: { useReentrant: true },
    gradientAccumulationSteps: 3,
  }),
  "LoRA on every layer": deep({
    adapter: loraSpec({ targetModules: "all-linear" }),
    loadDtype: "bfloat16",
    autocast: "bfloat16",
  }),
  "the optimizer that steps over lists": deep({ optimizer: { name: "adamw_torch", args: {} } }),
  "kinds of layers in turn": deep(
    {},
    {
      model_type: "qwen3",
      head_dim: 16,
      sliding_window: 32,
      layer_types: Array.from({ length: LAYERS }, (_, k) => (k % 4 === 3 ? "full_attention" : "sliding_attention")),
    },
  ),
  "logits that are the peak at fewer layers": deep({ sequenceLength: 1024 }, { vocab_size: 64_000 }),
  "FSDP2 over eight ranks": deep({
    parallel: {
      ...causalRun({}).parallel,
      worldSize: 8,
      fsdp: { version: 2, sharding: "full_shard", cpuOffload: false, reshardAfterForward: true },
    },
  }),
};

describe("deep models", () => {
  for (const [what, run] of Object.entries(RUNS))
    it(`have the whole run's bytes: ${what}`, () => {
      const found = estimated(run);
      assert.ok(isDeep(found));
      const whole = simulateFullest(run, graphsOf(run.model.family));
      assert.ok(whole.ok);
      const { ledger, parameters, trainableParameters } = whole.simulation;
      assert.equal(found.allocatedPeakBytes, ledger.peak);
      assert.deepEqual(found.phases, phasePeaks(ledger, null));
      assert.deepEqual([found.parameters, found.trainableParameters], [parameters, trainableParameters]);
      assert.equal(found.peakPhase, ledger.phaseList[ledger.peakPhase]?.phase);
      const parts = (list: readonly { readonly bytes: number }[]): number =>
        list.reduce((sum, { bytes }) => sum + bytes, 0);
      assert.equal(parts(found.components), ledger.peak);
      assert.equal(parts(found.modules), ledger.peak);
      assert.ok(found.reservedPeakBytes >= ledger.peak && found.reservedPeakBytes < 1.15 * ledger.peak);
      assert.ok(found.effort < 0.8 * ledger.effort);
    });

  it("are followed as they are where layers far down are others", () => {
    const config = { model_type: "qwen3", head_dim: 16, use_sliding_window: true, sliding_window: 16 };
    assert.ok(!isDeep(estimated(deep({}, { ...config, max_window_layers: LAYERS / 2 }))));
    const one = deep({ adapter: loraSpec({ layersToTransform: [LAYERS - 1] }), loadDtype: "bfloat16" });
    assert.ok(!isDeep(estimated(one)));
    const named = deep({ adapter: loraSpec({ rankPattern: { "layers.700.self_attn.q_proj": 64 } }) });
    assert.ok(!isDeep(estimated(named)));
  });

  it("are followed as they are where what a rank has does not grow with every layer", () => {
    const { parallel } = causalRun({});
    assert.ok(!isDeep(estimated(deep({ parallel: { ...parallel, worldSize: 8 } }))));
    assert.ok(!isDeep(estimated(deep({ parallel: { ...parallel, worldSize: 2, pipelineParallel: 2 } }))));
  });

  it("have a timeline that reaches the peak and adds up", () => {
    const { timeline, allocatedPeakBytes } = estimated(RUNS["every weight, norms clipped together"]!);
    assert.ok(timeline.points.length > 100);
    assert.equal(Math.max(...timeline.points.map((point) => point.allocatedBytes)), allocatedPeakBytes);
    let last = 0;
    for (const { at, alive, allocatedBytes } of timeline.points) {
      assert.equal(
        alive.reduce((sum, bytes) => sum + bytes, 0),
        allocatedBytes,
      );
      assert.ok(at >= last && at <= 1 && alive.every((bytes) => bytes >= 0));
      last = at;
    }
  });
});
