/** Whole gradients under FSDP, where a framework runs the Trainer itself and where it does not. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

async function codes(name: string, text: string): Promise<readonly string[]> {
  const files = {
    [name]: text,
    "model/config.json": JSON.stringify(TINY_LLAMA),
    ".vramlens.yaml": 'runs:\n  - match: "**"\n    device: { name: 24GB, count: 4 }\n',
  };
  const { report } = await createAnalyzer(memoryRuntime(files)).analyse(uri(name), {});
  return report.runs.flatMap(({ findings }) => findings.map(({ code }) => code));
}

describe("accumulation under FSDP", () => {
  it("is told of in configs of frameworks that run the Trainer", async () => {
    const axolotl = (more: string) =>
      `base_model: ./model\ndatasets: []\nmicro_batch_size: 2\nsequence_len: 512\nfsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n${more}`;
    assert.ok((await codes("axolotl.yml", axolotl("gradient_accumulation_steps: 4\n"))).includes("fsdp-accumulation"));
    assert.ok(!(await codes("axolotl.yml", axolotl("gradient_accumulation_steps: 1\n"))).includes("fsdp-accumulation"));
  });
});
