/** Prompts and prefixes against PyTorch: two steps of peft's own modules on fake CUDA tensors (capture/truth/storages.py). */
import assert from "node:assert/strict";
import { simulate } from "../../../src/core/simulate";
import { graphsOf } from "../receipts/case";
import { causalRun, loraSpec } from "../runs";

const SHAPE = { hidden_size: 256, intermediate_size: 704, num_hidden_layers: 6, vocab_size: 1000 };
const HEADS = { num_attention_heads: 4, num_key_value_heads: 2 };

function peakOf(type: "prefix-tuning" | "prompt-tuning", virtualTokens: number): number {
  const config = { model_type: "llama", ...SHAPE, ...HEADS };
  const run = causalRun({
    model: { name: "tiny", family: "llama", source: "config.json", config },
    microBatchSize: 2,
    sequenceLength: 256,
    loadDtype: "bfloat16",
    adapter: loraSpec({ type, virtualTokens }),
    optimizer: { name: "adamw_torch", args: {} },
  });
  const result = simulate(run, graphsOf("llama"));
  assert.ok(result.ok);
  return result.simulation.ledger.peak;
}

describe("trained prompts", () => {
  it("lengthen every sequence", () => {
    assert.equal(peakOf("prompt-tuning", 16), 42661376);
    assert.equal(peakOf("prompt-tuning", 48), 46606336);
  });

  it("as prefixes are met in the cache of every layer, which then keeps what its gradient needs", () => {
    // The mask stays a little longer than the library keeps it: a byte for each query and key.
    for (const [tokens, truth] of [
      [16, 44818944],
      [48, 46195712],
    ] as const) {
      const over = peakOf("prefix-tuning", tokens) - truth;
      assert.ok(over >= 0 && over <= 2 * 256 * (256 + tokens), `${over}`);
    }
  });

  it("train rows of embeddings that scale what they look up, too", () => {
    const config = { model_type: "biogpt", num_hidden_layers: 2 };
    const run = causalRun({
      model: { name: "biogpt", family: "biogpt", source: "config.json", config },
      attention: "eager",
      adapter: loraSpec({ type: "trainable-tokens", targetModules: [], trainableTokens: 3 }),
    });
    const result = simulate(run, graphsOf("biogpt"));
    assert.ok(result.ok);
    const { ledger } = result.simulation;
    const operators = Array.from({ length: ledger.count }, (_, id) => ledger.labelOf(id).operator);
    assert.ok(operators.includes("index_copy"));
    assert.ok(operators.includes("index_select"));
  });
});
