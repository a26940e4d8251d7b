/** DeepSpeed's optimizers that send one bit a number (deepspeed/runtime/fp16/onebit). */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

async function analysed(type: string) {
  const files = {
    "train.json": JSON.stringify({
      model_name_or_path: "./model",
      output_dir: "o",
      per_device_train_batch_size: 1,
      max_seq_length: 64,
      fp16: true,
      deepspeed: "ds.json",
    }),
    "ds.json": JSON.stringify({
      zero_optimization: { stage: 0 },
      fp16: { enabled: true },
      train_micro_batch_size_per_gpu: 1,
      optimizer: { type, params: { lr: 1e-4 } },
    }),
    "model/config.json": JSON.stringify(TINY_LLAMA),
    ".vramlens.yaml": 'runs:\n  - match: "**"\n    device: { name: 24GB, count: 4 }\n',
  };
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("train.json"), {})).runs;
  assert.ok(run?.perDevice, run?.verdict);
  return run;
}

describe("analysis: 1-bit optimizers", () => {
  it("are said to need more than AdamW, which is counted", async () => {
    for (const [type, copies] of [
      ["OneBitAdam", "1"],
      ["ZeroOneAdam", "2"],
      ["OneBitLamb", "2"],
    ] as const) {
      const run = await analysed(type);
      const said = run.assumptions.find(({ id }) => id === "assume.optimizer-errors")?.what;
      assert.ok(said?.includes(type) && said.includes(`${copies} values more`), type);
      assert.ok(!run.assumptions.some(({ id }) => id === "assume.optimizer-as-adamw"));
    }
  });
});
