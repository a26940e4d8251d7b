/** Configs seen as their library fills them in, and the choice of a graph. */
import { strict as assert } from "node:assert";
import { configView, layerScope, selectGraph } from "../../src/core/graph/config";
import type { ArchitectureGraph, FamilyGraphs } from "../../src/core/graph/types";

const SIZES = { B: 2, S: 8, T: 4, I: 16, A: 0 };

function graph(task: string, attention: string, ...when: string[]): ArchitectureGraph {
  const main = { inputs: [], outputs: [], body: [] };
  return { task, attention, when, parameters: [], buffers: [], tied: [], batch: [], main, blocks: [] };
}

const FAMILY: FamilyGraphs = {
  family: "toy",
  captured: { transformers: "5.17.0", torch: "2.11.0", license: "Apache-2.0" },
  defaults: { num_labels: 2, hidden_size: 64, num_key_value_heads: null },
  derived: { num_key_value_heads: "num_attention_heads", "mlp_layer_types.i": "i < dense and 'dense' or 'sparse'" },
  layerKind: "(i + 1) % 3 == 0 and 'full_attention' or 'sliding_attention'",
  aliases: { n_embd: "hidden_size" },
  head: null,
  graphs: [
    graph("causal-lm", "sdpa", "num_key_value_heads != num_attention_heads"),
    graph("causal-lm", "sdpa", "num_key_value_heads == num_attention_heads"),
    graph("causal-lm", "eager"),
    graph("seq-cls", "eager"),
  ],
};

const look = (config: Readonly<Record<string, unknown>>, name: string): unknown =>
  configView(FAMILY, config, SIZES).scope(name);

describe("config view", () => {
  it("takes the config's value, then an alias, then the default, then what is derived", () => {
    assert.equal(look({ hidden_size: 32 }, "hidden_size"), 32);
    assert.equal(look({ n_embd: 48 }, "hidden_size"), 48);
    assert.equal(look({}, "hidden_size"), 64);
    assert.equal(look({ num_attention_heads: 4 }, "num_key_value_heads"), 4);
    assert.equal(look({ num_attention_heads: 4, num_key_value_heads: null }, "num_key_value_heads"), 4);
  });

  it("knows the run's sizes and computes head_dim where the class leaves it out", () => {
    assert.equal(look({}, "S"), 8);
    assert.equal(look({ hidden_size: 96, num_attention_heads: 6 }, "head_dim"), 16);
  });

  it("counts labels by their names", () => {
    assert.equal(look({ id2label: { "0": "a", "1": "b", "2": "c" } }, "num_labels"), 3);
    assert.equal(look({}, "num_labels"), 2);
  });

  it("gives each layer its kind, the config's list first", () => {
    assert.equal(configView(FAMILY, {}, SIZES).layerKind(2), "full_attention");
    assert.equal(configView(FAMILY, { layer_types: ["x", "y"] }, SIZES).layerKind(1), "y");
    assert.equal(configView(FAMILY, { layer_types: ["mamba", "attention"] }, SIZES).layerKind(0), "linear_attention");
    assert.equal(configView(FAMILY, { layers_block_type: ["attention"] }, SIZES).layerKind(0), "full_attention");
    const tower = {
      ...FAMILY,
      layerKind: "vision_config.global_attn_indexes.0 == i and 'global' or 'window'",
    };
    const windows = { text_config: { layer_types: ["full_attention"] }, vision_config: { global_attn_indexes: [1] } };
    assert.deepEqual([0, 1].map(configView(tower, windows, SIZES).layerKind), ["window", "global"]);
    const patterned = configView(FAMILY, { hybrid_override_pattern: "M-*E" }, SIZES);
    assert.deepEqual([0, 1, 2, 3].map(patterned.layerKind), ["linear_attention", "mlp", "full_attention", "moe"]);
  });

  it("gives each layer its element of a list, or what the class computes where there is no list", () => {
    const kinds = (config: Readonly<Record<string, unknown>>): unknown[] => {
      const { scope } = configView(FAMILY, config, SIZES);
      return [0, 1, 2].map((index) => layerScope(scope, index, null)("mlp_layer_types.i"));
    };
    assert.deepEqual(kinds({ mlp_layer_types: ["sparse", "dense", "sparse"] }), ["sparse", "dense", "sparse"]);
    assert.deepEqual(kinds({ dense: 2 }), ["dense", "dense", "sparse"]);
    assert.deepEqual(kinds({ dense: 2, mlp_layer_types: ["sparse"] }), ["sparse", null, null]);
  });

  it("answers null for what nobody knows", () => assert.equal(look({}, "nothing"), null));
});

describe("graph selection", () => {
  const select = (config: Readonly<Record<string, unknown>>, task: string, attention: string): unknown =>
    selectGraph(FAMILY, task, attention, configView(FAMILY, config, SIZES).scope);

  it("takes the first graph whose conditions hold", () => {
    assert.equal(select({ num_attention_heads: 4, num_key_value_heads: 2 }, "causal-lm", "sdpa"), FAMILY.graphs[0]);
    assert.equal(select({ num_attention_heads: 4 }, "causal-lm", "sdpa"), FAMILY.graphs[1]);
  });

  it("runs eager where the model's code has no SDPA", () => {
    assert.equal(select({}, "seq-cls", "sdpa"), FAMILY.graphs[3]);
    assert.equal(select({}, "seq-cls", "flash_attention_2"), undefined);
  });
});
