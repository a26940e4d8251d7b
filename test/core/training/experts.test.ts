/** LoRA on experts that are stored together. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { estimate } from "../../../src/core/estimate";
import type { FamilyGraphs } from "../../../src/core/graph/types";
import type { AdapterSpec, TrainingRun } from "../../../src/core/training/run";
import { causalRun, loraSpec } from "../runs";

const graphs = JSON.parse(
  readFileSync(join(__dirname, "../../../models/graphs/qwen3_moe.json"), "utf8"),
) as FamilyGraphs;
const [hidden, inner, experts, layers, rank] = [64, 32, 4, 2, 4];

function of(targetModules: AdapterSpec["targetModules"], checkpointing: TrainingRun["checkpointing"] = null) {
  const result = estimate(
    causalRun({
      loadDtype: "bfloat16",
      autocast: "bfloat16",
      checkpointing,
      model: {
        name: "moe",
        family: "qwen3_moe",
        source: "config.json",
        config: {
          model_type: "qwen3_moe",
          hidden_size: hidden,
          intermediate_size: 128,
          moe_intermediate_size: inner,
          num_hidden_layers: layers,
          num_attention_heads: 4,
          num_key_value_heads: 2,
          head_dim: 16,
          num_experts: experts,
          num_experts_per_tok: 2,
          vocab_size: 100,
        },
      },
      adapter: loraSpec({ rank, alpha: 8, targetModules }),
    }),
    graphs,
  );
  assert.ok(result.ok, result.ok ? "" : result.reason);
  return result.estimate;
}

/** What the assumption about the experts may add. */
const more = (run: ReturnType<typeof of>): number =>
  run.assumptions.find(({ what }) => what.includes("experts that are stored together"))?.effectBytes ?? 0;

describe("adapters on fused experts", () => {
  it("are in the band: the adapted stacks, a gradient, the factors with their states", () => {
    const stack = 2 * experts * 3 * inner * hidden;
    // The factors of peft: 11,264 for `gate_proj`, `up_proj` and `down_proj` of this model.
    const factors = 11_264;
    for (const targets of ["all-linear", ["gate_proj", "up_proj", "down_proj"], ".*(up_proj|down_proj)"])
      assert.equal(more(of(targets)), layers * stack + stack + 16 * factors);
    assert.equal(more(of("all-linear", { useReentrant: false })), 2 * stack + 16 * factors);
  });

  it("are none where the targets are elsewhere", () => {
    assert.equal(more(of(["q_proj", "v_proj"])), 0);
  });
});
