/** Configs that torchtune's recipes have by name. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { recogniseFormat } from "../../src/formats";
import { parseDocument } from "../../src/formats/parse";
import { applyEdits } from "../../src/syntax/edit";
import { memoryRuntime, uri } from "../analysis/memory-runtime";

async function runOf(command: string) {
  const analysis = await createAnalyzer(memoryRuntime({ "run.sh": `${command}\n` })).analyse(uri("run.sh"), {});
  const [run] = analysis.runs;
  assert.ok(run);
  const value = (name: string) => run.settings.find((setting) => setting.name === name)?.value;
  return { run, value };
}

describe("formats: torchtune's recipes by name", () => {
  it("say what their configs have, which the command overrules", async () => {
    const { run, value } = await runOf(
      "tune run lora_finetune_single_device --config llama3_1/8B_lora_single_device batch_size=4",
    );
    assert.equal(run.model?.name, "meta-llama/Llama-3.1-8B");
    assert.deepEqual(
      ["micro_batch_size", "gradient_accumulation_steps", "lora_rank", "optimizer", "load_dtype"].map(value),
      [4, 8, 8, "adamw_torch_fused", "bfloat16"],
    );
    assert.ok(run.perDevice);
  });

  it("are changed by words of the command", () => {
    const text = "tune run lora_finetune_single_device --config llama3_1/8B_lora_single_device batch_size=4\n";
    const document = parseDocument("run.sh", text);
    assert.ok(document);
    const outcome = recogniseFormat(document)?.format.edit(document, [
      { name: "micro_batch_size", value: 2 },
      { name: "gradient_accumulation_steps", value: 16 },
    ]);
    assert.ok(outcome !== undefined && "edits" in outcome);
    assert.equal(
      applyEdits(text, outcome.edits),
      text.replace("batch_size=4", "batch_size=2 gradient_accumulation_steps=16"),
    );
  });

  it("run on the GPUs that stand before the recipe's name", async () => {
    const { value } = await runOf("tune run --nproc_per_node 8 full_finetune_distributed --config llama3_1/70B_full");
    assert.deepEqual([value("world_size"), value("offload_param"), value("adapter")], [8, "cpu", "none"]);
  });
});
