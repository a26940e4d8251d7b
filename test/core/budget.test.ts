/** What an estimate costs follows what is distinct in a run; past a stated length it is not followed, and says so. */
import { strict as assert } from "node:assert";
import { OverBudget } from "../../src/core/engine/budget";
import type { DType } from "../../src/core/engine/dtype";
import { Ledger } from "../../src/core/engine/ledger";
import { chunkedLogProbs } from "../../src/core/engine/ops/trl";
import { hostTensor } from "../../src/core/engine/tensor";
import { Torch } from "../../src/core/engine/torch";
import { estimate } from "../../src/core/estimate";
import type { TrainingRun } from "../../src/core/training/run";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";
import { graphsWithTrainers, receiptsOf, trainerRunOf } from "./trainers/receipts";

/** GRPO of a receipt. */
function grpo(change: Partial<NonNullable<NonNullable<TrainingRun["trainer"]>["rollout"]>>, accumulation = 1) {
  const { case: c } = receiptsOf("trl", "grpo")[0]!;
  const run = trainerRunOf(c);
  const rollout = { ...run.trainer!.rollout!, ...change };
  return estimate(
    { ...run, gradientAccumulationSteps: accumulation, trainer: { ...run.trainer!, rollout } },
    graphsWithTrainers(c.family, "trl"),
  );
}

describe("the length of what is followed", () => {
  it("does not depend on how many micro-batches repeat the second", () => {
    const at = (gradientAccumulationSteps: number) =>
      estimate(causalRun({ gradientAccumulationSteps }), graphsOf("llama"));
    assert.deepEqual(at(2 ** 31), at(2));
  });

  it("does not depend on how many micro-batches learn from one generation", () => {
    assert.deepEqual(grpo({ every: 2 ** 30 }, 2 ** 31), grpo({ every: 3 }, 7));
  });

  it("has an end, and says so", () => {
    const result = grpo({ sequences: 10_000_000 });
    assert.ok(!result.ok);
    assert.equal(result.code, "not-modelled");
    assert.equal(result.reason.id, "engine.too-long");
    assert.match(String(result.reason.args["size"]), /^\d+\.\d GiB$/);
  });

  it("does not depend on how many micro-batches a step keeps together: of many, the rest stands as one block", () => {
    const at = (gradientAccumulationSteps: number): number => {
      const result = estimate(causalRun({ gradientAccumulationSteps, keepsBatches: "step" }), graphsOf("llama"));
      assert.ok(result.ok);
      return result.estimate.allocatedPeakBytes;
    };
    const one = at(2048) - at(2047);
    assert.ok(one > 0);
    assert.equal(at(2049) - at(2048), one);
    // So many are the peak themselves: those of the step before are there until the next ones are.
    assert.equal(at(1_000_000) - at(999_000), 2 * 1000 * one);
  });

  it("is told before anything is made for each of a billion layers or tokens", () => {
    const { model } = causalRun({});
    const layers = { ...model, config: { ...model.config, num_hidden_layers: 1e9 } };
    const mamba = {
      ...model,
      family: "mamba",
      config: { ...model.config, model_type: "mamba", state_size: 16, expand: 2, conv_kernel: 4, time_step_rank: 4 },
    };
    for (const [result, id] of [
      [estimate(causalRun({ model: layers }), graphsOf("llama")), "engine.too-many-weights"],
      [estimate(causalRun({ model: mamba, sequenceLength: 1e9 }), graphsOf("mamba")), "engine.too-long"],
    ] as const) {
      assert.ok(!result.ok);
      assert.equal(typeof result.reason === "object" && result.reason.id, id);
    }
  });

  it("is told before the tiles of a projection over billions of tokens are made; those that copy nothing are not made at all", () => {
    const of = (weight: DType): number => {
      const ledger = new Ledger();
      const torch = new Torch(ledger);
      const hidden = hostTensor(ledger, [4e9, 8], "bfloat16");
      const head = { weight: hostTensor(ledger, [128_000, 8], weight), bias: null };
      const targets = hostTensor(ledger, [4e9], "int64");
      try {
        chunkedLogProbs(torch, hidden, head, targets, 4096, []);
      } catch (error) {
        assert.ok(error instanceof OverBudget);
      }
      return ledger.count;
    };
    assert.ok(of("float32") < 20);
    assert.ok(of("bfloat16") < 20);
  });
});
