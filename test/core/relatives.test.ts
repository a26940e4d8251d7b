/** A model nobody captured is estimated by its nearest relative, said so, with a wide band. */
import { strict as assert } from "node:assert";
import { estimate } from "../../src/core/estimate";
import { configForRelative, innerFamilyOf, relativeOf } from "../../src/core/graph/relatives";
import { english } from "../english";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

const CASES: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ["llama", { hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4, rms_norm_eps: 1e-5 }],
  ["llama", { dim: 64, n_layers: 2, n_heads: 4, n_kv_heads: 2 }],
  ["mixtral", { hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4, n_routed_experts: 8 }],
  ["gpt2", { n_embd: 64, n_layer: 2, n_head: 4 }],
  ["bert", { hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4, type_vocab_size: 2 }],
  ["t5", { d_model: 64, num_layers: 2, num_heads: 4, is_encoder_decoder: true }],
  ["mixtral", { d_model: 64, num_layers: 2, num_heads: 4, num_experts: 8, is_encoder_decoder: true }],
  ["vit", { hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4, image_size: 224, patch_size: 16 }],
  ["llama", { text_config: { hidden_size: 64, num_hidden_layers: 2, num_key_value_heads: 2 }, vision_config: {} }],
];

describe("stand-ins for architectures nobody captured", () => {
  for (const [family, config] of CASES)
    it(`${JSON.stringify(config)} is nearest to ${family}`, () => assert.equal(relativeOf(config), family));

  it("a config that is no transformer has none", () => {
    assert.equal(relativeOf({ layers: [3, 4, 6, 3] }), undefined);
    assert.equal(relativeOf({}), undefined);
  });

  it("the language part of a multimodal model names its own family", () => {
    assert.equal(innerFamilyOf({ model_type: "qwen3_5", text_config: { model_type: "qwen3_5_text" } }), "qwen3_5_text");
    assert.equal(innerFamilyOf({ model_type: "llama" }), undefined);
  });

  it("brings other names to the relative's", () => {
    assert.deepEqual(configForRelative({ n_embd: 64, n_layer: 3, n_head: 4 }), {
      n_embd: 64,
      n_layer: 3,
      n_head: 4,
      hidden_size: 64,
      num_hidden_layers: 3,
      num_attention_heads: 4,
      intermediate_size: 256,
    });
  });

  it("the same dimensions give the same peak, with the substitution stated and a wider band", () => {
    const llama = graphsOf("llama");
    const run = causalRun({});
    const own = estimate(run, llama);
    const other = estimate({ ...run, model: { ...run.model, family: "unheard-of" } }, llama);
    assert.ok(own.ok && other.ok);
    assert.equal(other.estimate.allocatedPeakBytes, own.estimate.allocatedPeakBytes);
    assert.ok(other.estimate.band.highBytes > 1.4 * own.estimate.band.highBytes);
    assert.match(english(other.estimate.assumptions[0]!.what), /unheard-of was not captured: llama/);
  });

  it("what writes about pictures or sound is the relative's writer, where it knows words alone", () => {
    const llama = graphsOf("llama");
    const run = causalRun({});
    const own = estimate(run, llama);
    for (const task of ["image-text-to-text", "speech-seq2seq"] as const) {
      const other = estimate({ ...run, task, model: { ...run.model, family: "unheard-of" } }, llama);
      assert.ok(own.ok && other.ok);
      assert.equal(other.estimate.allocatedPeakBytes, own.estimate.allocatedPeakBytes);
    }
    const config = { ...run.model.config, text_config: { ...run.model.config, model_type: "llama" } };
    const audio = estimate(
      { ...run, task: "seq2seq-lm", model: { ...run.model, family: "unheard-of", config } },
      llama,
    );
    assert.ok(audio.ok);
    assert.ok(!estimate({ ...run, task: "seq2seq-lm", model: { ...run.model, family: "unheard-of" } }, llama).ok);
    assert.ok(!estimate({ ...run, task: "image-cls", model: { ...run.model, family: "unheard-of" } }, llama).ok);
  });

  it("a branch that was not captured is run on the one that was, said so, with a wider band", () => {
    const graphs = graphsOf("beit");
    const config = { model_type: "beit", num_hidden_layers: 2, use_relative_position_bias: true };
    const captured = causalRun({
      model: { name: "", family: "beit", source: "config.json", config },
      task: "image-cls",
      imageSize: 224,
      loadDtype: "float32",
      autocast: null,
    });
    const other = {
      ...captured,
      model: { ...captured.model, config: { ...config, use_relative_position_bias: false } },
    };
    const [own, stood] = [estimate(captured, graphs), estimate(other, graphs)];
    assert.ok(own.ok && stood.ok);
    assert.equal(own.estimate.assumptions.filter(({ what }) => what.id === "engine.branch").length, 0);
    assert.match(
      english(stood.estimate.assumptions.at(-1)!.what),
      /^beit was captured where use_(relative|absolute)_position/,
    );
    assert.ok(stood.estimate.band.highBytes > 1.4 * stood.estimate.usedPeakBytes);
  });

  it("the branch that stands in is the one of which most is so", () => {
    const config = {
      model_type: "gemma4_unified_text",
      num_hidden_layers: 6,
      attention_k_eq_v: false,
      attention_bias: true,
    };
    const model = { name: "", family: "gemma4_unified_text", source: "config.json", config } as const;
    const stood = estimate(causalRun({ model }), graphsOf("gemma4_unified_text"));
    assert.ok(stood.ok);
    assert.match(english(stood.estimate.assumptions.at(-1)!.what), /was captured where not attention_bias: that code/);
  });

  it("another kind of attention or another head stands in where a family has no graph of the run's", () => {
    const all = graphsOf("llava");
    const fused = { ...all, graphs: all.graphs.filter(({ attention }) => attention === "sdpa") };
    const config = { model_type: "llava", text_config: { num_hidden_layers: 2 } };
    const model = { name: "", family: "llava", source: "config.json", config } as const;
    const run = causalRun({ model, task: "image-text-to-text", imageSize: 224, attention: "eager" });
    const stood = estimate(run, fused);
    assert.ok(stood.ok);
    assert.match(
      english(stood.estimate.assumptions.at(-1)!.what),
      /was captured where attn_implementation == 'sdpa': that code/,
    );
    const scored = estimate({ ...run, task: "seq-cls", attention: "flash_attention_2" }, fused);
    assert.ok(scored.ok);
    assert.match(
      english(scored.estimate.assumptions.at(-1)!.what),
      /was captured where task == 'image-text-to-text': that code/,
    );
    assert.ok(scored.estimate.band.highBytes > 1.4 * scored.estimate.usedPeakBytes);
  });
});
