/** What a script does is followed through what it is written with: magics of notebooks, dictionaries, dataclasses, classes. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const HEAD = `from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, Trainer, TrainingArguments
`;
const LOAD = 'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B")\n';
const TRAIN = 'Trainer(model=model, args=TrainingArguments("out", per_device_train_batch_size=2)).train()\n';

async function trained(text: string, name = "train.py") {
  const { run } = await resolveFiles({ [name]: text }, name);
  return run;
}

function notebook(...cells: readonly string[]): string {
  return JSON.stringify({ cells: cells.map((source) => ({ cell_type: "code", source })), nbformat: 4 });
}

describe("analysis: what scripts are written with is followed", () => {
  it("a magic with the lines it goes on in is a statement of its block", async () => {
    const install = `import os
if "COLAB_" in "".join(os.environ.keys()):
    !uv pip install -qqq \\
        torch {_numpy} \\
        "transformers==4.56.2"
elif os.environ:
    !pip install unsloth
def formatting(rows):
    return {"text": rows}
`;
    const run = await trained(notebook(install, HEAD + LOAD, "formatting([])", TRAIN), "n.ipynb");
    assert.deepEqual([run?.model.name, run?.microBatchSize], ["Qwen/Qwen3-0.6B", 2]);
  });

  it("what a file's mistakes leave at the top ends nothing, nor does `else` of a loop that is left", async () => {
    const loop = `for port in range(9):
    try:
        start(port)
        break
    except OSError:
        continue
else:
    raise RuntimeError("no port")
`;
    for (const odd of ["return scores\n", loop])
      assert.equal((await trained(`${HEAD}${odd}${LOAD}${TRAIN}`))?.model.name, "Qwen/Qwen3-0.6B");
  });

  it("formatted strings, names for classes, and dictionaries that are filled", async () => {
    const text = `${HEAD}organization, size = "Qwen", "0.6B"
name = f"{organization}/Qwen3-{size}"
if name == "Qwen/Qwen3-0.6B":
    kind = AutoModelForCausalLM
else:
    kind = AutoModelForImageTextToText
options = dict(output_dir="out")
options["per_device_train_batch_size"] = 3
if torch.cuda.is_available():
    options["gradient_accumulation_steps"] = 5
model = kind.from_pretrained(name)
Trainer(model=model, args=TrainingArguments(**options)).train()
`;
    const run = await trained(text);
    assert.deepEqual(
      [run?.model.name, run?.task, run?.microBatchSize, run?.gradientAccumulationSteps],
      ["Qwen/Qwen3-0.6B", "causal-lm", 3, 5],
    );
  });

  it("fields of objects that the script makes, and what dictionaries give", async () => {
    const text = `${HEAD}from dataclasses import dataclass
@dataclass
class Options:
    name: str
    batch: int = 2
    accumulation: int = field(default=4)
def configured(name):
    return Options(name=name, batch=6)
made = configured("Qwen/Qwen3-0.6B")
table = {"epochs": 1}
model = AutoModelForCausalLM.from_pretrained(made.name)
args = TrainingArguments("out", per_device_train_batch_size=made.batch,
    gradient_accumulation_steps=made.accumulation, max_grad_norm=table.get("norm", 0.5))
Trainer(model=model, args=args).train()
`;
    const run = await trained(text);
    assert.deepEqual([run?.model.name, run?.microBatchSize, run?.gradientAccumulationSteps], ["Qwen/Qwen3-0.6B", 6, 4]);
  });

  it("a module of the script's own is trained with what it is given or loads, until `fit`", async () => {
    const text = `import lightning as L
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM
class Module(L.LightningModule):
    def __init__(self, config, model):
        self.model = model
        self.batch_size = config.get("batch_size")
    def train_dataloader(self):
        return DataLoader(data, batch_size=self.batch_size, shuffle=True)
${LOAD}module = Module({"batch_size": 3}, model)
trainer = L.Trainer(max_epochs=1)
trainer.fit(module)
model = AutoModelForCausalLM.from_pretrained("me/pushed")
`;
    const run = await trained(text);
    assert.deepEqual([run?.model.name, run?.microBatchSize], ["Qwen/Qwen3-0.6B", 3]);
    const inside = `${HEAD}class Mine(nn.Module):
    def __init__(self):
        self.body = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B")
judge = AutoModelForCausalLM.from_pretrained("facebook/opt-125m")
model = Mine()
${TRAIN}`;
    assert.equal((await trained(inside))?.model.name, "Qwen/Qwen3-0.6B");
  });

  it("an adapter of any class of peft's is no full fine-tune", async () => {
    const kinds = [
      ["MultitaskPromptTuningConfig(num_tasks=2, num_virtual_tokens=50)", "prompt-tuning"],
      ["PolyConfig(r=8)", "lora"],
    ] as const;
    for (const [config, type] of kinds) {
      const name = config.slice(0, config.indexOf("("));
      const text = `${HEAD}from peft import ${name}, get_peft_model
${LOAD}model = get_peft_model(model, ${config})
${TRAIN}`;
      const { run, suppositions } = await resolveFiles({ "train.py": text }, "train.py");
      assert.equal(run?.adapter?.type, type);
      assert.match(JSON.stringify(suppositions), /assume\.adapter-as/);
    }
  });

  it("a tower beside a language model makes a model that reads pictures, as LLaVA's script trains it", async () => {
    const command = (
      more: string,
    ) => `deepspeed --num_gpus 8 llava/train/train_mem.py --model_name_or_path lmsys/vicuna-7b-v1.5 \\
  --vision_tower openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu ${more} --bf16 True --output_dir o \\
  --per_device_train_batch_size 16 --learning_rate 2e-5 --model_max_length 2048
`;
    const run = await trained(command("--lora_enable True --lora_r 128"), "finetune.sh");
    assert.deepEqual([run?.model.family, run?.task, run?.frozenParts], ["llava", "image-text-to-text", ["vision"]]);
    assert.match(JSON.stringify(run?.model.config["vision_config"]), /"hidden_size":1024/);
    assert.deepEqual(run?.adapter?.modulesToSave, ["multi_modal_projector"]);
    assert.match(String(run?.adapter?.targetModules), /language_model/);
    // A checkpoint that sees by itself gives its words alone, which no graph is of.
    const other = command("").replace("lmsys/vicuna-7b-v1.5", "Qwen/Qwen2-VL-7B-Instruct");
    const { obstacles } = await resolveFiles({ "finetune.sh": other }, "finetune.sh");
    assert.match(JSON.stringify(obstacles), /not-modelled\.multimodal/);
    const alone = await trained(command("--tune_mm_mlp_adapter True"), "pretrain.sh");
    assert.deepEqual(alone?.frozenParts?.toSorted(), ["language", "vision"]);
  });

  it("arguments of classes that libraries make of the Trainer's, and TRL's ModelConfig", async () => {
    const other = `${HEAD}from optimum.onnxruntime import ORTTrainer, ORTTrainingArguments
${LOAD}args = ORTTrainingArguments("out", per_device_train_batch_size=16)
ORTTrainer(model=model, args=args).train()
`;
    assert.equal((await trained(other))?.microBatchSize, 16);
    const config = `from trl import GRPOConfig, GRPOTrainer, ModelConfig, get_peft_config
m = ModelConfig(model_name_or_path="Qwen/Qwen3-0.6B", use_peft=True, lora_r=4, lora_target_modules=["q_proj"])
args = GRPOConfig("out", per_device_train_batch_size=8)
GRPOTrainer(model=m.model_name_or_path, reward_funcs=[f], args=args, peft_config=get_peft_config(m)).train()
`;
    const run = await trained(config);
    assert.deepEqual([run?.adapter?.type, run?.adapter?.rank, run?.adapter?.targetModules], ["lora", 4, ["q_proj"]]);
  });

  it("a loop beside a trainer is another training", async () => {
    const text = `${HEAD}from torch.utils.data import DataLoader
${LOAD}${TRAIN}loader = DataLoader(data, batch_size=64, shuffle=True)
for batch in loader:
    loss = model(**batch).loss
    loss.backward()
`;
    assert.equal((await trained(text))?.microBatchSize, 2);
  });

  it("a notebook with large outputs is found with its folder", async () => {
    const cells = [{ cell_type: "code", source: HEAD + LOAD + TRAIN, outputs: [{ data: "x".repeat(2 << 20) }] }];
    const analyzer = createAnalyzer(memoryRuntime({ "n/train.ipynb": JSON.stringify({ cells, nbformat: 4 }) }));
    assert.deepEqual((await analyzer.discover(uri("n"))).configs, [uri("n/train.ipynb")]);
  });
});
