/** What softmax keeps before torch 1.11, whose backward took the input for its dtype alone (pytorch/pytorch pull request 65242). */
import assert from "node:assert/strict";
import { simulate } from "../../../src/core/simulate";
import type { Quirks, TrainingRun } from "../../../src/core/training/run";
import { graphsOf, receiptsOf, runOf } from "../receipts/case";

describe("softmax that keeps its input", () => {
  const receipt = receiptsOf("bert").find(({ case: c }) => c.task === "masked-lm" && c.peft === undefined);

  it("has one more matrix of scores a layer when the forward ends", () => {
    assert.ok(receipt);
    const run: TrainingRun = {
      ...runOf(receipt.case),
      microBatchSize: 8,
      sequenceLength: 512,
      loadDtype: "float32",
      autocast: null,
      attention: "eager",
      checkpointing: null,
    };
    const graphs = graphsOf("bert");
    const peakOf = (quirks: Quirks): number => {
      const simulated = simulate({ ...run, quirks }, graphs);
      assert.ok(simulated.ok);
      return simulated.simulation.ledger.peak;
    };
    const { num_hidden_layers: layers, num_attention_heads: heads } = receipt.case.model as Record<string, number>;
    const scores = run.microBatchSize * Number(heads) * run.sequenceLength ** 2 * 4;
    assert.equal(peakOf({ keepsSoftmaxInputs: true }) - peakOf({}), Number(layers) * scores);
  });
});
