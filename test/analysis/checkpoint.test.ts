/** How quantized checkpoints say their weights are stored. */
import { strict as assert } from "node:assert";
import { storedWeights } from "../../src/analysis/resolve/checkpoint";
import { TINY_LLAMA } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const stored = (quantization_config: Record<string, unknown>) => storedWeights({ quantization_config });

describe("analysis: quantized checkpoints", () => {
  it("name bits, groups and what is left out", () => {
    assert.deepEqual(stored({ quant_method: "gptq", bits: 8, group_size: -1, desc_act: true }), {
      kind: "packed",
      spec: { type: "gptq", double: false, bits: 8, groupSize: -1 },
    });
    assert.deepEqual(stored({ quant_method: "awq", bits: 4, group_size: 64, modules_to_not_convert: ["gate"] }), {
      kind: "packed",
      spec: { type: "awq", double: false, bits: 4, groupSize: 64, skipModules: ["gate"] },
    });
    assert.deepEqual(
      stored({ quant_method: "hqq", quant_config: { weight_quant_params: { nbits: 3, group_size: 32 } } }),
      { kind: "packed", spec: { type: "hqq", double: false, bits: 3, groupSize: 32 } },
    );
  });

  it("of AQLM name their codebooks", () => {
    assert.deepEqual(stored({ quant_method: "aqlm", num_codebooks: 2, nbits_per_codebook: 8, in_group_size: 8 }), {
      kind: "packed",
      spec: { type: "aqlm", double: false, codebooks: { count: 2, bits: 8, outputs: 1, inputs: 8 } },
    });
  });

  it("of bitsandbytes keep its 4 or 8 bits", () => {
    const four = { quant_method: "bitsandbytes", load_in_4bit: true, bnb_4bit_use_double_quant: true };
    assert.deepEqual(stored({ ...four, bnb_4bit_quant_type: "nf4", llm_int8_skip_modules: ["lm_head"] }), {
      kind: "packed",
      spec: { type: "nf4", double: true, skipModules: ["lm_head"] },
    });
    assert.deepEqual(stored({ quant_method: "bitsandbytes", load_in_8bit: true }), {
      kind: "packed",
      spec: { type: "int8", double: false },
    });
  });

  it("of compressed-tensors and torchao say so by scheme", () => {
    const weights = { num_bits: 4, group_size: 128, symmetric: false, type: "int" };
    assert.deepEqual(
      stored({ quant_method: "compressed-tensors", config_groups: { group_0: { weights } }, ignore: ["lm_head"] }),
      {
        kind: "packed",
        spec: {
          type: "compressed-tensors",
          double: false,
          bits: 4,
          groupSize: 128,
          symmetric: false,
          skipModules: ["lm_head"],
        },
      },
    );
    assert.deepEqual(stored({ quant_method: "torchao", quant_type: { default: { _type: "Int8WeightOnlyConfig" } } }), {
      kind: "packed",
      spec: { type: "torchao", double: false },
    });
  });

  it("that cannot be trained on are dequantized", () => {
    for (const own of [
      { quant_method: "mxfp4", modules_to_not_convert: ["lm_head"] },
      { quant_method: "fp8", weight_block_size: [128, 128] },
      { quant_method: "torchao", quant_type: "int4_weight_only" },
    ])
      assert.equal(stored(own)?.kind, "dequantized");
    assert.equal(storedWeights(TINY_LLAMA), null);
  });

  it("decide the run, with what is supposed of them", async () => {
    const files = (quantization_config: Record<string, unknown>): Record<string, string> => ({
      "train.yaml": "output_dir: out\nper_device_train_batch_size: 2\nbf16: true\n",
      ".vramlens.yaml":
        'runs:\n  - match: "*.yaml"\n    model: ./model\n    sequence_length: 64\n    adapter: { r: 8 }\n',
      "model/config.json": JSON.stringify({ ...TINY_LLAMA, dtype: "bfloat16", quantization_config }),
    });
    const packed = await resolveFiles(files({ quant_method: "gptq", bits: 3, group_size: 64 }), "train.yaml");
    assert.equal(packed.run?.quantization?.bits, 3);
    const open = await resolveFiles(files({ quant_method: "mxfp4" }), "train.yaml");
    assert.equal(open.run?.quantization, null);
    assert.ok(open.suppositions.some(({ message }) => message.id === "assume.dequantized"));
  });
});
