/** Weights that a checkpoint's name says are packed, and experts that are packed beside them. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { quantizationOf } from "../../src/analysis/models/guess";
import { memoryRuntime, uri } from "./memory-runtime";

const MOE = `base_model: Qwen/Qwen3-30B-A3B
datasets: [{path: data, type: alpaca}]
adapter: lora
lora_r: 8
lora_target_modules: [q_proj, v_proj]
micro_batch_size: 1
sequence_len: 128
gradient_checkpointing: true
bf16: true
`;

async function runOf(text: string, name = "axolotl.yaml") {
  return (await createAnalyzer(memoryRuntime({ [name]: text })).analyse(uri(name), {})).runs[0];
}

/** The peak of backward. */
async function bytes(text: string): Promise<number> {
  const run = await runOf(text);
  assert.ok(run?.perDevice, run?.findings.map(({ message }) => message).join("; "));
  return run.perDevice.phases.find(({ phase }) => phase === "backward")?.peakBytes ?? 0;
}

/** Parameters of the experts of Qwen3-30B-A3B: 48 layers of 128 with three matrices of 2,048 × 768. */
const EXPERTS = 48 * 128 * 3 * 2048 * 768;

describe("analysis: weights packed by name", () => {
  it("are of the way that the name says", () => {
    const way = (name: string) => quantizationOf(name)?.["quant_method"];
    assert.equal(way("Qwen/Qwen-7B-Chat-Int4"), "gptq");
    assert.equal(quantizationOf("Qwen/Qwen-7B-Chat-Int8/")?.["bits"], 8);
    assert.equal(way("nvidia/Qwen3-30B-A3B-NVFP4"), "nvfp4");
    assert.equal(way("Qwen/Qwen3-8B-FP8"), "fp8");
    assert.deepEqual(quantizationOf("ISTA-DASLab/Meta-Llama-3-8B-Instruct-AQLM-2Bit-1x16"), {
      quant_method: "aqlm",
      num_codebooks: 1,
      nbits_per_codebook: 16,
    });
    assert.equal(way("meta-llama/Llama-3.1-8B"), undefined);
  });

  it("go before 4 bits that a loader is asked for, whether the model is known or not", async () => {
    const train = (name: string) =>
      `model_name_or_path: ${name}\noutput_dir: o\nload_in_4bit: true\nuse_peft: true\nper_device_train_batch_size: 1\n`;
    for (const [name, way] of [
      ["Qwen/Qwen2.5-0.5B-Instruct-GPTQ-Int4", "gptq"],
      ["me/Unheard-7B-Chat-Int4", "gptq"],
      ["Qwen/Qwen2.5-0.5B-Instruct", "nf4"],
    ] as const) {
      const run = await runOf(train(name), "a.yaml");
      assert.equal(run?.settings.find((one) => one.name === "quantization")?.value, way, name);
    }
  });

  it("of NVFP4 are trained on packed by kernels for experts alone", async () => {
    const of = (name: string, more = "") => bytes(MOE.replace("Qwen/Qwen3-30B-A3B", `nvidia/${name}`) + more);
    const whole = await of("Qwen3-30B-A3B");
    assert.equal(await of("Qwen3-30B-A3B-NVFP4"), whole);
    const packed = await of("Qwen3-30B-A3B-NVFP4", "use_sonicmoe: true\n");
    assert.ok(Math.abs(whole - packed - EXPERTS * (2 - 1 / 2 - 1 / 16)) < 0.01 * EXPERTS, `${whole - packed}`);
  });

  it("of axolotl's experts are unpacked a layer at a time, unless kernels of its own run them", async () => {
    const four = await bytes(`${MOE}load_in_4bit: true\n`.replace("adapter: lora", "adapter: qlora"));
    const packs = `${MOE}load_in_4bit: true\nquantize_moe_experts: true\n`.replace("adapter: lora", "adapter: qlora");
    const [unpacked, kernels] = [await bytes(packs), await bytes(`${packs}use_scattermoe: true\n`)];
    assert.ok(four - kernels > 1.4 * EXPERTS, `${four - kernels}`);
    const layer = (2 * EXPERTS) / 48;
    assert.ok(unpacked - kernels > 0.8 * layer && unpacked - kernels < 2.5 * layer, `${(unpacked - kernels) / layer}`);
  });
});
