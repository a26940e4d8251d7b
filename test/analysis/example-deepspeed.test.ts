/** DeepSpeed configs of LLaMA-Factory's own examples that a config names and that are not beside it. */
import { strict as assert } from "node:assert";
import { exampleDeepspeed } from "../../src/formats/llama-factory/examples";
import { TINY_LLAMA } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const NAMES = ["ds_z0_config", "ds_z2_config", "ds_z2_offload_config", "ds_z3_config", "ds_z3_offload_config"];

const config = (path: string): string =>
  `stage: sft\ndo_train: true\nfinetuning_type: full\nmodel_name_or_path: ./model\ndeepspeed: ${path}\ntemplate: llama3\nbf16: true\n`;

async function deepspeedOf(path: string, beside: Readonly<Record<string, string>> = {}) {
  const files = { "sft.yaml": config(path), "model/config.json": JSON.stringify(TINY_LLAMA), ...beside };
  const { run } = await resolveFiles(files, "sft.yaml");
  return run?.parallel.deepspeed;
}

describe("analysis: DeepSpeed configs of a framework's own examples", () => {
  for (const name of NAMES)
    it(`${name} is what the file of that name says`, async () => {
      const path = `examples/deepspeed/${name}.json`;
      const alone = await deepspeedOf(path);
      assert.ok(alone);
      assert.deepEqual(alone, await deepspeedOf(path, { [path]: exampleDeepspeed(path) ?? "" }));
      assert.equal(alone.zeroStage, Number(/z(\d)/.exec(name)?.[1]));
      assert.equal(alone.offloadOptimizer, name.includes("offload") ? "cpu" : "none");
    });

  it("of other names or places are unknown", async () => {
    for (const path of ["ds_z3_config.json", "examples/deepspeed/mine.json", "examples/deepspeed/ds_z9_config.json"])
      assert.equal(exampleDeepspeed(path), undefined);
    assert.equal(await deepspeedOf("examples/deepspeed/mine.json"), null);
  });
});
