/** What an estimate costs follows what is distinct in a run; past a stated length it is not followed, and says so. */
import { strict as assert } from "node:assert";
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

  it("is told before the batches of two billion micro-batches are made, which a step keeps together", () => {
    const run = causalRun({ gradientAccumulationSteps: 2 ** 31, keepsBatches: "step" });
    const result = estimate(run, graphsOf("llama"));
    assert.ok(!result.ok);
    assert.equal(typeof result.reason === "object" && result.reason.id, "engine.too-long");
  });

  it("is told before anything is made for each of a billion layers or tokens", () => {
    const { model } = causalRun({});
    const layers = { ...model, config: { ...model.config, num_hidden_layers: 1e9 } };
    const mamba = {
      ...model,
      family: "mamba",
      config: { ...model.config, model_type: "mamba", state_size: 16, expand: 2, conv_kernel: 4, time_step_rank: 4 },
    };
    for (const result of [
      estimate(causalRun({ model: layers }), graphsOf("llama")),
      estimate(causalRun({ model: mamba, sequenceLength: 1e9 }), graphsOf("mamba")),
    ]) {
      assert.ok(!result.ok);
      assert.equal(typeof result.reason === "object" && result.reason.id, "engine.too-long");
    }
  });
});
