/** Kernels without masks on the graph of the fused attention. */
import assert from "node:assert/strict";
import { configView, selectGraph } from "../../../src/core/graph/config";
import { withFlash } from "../../../src/core/graph/flash";
import { simulate } from "../../../src/core/simulate";
import type { Attention, TrainingRun } from "../../../src/core/training/run";
import { english } from "../../english";
import { families, graphsOf, receiptsOf, runOf } from "../receipts/case";
import { causalRun } from "../runs";

function peak(family: string, attention: Attention, config: object, change: Partial<TrainingRun> = {}): number {
  const base = causalRun({ microBatchSize: 2, sequenceLength: 2048, loadDtype: "bfloat16", attention, ...change });
  const model = { ...base.model, family, config: { ...base.model.config, model_type: family, ...config } };
  const result = simulate({ ...base, model }, graphsOf(family));
  assert.ok(result.ok, result.ok ? "" : english(result.reason));
  return result.simulation.ledger.peak;
}

describe("flash and flex attention", () => {
  it("are as SDPA's flash kernel where no mask is built", () => {
    for (const attention of ["flash_attention_2", "flash_attention_3", "flex_attention"] as const)
      assert.equal(peak("llama", attention, {}), peak("llama", "sdpa", {}));
  });

  it("build no mask for a sliding window and keep the heads of keys and values", () => {
    const config = { sliding_window: 256, head_dim: 16 };
    const masked = peak("mistral", "sdpa", config, { sequenceLength: 8192, microBatchSize: 1 });
    const flash = peak("mistral", "flash_attention_2", config, { sequenceLength: 8192, microBatchSize: 1 });
    // A boolean mask and an additive one in bfloat16, both of tokens × tokens.
    assert.ok(masked - flash > 8192 * 8192 * 2);
    assert.equal(
      flash,
      peak("mistral", "sdpa", { ...config, sliding_window: null }, { sequenceLength: 8192, microBatchSize: 1 }),
    );
  });

  it("run on every captured decoder", () => {
    for (const family of families()) {
      const receipt = receiptsOf(family).find(
        ({ case: c }) => (c.task ?? "causal-lm") === "causal-lm" && c.attn === "sdpa",
      );
      if (receipt === undefined) continue;
      const run = runOf(receipt.case);
      const fused = simulate(run, graphsOf(family));
      const flash = simulate({ ...run, attention: "flash_attention_2" }, graphsOf(family));
      assert.ok(fused.ok && flash.ok, family);
      assert.ok(flash.simulation.ledger.peak <= fused.simulation.ledger.peak * 1.001, family);
    }
  });

  it("leave nothing that only masks read", () => {
    const family = graphsOf("mistral");
    const sizes = { B: 1, S: 64, T: 0, I: 0, A: 0 };
    const view = configView(
      family,
      { model_type: "mistral", sliding_window: 16, num_attention_heads: 4, num_key_value_heads: 2 },
      sizes,
    );
    const graph = selectGraph(family, "causal-lm", "sdpa", view.scope);
    assert.ok(graph);
    const count = (one: typeof graph): number =>
      [one.main, ...one.blocks].reduce((sum, { body }) => sum + body.length, 0);
    assert.ok(count(withFlash(graph)) < count(graph));
  });
});
