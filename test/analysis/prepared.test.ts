/** Models that an Accelerator of the script's own has, or has not, prepared before the Trainer gets them. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const SCRIPT = (accelerator: string, between: string, more: string): string => `from accelerate import Accelerator
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

accelerator = Accelerator(${accelerator})
model = AutoModelForCausalLM.from_pretrained("openai-community/gpt2")
${between}
args = TrainingArguments("out", per_device_train_batch_size=2${more})
Trainer(model=model, args=args).train()
`;

async function computeDtype(accelerator: string, between: string, more = ""): Promise<unknown> {
  const text = SCRIPT(accelerator, between, more);
  const [run] = (await createAnalyzer(memoryRuntime({ "train.py": text })).analyse(uri("train.py"), {})).runs;
  return run?.settings.find(({ name }) => name === "compute_dtype")?.value;
}

describe("analysis: models prepared before the trainer gets them", () => {
  it("keep the autocast of what prepared them", async () => {
    assert.equal(await computeDtype("", "model = accelerator.prepare(model)", ", fp16=True"), "fp32");
    assert.equal(await computeDtype('mixed_precision="bf16"', "model = accelerator.prepare_model(model)"), "bf16");
  });

  it("have the trainer's own where nothing prepares them", async () => {
    assert.equal(await computeDtype('mixed_precision="bf16"', ""), "fp32");
    assert.equal(await computeDtype("", "", ", bf16=True"), "bf16");
  });
});
