/** Gradients of what is picked: out of place in the reference, in place on a card. */
import { strict as assert } from "node:assert";
import { estimate } from "../../src/core/estimate";
import { causalRun } from "./runs";
import { graphsWithTrainers, receiptsOf, trainerRunOf } from "./trainers/receipts";

describe("gradients of what is picked", () => {
  it("lower the band by the tensor that a card spares, where they are the peak", () => {
    const receipt = receiptsOf("trl-1.9", "dpo").find(({ case: c }) => c.id === "dpo-0");
    assert.ok(receipt !== undefined);
    const run = trainerRunOf(receipt.case);
    const wide = { ...run, model: { ...run.model, config: { ...run.model.config, vocab_size: 60_000 } } };
    const result = estimate(wide, graphsWithTrainers(receipt.case.family, "trl-1.9", []));
    assert.ok(result.ok);
    const [spared] = result.estimate.assumptions.filter(({ settleWith }) => settleWith === "torch");
    assert.ok(spared !== undefined && spared.effectBytes > 16 * 2 ** 20);
  });

  it("say nothing where nothing is picked", () => {
    const result = estimate(causalRun({}), graphsWithTrainers("llama", "trl", []));
    assert.ok(result.ok);
    assert.ok(!result.estimate.assumptions.some(({ settleWith }) => settleWith === "torch"));
  });
});
