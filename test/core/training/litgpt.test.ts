/** The loop of litgpt's scripts (litgpt/finetune/lora.py, `fit` and `main`), whose names outlive what they were bound for. */
import assert from "node:assert/strict";
import { simulate } from "../../../src/core/simulate";
import type { TrainingRun } from "../../../src/core/training/run";
import { graphsOf } from "../receipts/case";
import { causalRun, loraSpec } from "../runs";

const TOKENS = 4 * 64;
const [LAYERS, HIDDEN, INNER, WORDS] = [12, 64, 176, 1000];

/** What the second step finds when its batch is there: in bytes, at the most. */
function found(change: Partial<TrainingRun>): number {
  const run = causalRun({
    loadDtype: "bfloat16",
    adapter: loraSpec({ rank: 4, autocastAdapterDtype: false }),
    quantization: { type: "nf4", double: false, prepareForKbit: false, computeDtype: "bfloat16", keepsInputs: true },
    ...change,
  });
  const result = simulate(run, graphsOf("llama"));
  assert.ok(result.ok);
  const { phaseList } = result.simulation.ledger;
  return phaseList.find(({ phase, step }) => phase === "data" && step === 2)?.peak ?? 0;
}

describe("the loop of litgpt", () => {
  it("keeps the graph of the micro-batch before, and in it what packed layers keep as attributes", () => {
    const more = found({ loop: { holds: "outputs" } }) - found({});
    // Inputs of q, k and v (one), of the output, of gate and up (one), of down: attributes of bitsandbytes' function. What the
    // first layer is given requires no grad.
    const inputs = LAYERS * TOKENS * (3 * HIDDEN + INNER) * 2 - TOKENS * HIDDEN * 2;
    const logits = TOKENS * WORDS * 2;
    // The loss, and the ids and labels of the batch before; the count of labelled tokens.
    const rest = 512 + 2 * TOKENS * 8 + 512;
    assert.equal(more, inputs + logits + rest);
  });

  it("keeps little where nothing holds inputs that backward is done with", () => {
    const plain = { quantization: null };
    const more = found({ ...plain, loop: { holds: "outputs" } }) - found(plain);
    assert.equal(more, TOKENS * WORDS * 2 + 512 + 2 * TOKENS * 8 + 512);
  });

  it("has an embedding besides with a norm behind it, whose gradients no optimizer knows", () => {
    const both = { loop: { holds: "nothing" }, replacesEmbedding: true } as const;
    const more = found(both) - found({ loop: { holds: "nothing" } });
    // The table and its gradient; the norm's two weights and theirs, in blocks of 512 bytes.
    assert.equal(more, 2 * WORDS * HIDDEN * 2 + 4 * 512);
  });

  it("packs the head, too", () => {
    const quantization = { type: "nf4", double: false, prepareForKbit: false, computeDtype: "bfloat16" } as const;
    const less = found({ quantization }) - found({ quantization: { ...quantization, packsHead: true } });
    // Half a byte a weight, a constant for every 64 of them, and the 16 values of a code.
    assert.ok(Math.abs(less - WORDS * HIDDEN * (2 - 0.5 - 4 / 64)) <= 2048, String(less));
  });
});
