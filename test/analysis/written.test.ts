/** Where memory comes from, in the script's own words. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const SCRIPT = `
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer
bnb = BitsAndBytesConfig(load_in_4bit=True)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", quantization_config=bnb, torch_dtype="bfloat16")
model.gradient_checkpointing_enable()
args = SFTConfig(output_dir="x", per_device_train_batch_size=8, max_length=2048, bf16=True)
SFTTrainer(model=model, args=args, peft_config=LoraConfig(r=16)).train()
`;

describe("places in a script", () => {
  it("are called what stands there", async () => {
    const { runs } = await createAnalyzer(memoryRuntime({ "train.py": SCRIPT })).analyse(uri("train.py"), {});
    const origins = runs[0]?.perDevice?.components.flatMap(({ origins }) => origins) ?? [];
    const written = new Map(origins.map((origin) => [origin.key, origin.written ?? origin.key]));
    assert.deepEqual(Object.fromEntries(written), {
      "load.0": "from_pretrained",
      "load.torch_dtype": "torch_dtype",
      "bnb.load_in_4bit": "load_in_4bit",
      "lora.call": "LoraConfig",
      "lora.r": "r",
      per_device_train_batch_size: "per_device_train_batch_size",
      max_length: "max_length",
      bf16: "bf16",
      "enable.call": "gradient_checkpointing_enable",
    });
  });
});
