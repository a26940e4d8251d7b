/** Trainers that run more than one sequence or model for a sample. */
import { strict as assert } from "node:assert";
import { shapeOf, tokensPerSample } from "../../../src/core/cost/shape";
import { passes, workOf } from "../../../src/core/cost/work";
import type { TrainerSpec, TrainingRun } from "../../../src/core/training/run";
import { causalRun } from "../runs";

const trainer = (kind: TrainerSpec["kind"], reference: string): TrainerSpec => ({
  kind,
  variant: { reference },
  disableDropout: true,
  scoredTokens: 63,
  promptLength: 0,
  completionLength: 0,
});

describe("work of TRL's trainers", () => {
  it("counts both sequences of a pair", () => {
    const plain = causalRun({});
    assert.equal(tokensPerSample(causalRun({ trainer: trainer("dpo", "none") })), 2 * tokensPerSample(plain));
    assert.equal(tokensPerSample(causalRun({ trainer: trainer("grpo", "none") })), tokensPerSample(plain));
  });

  it("counts the forward of the reference", () => {
    const without = passes(causalRun({ trainer: trainer("dpo", "none") }));
    assert.equal(without, passes(causalRun({})));
    for (const reference of ["model", "adapter"])
      assert.equal(passes(causalRun({ trainer: trainer("dpo", reference) })), without + 1);
  });

  it("counts a teacher by its own size", () => {
    const run = causalRun({});
    const { model, loadDtype } = run;
    const of = (layers: number): TrainingRun => {
      const config = { ...model.config, num_hidden_layers: layers };
      const companion = { model: { ...model, config }, loadDtype };
      return causalRun({ trainer: { ...trainer("gkd", "model"), companion } });
    };
    const flops = (one: TrainingRun): number => {
      const shape = shapeOf(one);
      assert.ok(shape);
      return workOf(one, shape, { parameters: 1e6, trainableParameters: 1e6 }).matrixFlops[0];
    };
    assert.equal(passes(of(4)), passes(run));
    assert.ok(flops(of(4)) > flops(run));
    const layer = flops(of(5)) - flops(of(4));
    assert.ok(Math.abs(flops(of(8)) - flops(of(4)) - 4 * layer) < 1);
  });
});
