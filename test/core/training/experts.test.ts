/** LoRA on experts that are stored together. */
import { strict as assert } from "node:assert";
import { estimate } from "../../../src/core/estimate";
import type { AdapterSpec, TrainingRun } from "../../../src/core/training/run";
import { english } from "../../english";
import { graphsOf } from "../receipts/case";
import { causalRun, loraSpec } from "../runs";

const graphs = graphsOf("qwen3_moe");
const [hidden, inner, experts, layers, rank] = [64, 32, 4, 2, 4];

function of(
  targetModules: AdapterSpec["targetModules"],
  checkpointing: TrainingRun["checkpointing"] = null,
  dropout = 0,
) {
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
      adapter: loraSpec({ rank, alpha: 8, dropout, targetModules }),
    }),
    graphs,
  );
  assert.ok(result.ok, result.ok ? "" : english(result.reason));
  return result.estimate;
}

/** Trained parameters of `a` over those of `b`. */
const more = (a: ReturnType<typeof of>, b: ReturnType<typeof of>): number =>
  a.trainableParameters - b.trainableParameters;

/** Factors on the two stacks of all experts; gate and up are one stack, whose rank is that of both. */
const factors = layers * experts * (2 * rank * (hidden + 2 * inner) + rank * (inner + hidden));
const router = layers * rank * (hidden + experts);
const attention = layers * rank * (4 * (hidden + hidden) - 2 * 32);

describe("adapters on fused experts", () => {
  it("are put on the stacks, whose names stand for the separate matrices", () => {
    const plain = of(["q_proj"]);
    assert.equal(more(of(["q_proj", "gate_proj", "up_proj", "down_proj"]), plain), factors);
    assert.equal(more(of("all-linear"), plain), factors + router + attention - layers * rank * 2 * hidden);
  });

  it("keep an adapted stack of each layer, which checkpointing makes anew", () => {
    const stack = 2 * experts * 3 * inner * hidden;
    const targets = ["q_proj", "gate_proj", "up_proj", "down_proj"];
    const saved = of(targets).allocatedPeakBytes - of(targets, { useReentrant: false }).allocatedPeakBytes;
    assert.ok(saved > (layers - 1) * stack);
  });

  it("are refused by peft in other forms than plain LoRA, which is said", () => {
    const said = (targets: readonly string[], dropout: number): boolean =>
      of(targets, null, dropout).assumptions.some(({ what }) => what.id === "engine.adapted-experts");
    assert.equal(said(["up_proj", "gate_proj"], 0.1), true);
    assert.equal(said(["up_proj", "gate_proj"], 0), false);
    assert.equal(said(["q_proj"], 0.1), false);
  });
});
