/** Experts that run one by one: what routing that is not balanced could add. */
import { strict as assert } from "node:assert";
import { estimate } from "../../src/core/estimate";
import { simulate } from "../../src/core/simulate";
import type { TrainingRun } from "../../src/core/training/run";
import { english } from "../english";
import { graphsOf, runOf } from "./receipts/case";

const DBRX = {
  model_type: "dbrx",
  d_model: 64,
  n_heads: 4,
  n_layers: 2,
  vocab_size: 300,
  ffn_config: { ffn_hidden_size: 256, moe_num_experts: 8, moe_top_k: 2 },
  attn_config: { kv_n_heads: 2 },
};

const run = runOf({
  id: "dbrx",
  model: DBRX,
  batch: 4,
  seq: 128,
  load_dtype: "bfloat16",
  gradient_checkpointing: true,
});

const peakOf = (change: Partial<TrainingRun>): number => {
  const result = simulate({ ...run, ...change }, graphsOf("dbrx"));
  assert.ok(result.ok, result.ok ? "" : english(result.reason));
  return result.simulation.ledger.peak;
};

describe("routing", () => {
  it("to one expert takes more than to all alike, and the band reaches as far", () => {
    const more = peakOf({ routing: "one" }) - peakOf({});
    assert.ok(more > 0);
    const found = estimate(run, graphsOf("dbrx"));
    assert.ok(found.ok);
    const { assumptions } = found.estimate;
    assert.equal(assumptions.find(({ settleWith }) => settleWith === "routing")?.effectBytes, more);
  });

  it("of experts that are multiplied together changes nothing", () => {
    const mixtral = {
      model_type: "mixtral",
      hidden_size: 64,
      intermediate_size: 64,
      num_hidden_layers: 2,
      vocab_size: 300,
    };
    const found = estimate(runOf({ id: "mixtral", model: mixtral, batch: 1, seq: 32 }), graphsOf("mixtral"));
    assert.ok(found.ok);
    assert.ok(!found.estimate.assumptions.some(({ settleWith }) => settleWith === "routing"));
  });
});
