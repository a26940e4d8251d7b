/** Trainers that run more than one sequence or model for a sample. */
import { strict as assert } from "node:assert";
import { tokensPerSample } from "../../../src/core/cost/shape";
import type { TrainerSpec } from "../../../src/core/training/run";
import { causalRun } from "../runs";

const trainer = (kind: TrainerSpec["kind"], reference: string): TrainerSpec => ({
  kind,
  variant: { reference },
  disableDropout: true,
  scoredTokens: 63,
  promptLength: 0,
  completionLength: 0,
});

describe("tokens of TRL's trainers", () => {
  it("counts both sequences of a pair", () => {
    const plain = causalRun({});
    assert.equal(tokensPerSample(causalRun({ trainer: trainer("dpo", "none") })), 2 * tokensPerSample(plain));
    assert.equal(tokensPerSample(causalRun({ trainer: trainer("grpo", "none") })), tokensPerSample(plain));
  });
});
