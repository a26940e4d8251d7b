/** Sizes that PyTorch refuses: the config is at fault, and there is no estimate. */
import { strict as assert } from "node:assert";
import { estimate } from "../../src/core/estimate";
import type { ModelConfig } from "../../src/core/training/run";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

function refusal(family: string, config: ModelConfig, change: Parameters<typeof causalRun>[0] = {}): string {
  const model = { name: "x", family, source: "config.json", config: { model_type: family, ...config } } as const;
  const result = estimate(causalRun({ model, ...change }), graphsOf(family));
  assert.ok(!result.ok, "an estimate of what does not run");
  assert.equal(result.code, "invalid-config");
  return result.reason.id;
}

describe("sizes that PyTorch refuses", () => {
  const pictures = { task: "image-cls", imageSize: 64, microBatchSize: 2, sequenceLength: 0 } as const;

  it("a window that is larger than the picture", () =>
    assert.equal(refusal("vit", { patch_size: 100_000, image_size: 64 }, pictures), "engine.window"));

  it("elements that do not fit into heads, and heads that are no number", () => {
    const small = { hidden_size: 100, num_hidden_layers: 2, intermediate_size: 64, image_size: 64, patch_size: 16 };
    assert.equal(refusal("vit", { ...small, num_attention_heads: 12 }, pictures), "engine.view");
    assert.equal(refusal("vit", { ...small, num_attention_heads: "twelve" }, pictures), "engine.sizes");
  });

  it("weights of a negative or broken size", () => {
    assert.equal(refusal("llama", { hidden_size: -64, num_attention_heads: 4, vocab_size: 512 }), "engine.weight-size");
    assert.equal(
      refusal("llama", { hidden_size: 64.5, num_attention_heads: 4, vocab_size: 512 }),
      "engine.weight-size",
    );
  });

  it("weights that vanish: a vocabulary, a width or a part of it of 0, and a list of them that is no list", () => {
    const small = {
      hidden_size: 64,
      num_attention_heads: 4,
      num_hidden_layers: 2,
      vocab_size: 512,
      intermediate_size: 64,
    };
    for (const gone of ["vocab_size", "hidden_size", "intermediate_size", "num_key_value_heads"])
      assert.equal(refusal("llama", { ...small, [gone]: 0 }), "engine.weight-size", gone);
    for (const list of ["hidden_sizes", "depths"])
      assert.equal(refusal("resnet", { [list]: 7 }, pictures), "engine.sizes", list);
    // Experts that all tokens share may be none (modeling_ernie4_5_moe.py: `if config.moe_num_shared_experts > 0`).
    const ernie = { ...small, moe_intermediate_size: 32, moe_num_experts: 4, moe_k: 2, moe_num_shared_experts: 0 };
    const unshared = { name: "x", family: "ernie4_5_moe", source: "config.json", config: ernie } as const;
    assert.ok(estimate(causalRun({ model: unshared }), graphsOf("ernie4_5_moe")).ok);
    // Off by its own 0, in the class's own words (modeling_deberta.py: `if config.type_vocab_size > 0`).
    const model = { name: "x", family: "deberta", source: "config.json", config: { type_vocab_size: 0 } } as const;
    assert.ok(estimate(causalRun({ model, task: "seq-cls" }), graphsOf("deberta")).ok);
  });

  it("layers of which nothing says how many there are, and experts that are not there to be chosen", () => {
    const heads = { num_attention_heads: 4, num_key_value_heads: 4 };
    const small = { hidden_size: 64, ...heads, vocab_size: 512, intermediate_size: 64 };
    assert.equal(refusal("llama", { ...small, num_hidden_layers: null }), "engine.sizes");
    for (const [num_local_experts, reason] of [
      [0, "engine.weight-size"],
      [4, "engine.chosen"],
    ] as const)
      assert.equal(
        refusal("mixtral", { ...small, num_hidden_layers: 2, num_local_experts, num_experts_per_tok: 6 }),
        reason,
      );
  });

  it("a number that is stated as a list, a map or a truth: the class's own does not stand for it", () => {
    const small = { num_attention_heads: 4, num_hidden_layers: 2, vocab_size: 512, intermediate_size: 64 };
    for (const hidden_size of [[64], { size: 64 }, true])
      assert.equal(refusal("llama", { ...small, hidden_size }), "engine.sizes", JSON.stringify(hidden_size));
  });

  it("heads of queries that are no multiple of those of keys", () => {
    const small = { num_attention_heads: 4, num_hidden_layers: 2, vocab_size: 512, intermediate_size: 64 };
    for (const num_key_value_heads of [3, 8])
      assert.equal(refusal("llama", { ...small, hidden_size: 64, num_key_value_heads }), "engine.heads");
  });

  it("what does not go together: an odd number of rotated values, where its cosines are one more", () => {
    const small = { num_attention_heads: 4, num_key_value_heads: 4, num_hidden_layers: 2, vocab_size: 512 };
    const sizes = { ...small, hidden_size: 48, intermediate_size: 64 };
    assert.equal(refusal("stablelm", sizes), "engine.broadcast");
    // Cut by the cosines' own width, queries have as many (modeling_nemotron.py, apply_rotary_pos_emb).
    const nemotron = { model_type: "nemotron", ...sizes, hidden_size: 56, head_dim: 14 };
    const model = { name: "x", family: "nemotron", source: "config.json", config: nemotron } as const;
    assert.ok(estimate(causalRun({ model }), graphsOf("nemotron")).ok);
  });

  it("a packed weight that code multiplies by itself is none of the config's faults", () => {
    const config = { model_type: "mamba", hidden_size: 64, num_hidden_layers: 2, vocab_size: 512, state_size: 8 };
    const model = { name: "x", family: "mamba", source: "config.json", config } as const;
    const quantization = { type: "nf4", double: true, prepareForKbit: false, computeDtype: "bfloat16" } as const;
    const result = estimate(causalRun({ model, quantization, sequenceLength: 16 }), graphsOf("mamba"));
    assert.ok(!result.ok);
    assert.deepEqual([result.code, result.reason.id], ["not-modelled", "engine.operator"]);
  });
});
