/** FlashAttention 2 where releases of transformers before 4.48 rebind keys and values to their repeated selves: the kernel takes them as they are. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

async function peakOf(model: string, attention: string, transformers: string): Promise<number | undefined> {
  const config = `model_name_or_path: ${model}\noutput_dir: x\nbf16: true\ntorch_dtype: bfloat16\nattn_implementation: ${attention}\nper_device_train_batch_size: 4\nmax_seq_length: 1024\n`;
  const files = { "run.yaml": config, ".vramlens.yaml": `runs:\n  - libraries: { transformers: "${transformers}" }\n` };
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("run.yaml"), {})).runs;
  return run?.perDevice?.allocatedPeakBytes;
}

describe("analysis: FlashAttention 2 of earlier releases", () => {
  for (const model of ["meta-llama/Llama-3.2-1B", "mistralai/Mistral-7B-v0.1", "Qwen/Qwen2-0.5B"])
    it(`keeps no repeated keys and values of ${model}`, async () => {
      const [flash, repeated] = await Promise.all(
        ["flash_attention_2", "sdpa"].map((attention) => peakOf(model, attention, "4.44.2")),
      );
      assert.ok(flash !== undefined && repeated !== undefined && flash < repeated, `${flash} ${repeated}`);
    });
});
