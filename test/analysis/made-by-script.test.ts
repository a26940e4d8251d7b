/** What a script makes or changes itself, where the Trainer's arguments would say something else. */
import { strict as assert } from "node:assert";
import type { TrainingRun } from "../../src/core/training/run";
import { resolveFiles } from "./resolve-run";

async function runOf(body: string, trainer = "", cls = "Trainer"): Promise<TrainingRun> {
  const script = `import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B", load_in_4bit=True)
${body}
trainer = ${cls}(model=model, args=TrainingArguments("out", optim="adafactor"), ${trainer})
trainer.train()
`;
  const { run } = await resolveFiles({ "train.py": script }, "train.py");
  assert.ok(run);
  return run;
}

describe("analysis: what a script makes itself", () => {
  it("is the optimizer that the Trainer is given, or that its subclass makes", async () => {
    assert.equal((await runOf("")).optimizer.name, "adafactor");
    const given = await runOf(
      "opt = torch.optim.SGD(model.parameters(), lr=1, momentum=0.9)\nother = torch.optim.Adam(model.parameters())",
      "optimizers=(opt, None)",
    );
    assert.deepEqual(given.optimizer, { name: "sgd", args: { momentum: "0.9" }, oneGroup: true });
    const own = `class Own(Trainer):
    def create_optimizer(self):
        self.optimizer = bnb.optim.AdamW8bit(self.model.parameters())
        return self.optimizer
`;
    const made = await runOf(own, "", "Own");
    assert.deepEqual(made.optimizer, {
      name: "adamw_bnb_8bit",
      args: { embeddings_in_32_bits: "False" },
      oneGroup: true,
    });
    // What the trainer calls its model is the whole of it.
    assert.equal(made.trained?.rules, undefined);
    const named = await runOf("", "optimizer_cls_and_kwargs=(torch.optim.RMSprop, {})");
    assert.equal(named.optimizer.name, "rmsprop");
    assert.equal(named.optimizer.oneGroup, undefined);
  });

  it("is the model's preparation for few bits where it is called, and the dtype of adapters", async () => {
    const lora = (more: string) => `model = get_peft_model(model, LoraConfig(r=4, target_modules="all-linear")${more})`;
    assert.equal((await runOf(lora(""))).quantization?.prepareForKbit, false);
    const prepared = await runOf(`model = prepare_model_for_kbit_training(model)\n${lora("")}`);
    assert.equal(prepared.quantization?.prepareForKbit, true);
    assert.notEqual(prepared.checkpointing, null);
    assert.equal((await runOf(lora(""))).adapter?.autocastAdapterDtype, true);
    assert.equal((await runOf(lora(", autocast_adapter_dtype=False"))).adapter?.autocastAdapterDtype, false);
  });

  it("is an adapter with the defaults of its own class, whatever the trainer's arguments have", async () => {
    const script = `from peft import LoraConfig
from trl import SFTConfig, SFTTrainer
trainer = SFTTrainer(model="Qwen/Qwen3-0.6B", args=SFTConfig(per_device_train_batch_size=2, max_length=64), peft_config=LoraConfig())
trainer.train()
`;
    const { run } = await resolveFiles({ "train.py": script }, "train.py");
    assert.deepEqual([run?.adapter?.rank, run?.adapter?.alpha, run?.adapter?.dropout], [8, 8, 0]);
  });

  it("is the length of the tables of words", async () => {
    assert.equal((await runOf("model.resize_token_embeddings(60001, 64)")).model.config["vocab_size"], 60032);
    assert.equal((await runOf("model.resize_token_embeddings(len(tokenizer))")).model.config["vocab_size"], 151936);
  });
});

describe("analysis: TRL's preparation for few bits", () => {
  const prepares = async (requirements: string, trainer: string): Promise<boolean | undefined> => {
    const yaml = `model_name_or_path: Qwen/Qwen3-0.6B\nload_in_4bit: true\nuse_peft: true\nmax_length: 64\nper_device_train_batch_size: 1\n${trainer}\n`;
    const { run } = await resolveFiles({ "train.yaml": yaml, "requirements.txt": requirements }, "train.yaml");
    return run?.quantization?.prepareForKbit;
  };

  it("is called by the releases whose code calls it", async () => {
    assert.equal(await prepares("trl==1.16.0", "packing: false"), false);
    assert.equal(await prepares("trl==0.24.0", "packing: false"), true);
  });
});
