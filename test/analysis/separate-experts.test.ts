/** Experts before transformers 5: linear layers of their own, which are packed and adapted like others. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const script = (lora: string): string =>
  `import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
packed = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained("allenai/OLMoE-1B-7B-0924", torch_dtype=torch.bfloat16, quantization_config=packed)
model = get_peft_model(model, LoraConfig(${lora}))
args = TrainingArguments(output_dir="o", per_device_train_batch_size=2, bf16=True, gradient_checkpointing=True)
trainer = Trainer(model=model, args=args, train_dataset=d)
trainer.train()
`;
const ATTENTION = 'r=16, target_modules=["q_proj", "v_proj"]';

async function runOn(transformers: string, lora: string) {
  const files = { "train.py": script(lora), "requirements.txt": `transformers==${transformers}\n` };
  const run = (await createAnalyzer(memoryRuntime(files)).analyse(uri("train.py"), {})).report.runs[0];
  const weights = run?.perDevice?.components.find(({ kind }) => kind === "weights")?.bytes ?? 0;
  return { weights, said: JSON.stringify(run?.assumptions) };
}

describe("analysis: experts of earlier releases", () => {
  it("are packed by bitsandbytes before transformers 5, not behind it", async () => {
    // transformers 4.57.6, peft 0.17.1 and bitsandbytes on fake CUDA tensors: allocated before the first step, adapters aside.
    const truth = 4_198_413_312 - 8_388_608;
    const { weights, said } = await runOn("4.57.6", ATTENTION);
    assert.ok(Math.abs(weights / truth - 1) < 1e-3, `${weights}`);
    assert.match(said, /newest models for those of transformers 4\.57\.6/);
    assert.ok((await runOn("5.17.0", ATTENTION)).weights > 3 * truth);
  });

  it("take dropout, as other linear layers do", async () => {
    const dropout = 'r=16, target_modules="all-linear", lora_dropout=0.05';
    assert.doesNotMatch((await runOn("4.57.6", dropout)).said, /peft refuses dropout/);
    assert.match((await runOn("5.17.0", dropout)).said, /peft refuses dropout/);
  });
});
