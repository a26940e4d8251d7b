/** Generation between steps: what decides its time, and that published rates lie inside the range. */
import assert from "node:assert/strict";
import { generationTime } from "../../../src/core/cost/generation-time";
import { findDevice } from "../../../src/core/hardware/devices";
import type { RolloutSpec, TrainingRun } from "../../../src/core/training/run";
import { causalRun } from "../runs";

const A100 = findDevice("NVIDIA A100-SXM4-80GB")?.device;
const PARAMETERS = 8_030_261_248;

/** A Llama of 8 billion parameters that generates. */
function llama(rollout: Partial<RolloutSpec>, tokens = 256): TrainingRun {
  const config = {
    model_type: "llama",
    hidden_size: 4096,
    intermediate_size: 14_336,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    vocab_size: 128_256,
  };
  return {
    ...causalRun({ loadDtype: "bfloat16", autocast: "bfloat16" }),
    model: { name: "llama", family: "llama", config, source: "config.json" },
    trainer: {
      kind: "grpo",
      variant: {},
      disableDropout: false,
      scoredTokens: tokens,
      promptLength: 128,
      completionLength: tokens,
      rollout: {
        sequences: 1,
        every: 1,
        scores: false,
        generates: true,
        generatingBytes: 0,
        sleepingBytes: 0,
        ...rollout,
      },
    },
  };
}

const timeOf = (run: TrainingRun) => {
  const time = generationTime(run, { parameters: PARAMETERS, trainableParameters: PARAMETERS }, A100);
  assert.ok(time);
  return time;
};

describe("time of generation", () => {
  it("is that of reading the weights for every token: a batch costs little more than one sequence", () => {
    const [one, many] = [timeOf(llama({ sequences: 1 })), timeOf(llama({ sequences: 16 }))];
    const reading = (256 * 2 * PARAMETERS) / 2.039e12;
    assert.ok(one.low > reading && one.low < 1.5 * reading, `${one.low} for ${reading}`);
    assert.ok(many.low < 2 * one.low);
    assert.ok(many.tokensPerSecond > 6 * one.tokensPerSecond);
    assert.ok(timeOf(llama({}, 512)).low > 1.9 * one.low);
  });

  it("waits for launches in transformers, not in vLLM", () => {
    const vllm = timeOf(llama({ generates: false, generatingBytes: 2e10 }));
    assert.ok(vllm.high < timeOf(llama({})).high);
  });

  it("is shared by the steps that learn from one generation, and unknown where another machine generates", () => {
    const run = llama({ every: 4 });
    assert.ok(Math.abs(timeOf(run).low * 4 - timeOf(llama({})).low) < 1e-9);
    const server = llama({ generates: false });
    assert.equal(generationTime(server, { parameters: PARAMETERS, trainableParameters: 1 }, A100), null);
  });
});
