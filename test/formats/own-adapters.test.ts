/** What scripts and files of people's own call an adapter, and what stands between continued lines. */
import { strict as assert } from "node:assert";
import { recogniseFormat } from "../../src/formats";
import { parseDocument } from "../../src/formats/parse";

function read(name: string, text: string): { format: string | undefined; values: Readonly<Record<string, unknown>> } {
  const document = parseDocument(`file:///w/${name}`, text);
  const format = document === undefined ? undefined : recogniseFormat(document)?.format;
  const settings = document === undefined ? [] : (format?.read(document).settings ?? []);
  return { format: format?.id, values: Object.fromEntries(settings.map(({ name, value }) => [name, value])) };
}

const FIREFLY = {
  output_dir: "o",
  model_name_or_path: "m",
  train_file: "d.jsonl",
  template_name: "gemma",
  per_device_train_batch_size: 1,
  max_seq_length: 1024,
  lora_rank: 64,
  lora_alpha: 16,
  use_unsloth: true,
};

describe("formats: adapters by other names", () => {
  it("peft's classes have the fields that their release has", () => {
    const called = (call: string) =>
      read(
        "train.py",
        `from peft import *\nfrom transformers import Trainer, TrainingArguments\nmodel = get_peft_model(m, ${call})\n` +
          `Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=1)).train()\n`,
      ).values;
    assert.equal(called('HRAConfig(r=4, bias="all")')["lora_bias"], "all");
    assert.equal(called('FourierFTConfig(n_frequency=10, bias="all")')["lora_bias"], "all");
    assert.equal(called("VeraConfig(exclude_modules=['lm_head'])")["adapter_exclude_modules"], undefined);
    assert.deepEqual(
      [called("AdaLoraConfig(init_r=6, r=8, total_step=9)")].map((values) => values["lora_rank"]),
      [6],
    );
    assert.equal(called('MissConfig(init_weights="bat")')["adapter_initialization"], "bat");
  });

  it("a rank beside TrainingArguments is LoRA's, Firefly's mode says how", () => {
    const ranked = read("sft.json", JSON.stringify(FIREFLY));
    assert.deepEqual(
      [ranked.format, ranked.values["adapter"], ranked.values["lora_rank"]],
      ["hf-training-arguments", "lora", 64],
    );
    const mode = read("sft.json", JSON.stringify({ ...FIREFLY, train_mode: "qlora" })).values;
    assert.deepEqual(
      [mode["adapter"], mode["quantization"], mode["lora_target_modules"]],
      ["qlora", "nf4", "all-linear"],
    );
    assert.equal(read("sft.json", JSON.stringify({ ...FIREFLY, train_mode: "full" })).values["adapter"], "none");
    const trl = { ...FIREFLY, lora_rank: undefined, lora_r: 8, use_peft: false };
    assert.notEqual(read("sft.json", JSON.stringify(trl)).values["adapter"], "lora");
    const program = { ...FIREFLY, lora_rank: undefined, lora_r: 8, max_seq_length: 512, dataset_name: "d" };
    assert.equal(read("sft.json", JSON.stringify(program)).values["adapter"], "lora");
  });

  it("remarks in backticks between continued lines are nothing", () => {
    const command =
      "torchrun train.py --model_name_or_path m --output_dir o \\\n  --lora_dropout 0.1 \\\n  `# memory` \\\n";
    const { values } = read(
      "a.sh",
      `${command}  --per_device_train_batch_size 4 --target_modules all --num_train_epochs 1\n`,
    );
    assert.deepEqual(
      [values["lora_dropout"], values["micro_batch_size"], values["lora_target_modules"]],
      [0.1, 4, "all-linear"],
    );
  });

  it("a launcher that starts a chat trains nothing", () => {
    assert.equal(
      read("c.sh", "deepspeed examples/chatbot.py --deepspeed ds.json --model_name_or_path gpt2\n").format,
      undefined,
    );
  });
});
