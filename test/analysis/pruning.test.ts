/** Recipes that keep pruned weights at zero. */
import { strict as assert } from "node:assert";
import { TINY_LLAMA } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

describe("analysis: pruned weights", () => {
  it("are named by axolotl's block for llm-compressor", async () => {
    const recipe =
      "llmcompressor:\n  recipe:\n    finetuning_stage:\n      finetuning_modifiers:\n        ConstantPruningModifier:\n" +
      "          targets: ['re:.*q_proj.weight', 're:.*up_proj.weight']\n          start: 0\n";
    const files = {
      "a.yaml": `base_model: ./model\nmicro_batch_size: 1\nsequence_len: 64\ndatasets: []\noutput_dir: out\n${recipe}`,
      "model/config.json": JSON.stringify(TINY_LLAMA),
    };
    const { run } = await resolveFiles(files, "a.yaml");
    assert.deepEqual(run?.prunedWeights, ["re:.*q_proj.weight", "re:.*up_proj.weight"]);
  });
});
