/** Programs that only hand over, and configs that a command hands to a program. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

async function runsOf(files: Readonly<Record<string, string>>, path: string) {
  const { runs } = await createAnalyzer(memoryRuntime(files)).analyse(uri(path), {});
  return runs.map((run) => ({
    run,
    value: (name: string) => run.settings.find((setting) => setting.name === name)?.value,
  }));
}

const PROGRAM = `from dataclasses import dataclass, field
import transformers
@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="Qwen/Qwen2.5-0.5B")
@dataclass
class LoraArguments:
    lora_enable: bool = False
    lora_r: int = 64
def train(attn_implementation=None):
    parser = transformers.HfArgumentParser((ModelArguments, transformers.TrainingArguments, LoraArguments))
    model_args, training_args, lora_args = parser.parse_args_into_dataclasses()
    model = transformers.AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path, torch_dtype=torch.bfloat16)
    if lora_args.lora_enable:
        from peft import LoraConfig, get_peft_model
        model = get_peft_model(model, LoraConfig(r=lora_args.lora_r))
    trainer = transformers.Trainer(model=model, args=training_args, train_dataset=data)
    trainer.train()
`;

const CONFIG = "model_name_or_path: Qwen/Qwen2.5-0.5B\noutput_dir: o\nbeta: 0.1\nper_device_train_batch_size: 3\n";

describe("analysis: programs beside a command", () => {
  it("one that only calls another module's function is that module's", async () => {
    const files = {
      "scripts/run.sh":
        "torchrun --nproc_per_node 2 kit/train_mem.py --lora_enable True --per_device_train_batch_size 2\n",
      "kit/train_mem.py":
        'from kit.train import train\nif __name__ == "__main__":\n    train(attn_implementation="sdpa")\n',
      "kit/train.py": PROGRAM,
    };
    const [found] = await runsOf(files, "scripts/run.sh");
    assert.equal(found?.value("lora_rank"), 64);
    assert.equal(found?.value("load_dtype"), "bfloat16");
  });

  it("a config that a command hands to a program is what is trained, with the command's counts", async () => {
    const files = {
      "scripts/run.sh": "accelerate launch --num_processes=4 kit/run.py configs/a.yaml --num_train_epochs=6\n",
      "configs/a.yaml": CONFIG,
      "kit/run.py": "trainer = OwnTrainer(model)\ntrainer.train()\n",
    };
    for (const path of ["scripts/run.sh", "configs/a.yaml"]) {
      const found = await runsOf(files, path);
      assert.equal(found.length, 1, path);
      assert.deepEqual([found[0]?.value("micro_batch_size"), found[0]?.value("world_size")], [3, 4], path);
      assert.ok(found[0]?.run.perDevice, path);
    }
  });

  it("of a config by the same name elsewhere a command of another folder says nothing", async () => {
    const files = { "scripts/run.sh": "torchrun --nproc_per_node 4 run.py configs/a.yaml\n", "other/a.yaml": CONFIG };
    const [found] = await runsOf(files, "other/a.yaml");
    assert.equal(found?.value("world_size"), 1);
  });

  it("names of modules that an option gives in one word, and kinds of adapters by a script's own word", async () => {
    const line =
      "torchrun train.py --model_name_or_path Qwen/Qwen2.5-0.5B --output_dir o --per_device_train_batch_size 1 --bf16";
    const run = async (more: string) => (await runsOf({ "a.sh": `${line} ${more}\n` }, "a.sh"))[0];
    assert.equal((await run("--adapter lora --lora_r 4"))?.value("adapter"), "lora");
    assert.equal((await run("--training_recipe qlora_int8 --lora_r 4"))?.value("quantization"), "int8");
    assert.equal((await run("--training_recipe common"))?.value("adapter"), "none");
  });

  it("a tower beside a language model is that network where the layers are, with tied tables and frozen parts as told", async () => {
    const line = (model: string) =>
      `torchrun train.py --model_name_or_path ${model} --output_dir o --per_device_train_batch_size 1 --bf16 --gradient_checkpointing True --model_max_length 1024 --vision_tower openai/clip-vit-large-patch14-336 --connector_type mlp2x_gelu`;
    const of = async (model: string, more: string) =>
      (await runsOf({ "a.sh": `${line(model)} ${more}\n` }, "a.sh"))[0]?.run;
    const trained = async (more: string) => (await of("Qwen/Qwen2-0.5B", more))?.model?.trainableParameters ?? 0;
    const [whole, connector] = [await trained("--tune_type_llm full"), await trained("--tune_type_llm frozen")];
    assert.ok(connector > 1e6 && connector < 2e6, `${connector}`);
    // The network's layers have no biases for queries, keys and values.
    assert.ok(Math.abs(whole - connector - 494_032_768) < 1e5, `${whole - connector}`);
    assert.equal((await of("microsoft/phi-2", ""))?.perDevice, null);
  });

  it("axolotl's `bf16: auto` is bfloat16 beside `fp16: false`", async () => {
    const config = (more: string) =>
      `base_model: Qwen/Qwen2.5-0.5B\ndatasets: [{path: d, type: alpaca}]\nmicro_batch_size: 1\nsequence_len: 64\nbf16: auto\n${more}`;
    const of = async (more: string) => (await runsOf({ "a.yaml": config(more) }, "a.yaml"))[0]?.run;
    const [plain, beside] = [await of(""), await of("fp16: false\ntf32: true\n")];
    assert.equal(beside?.perDevice?.allocatedPeakBytes, plain?.perDevice?.allocatedPeakBytes);
    assert.ok(beside?.assumptions.some(({ what }) => what.includes("bfloat16")));
  });

  it("a trainer of the workspace is no model", async () => {
    const script = "from kit import OwnTrainer\nmodel = 'a'\ntrainer = OwnTrainer(model)\ntrainer.train()\n";
    const found = await runsOf({ "a.py": script }, "a.py");
    assert.ok(found.every(({ value }) => value("model") !== "own/OwnTrainer"));
  });

  it("where all is frozen and what is trained again cannot be followed, all is counted as trained", async () => {
    const script = `import transformers
model = transformers.AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model.requires_grad_(False)
for name, param in model.named_parameters():
    if chosen(name):
        param.requires_grad_(True)
args = transformers.TrainingArguments(output_dir="o", per_device_train_batch_size=1)
transformers.Trainer(model=model, args=args, train_dataset=data).train()
`;
    const [found] = await runsOf({ "a.py": script }, "a.py");
    assert.ok((found?.run.model?.trainableParameters ?? 0) > 4e8, `${found?.run.model?.trainableParameters}`);
  });
});
