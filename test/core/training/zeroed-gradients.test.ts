/**
 * Gradients that `zero_grad` keeps, as torch before 2.0 did: peaks PyTorch gave on fake CUDA tensors with
 * `set_to_none=False`.
 */
import assert from "node:assert/strict";
import { simulate } from "../../../src/core/simulate";
import { graphsOf, receiptsOf, runOf } from "../receipts/case";

describe("gradients that are set to zero", () => {
  for (const { case: c, result } of receiptsOf("zeroed/gradients"))
    for (const fold of [true, false])
      it(`${c.id}${fold ? "" : ", every layer and step run"}`, () => {
        const run = { ...runOf(c), quirks: { keepsGradients: true as const } };
        const simulated = simulate(run, graphsOf(c.model.model_type), fold);
        assert.ok(simulated.ok);
        assert.equal(simulated.simulation.ledger.peak, result.peak_allocated);
      });
});
