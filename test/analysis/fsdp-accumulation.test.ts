/** Whole gradients under FSDP, where a framework runs the Trainer itself and where it does not; and what FSDP wraps. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

async function analysed(name: string, text: string) {
  const files = {
    [name]: text,
    "model/config.json": JSON.stringify(TINY_LLAMA),
    ".vramlens.yaml": 'runs:\n  - match: "**"\n    device: { name: 24GB, count: 4 }\n',
  };
  const { report } = await createAnalyzer(memoryRuntime(files)).analyse(uri(name), {});
  return report.runs;
}

async function codes(name: string, text: string): Promise<readonly string[]> {
  return (await analysed(name, text)).flatMap(({ findings }) => findings.map(({ code }) => code));
}

describe("accumulation under FSDP", () => {
  it("is told of in configs of frameworks that run the Trainer", async () => {
    const axolotl = (more: string) =>
      `base_model: ./model\ndatasets: []\nmicro_batch_size: 2\nsequence_len: 512\nfsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n${more}`;
    assert.ok((await codes("axolotl.yml", axolotl("gradient_accumulation_steps: 4\n"))).includes("fsdp-accumulation"));
    assert.ok(!(await codes("axolotl.yml", axolotl("gradient_accumulation_steps: 1\n"))).includes("fsdp-accumulation"));
  });

  it("is counted by layers, and a class that is none of the model's layers is said to be counted otherwise", async () => {
    const assumed = async (wrapped: string): Promise<boolean> => {
      const runs = await analysed(
        "train.json",
        `{"model_name_or_path": "./model", "output_dir": "out", "per_device_train_batch_size": 1, "bf16": true, "fsdp": "full_shard auto_wrap", "fsdp_config": {"transformer_layer_cls_to_wrap": ${wrapped}}}`,
      );
      return runs.some(({ assumptions }) => assumptions.some(({ what }) => what.includes("not by `LlamaMLP`")));
    };
    assert.equal(await assumed('"LlamaMLP"'), true);
    assert.equal(await assumed('["LlamaDecoderLayer", "LlamaMLP"]'), true);
    assert.equal(await assumed('"LlamaDecoderLayer"'), false);
  });
});
