import assert from "node:assert/strict";
import { simulate } from "../../../src/core/simulate";
import type { QuantizationSpec } from "../../../src/core/training/run";
import { graphsOf } from "../receipts/case";
import { causalRun, loraSpec } from "../runs";

const LORA = loraSpec({ rank: 4, alpha: 8, autocastAdapterDtype: false });

function peak(quantization: Partial<QuantizationSpec>, checkpointing: { useReentrant: boolean } | null = null): number {
  const spec: QuantizationSpec = {
    type: "nf4",
    double: false,
    prepareForKbit: false,
    computeDtype: "bfloat16",
    ...quantization,
  };
  const run = causalRun({ loadDtype: "bfloat16", adapter: LORA, quantization: spec, checkpointing });
  const result = simulate(run, graphsOf("llama"));
  assert.ok(result.ok);
  return result.simulation.ledger.peak;
}

describe("a quantized base", () => {
  it("packs falcon's subclass of nn.Linear with transformers 4 only", () => {
    const config = {
      model_type: "falcon",
      num_hidden_layers: 2,
      hidden_size: 64,
      num_attention_heads: 4,
      vocab_size: 99,
    };
    const weights = (packsSubclasses: boolean): number => {
      const run = causalRun({
        model: { name: "tiny", family: "falcon", config, source: "config.json" },
        loadDtype: "bfloat16",
        adapter: { ...LORA, targetModules: ["query_key_value"] },
        quantization: { type: "nf4", double: false, prepareForKbit: false, computeDtype: "bfloat16", packsSubclasses },
      });
      const result = simulate(run, graphsOf("falcon"));
      assert.ok(result.ok);
      return result.simulation.ledger.phaseList[0]?.peak ?? 0;
    };
    assert.ok(weights(true) < 0.5 * weights(false), `${weights(true)} ${weights(false)}`);
  });

  it("is raised to float32 where it was not packed, but for formats of other libraries (peft/utils/other.py)", () => {
    for (const type of ["gptq", "hqq", "aqlm", "eetq"] as const)
      assert.equal(peak({ type, prepareForKbit: true }), peak({ type }));
    for (const type of ["awq", "nf4", "int8"] as const) {
      const raised = peak({ type, prepareForKbit: true }) - peak({ type });
      // Embedding and head: 1000 × 64 each, two bytes more an element.
      assert.ok(raised >= 2 * 1000 * 64 * 2, `${type}: ${raised}`);
    }
  });

  it("of AQLM has codes and codebooks, and its layers keep their inputs", () => {
    const small = { count: 1, bits: 8, outputs: 1, inputs: 8 };
    const simulated = (quantization: Partial<QuantizationSpec>) => {
      const result = simulate(
        causalRun({
          loadDtype: "bfloat16",
          adapter: LORA,
          quantization: {
            type: "aqlm",
            double: false,
            prepareForKbit: false,
            computeDtype: "bfloat16",
            ...quantization,
          },
        }),
        graphsOf("llama"),
      );
      assert.ok(result.ok);
      return result.simulation.ledger;
    };
    const [one, two] = [simulated({ codebooks: small }), simulated({ codebooks: { ...small, count: 2 } })];
    // A byte for eight weights and 256 entries of eight bfloat16 numbers more in each of the 84 matrices.
    const layer = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 176;
    const more = (two.phaseList[0]?.peak ?? 0) - (one.phaseList[0]?.peak ?? 0);
    assert.ok(Math.abs(more - 12 * (layer / 8 + 7 * 256 * 8 * 2)) <= 84 * 2 * 512, String(more));
    // What the down projection reads is kept by nothing else.
    const down = 4 * 64 * 176 * 2;
    assert.ok(peak({ type: "aqlm", codebooks: small }) - peak({ type: "gptq" }) > (12 * down) / 2);
  });

  it("kept the inputs of its 4-bit layers before bitsandbytes 0.43.2, also where checkpointing drops what is saved", () => {
    const inputs = 4 * 64 * 64 * 2;
    const down = 4 * 64 * 176 * 2;
    const kept = peak({ keepsInputs: true }) - peak({});
    // At least what the down projection takes, which nothing else keeps, in each of 12 layers.
    assert.ok(kept >= 12 * down, String(kept));
    const hooks = { useReentrant: false };
    assert.ok(peak({ keepsInputs: true }, hooks) - peak({}, hooks) >= 11 * (inputs + down));
    // The reentrant kind's first forward records no graph: only the layer that is recomputed keeps them.
    const reentrant = { useReentrant: true };
    assert.ok(peak({ keepsInputs: true }, reentrant) - peak({}, reentrant) < 4 * (inputs + down));
  });
});
