/** Programs of the workspace that launch scripts start: their options, defaults and code are the run's. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

async function runOf(files: Readonly<Record<string, string>>, path: string) {
  const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(path), {});
  const [run] = analysis.runs;
  assert.ok(run !== undefined, `${path} is no run`);
  const said = (name: string) => run.settings.find((setting) => setting.name === name);
  return { run, said, value: (name: string) => said(name)?.value };
}

const HF = `
from dataclasses import dataclass, field
import transformers
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer
@dataclass
class TrainingArguments(transformers.TrainingArguments):
    gradient_checkpointing: bool = field(default=True)
    optim: str = field(default="paged_adamw_8bit")
    bf16: bool = field(default=True)
    model_max_length: int = field(default=512)
@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="EleutherAI/pythia-1b")
m, a = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained(m.model_name_or_path)
Trainer(model=model, args=a, train_dataset=ds).train()
`;

describe("analysis: programs that scripts start", () => {
  it("give their dataclasses' defaults to the command", async () => {
    const files = {
      "train.py": HF,
      "run.sh": "python train.py --output_dir o --per_device_train_batch_size 4 --optim adamw_torch\n",
    };
    const { run, said, value } = await runOf(files, "run.sh");
    assert.deepEqual(run.formats, ["hf-training-arguments", "shell"]);
    assert.equal(value("model"), "EleutherAI/pythia-1b");
    assert.equal(value("gradient_checkpointing"), true);
    assert.equal(value("compute_dtype"), "bf16");
    assert.equal(value("sequence_length"), 512);
    assert.equal(value("optimizer"), "adamw_torch");
    assert.equal(said("optimizer")?.uri, uri("run.sh"));
    assert.equal(said("sequence_length")?.uri, uri("train.py"));
  });

  it("say which trainer runs, whatever they are called", async () => {
    const files = {
      "train.py": `import argparse
from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer
ap = argparse.ArgumentParser()
ap.add_argument("--bs", type=int, default=1)
a = ap.parse_args()
model = AutoModelForCausalLM.from_pretrained("HuggingFaceTB/SmolLM2-135M")
DPOTrainer(model, args=DPOConfig("o", per_device_train_batch_size=a.bs, max_length=256), train_dataset=ds).train()
`,
      "go.sh": "python train.py --bs 2\n",
    };
    const peak = async (path: string) => (await runOf(files, path)).run.perDevice?.allocatedPeakBytes;
    assert.equal(await peak("go.sh"), await peak("train.py"));
  });

  it("that read a config as their arguments say of its model what the config does not", async () => {
    const program = `
from dataclasses import dataclass
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, HfArgumentParser, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
from args import Own
own, a = HfArgumentParser((Own, TrainingArguments)).parse_yaml_file(yaml_file="args/a.yaml")
model = AutoModelForCausalLM.from_pretrained(own.model_name_or_path, quantization_config=BitsAndBytesConfig(load_in_4bit=True))
model = get_peft_model(model, LoraConfig(r=own.lora_rank))
Trainer(model=model, args=a, train_dataset=ds).train()
`;
    const config = "model_name_or_path: gpt2\noutput_dir: o\nper_device_train_batch_size: 2\nlora_rank: 24\n";
    const files = { "train.py": program, "args/a.yaml": config };
    const { value, run } = await runOf(files, "args/a.yaml");
    assert.deepEqual(["quantization", "adapter", "lora_rank"].map(value), ["nf4", "qlora", 24]);
    assert.ok(run.documents.includes(uri("train.py")));
    // Of two programs it is not known which one reads it.
    const two = await runOf({ ...files, "other.py": program }, "args/a.yaml");
    assert.equal(two.value("quantization"), "none");
  });

  it("give the defaults of dataclasses that they import, through re-exports and bases, too", async () => {
    const [head = "", tail = ""] = HF.split("@dataclass\nclass TrainingArguments");
    const classes = `@dataclass\nclass TrainingArguments${tail.slice(0, tail.indexOf("m, a = "))}`;
    const files = {
      "src/train/main.py":
        `${head}from src.params import ModelArguments, TrainingArguments\n${HF.slice(HF.indexOf("m, a = "))}`.replace(
          "Trainer(model",
          "if a.lora_enable:\n    model = get_peft_model(model, LoraConfig(r=a.lora_rank))\nTrainer(model",
        ),
      "src/params/__init__.py": "from .own import ModelArguments, TrainingArguments\n",
      "src/params/own.py": `${head}from .lora import Lora\n${classes.replace("(transformers.TrainingArguments)", "(Lora, transformers.TrainingArguments)")}`,
      "src/params/lora.py": "class Lora:\n    lora_enable: bool = False\n    lora_rank: int = 64\n",
      "run.sh":
        "uv run --extra gpu torchrun --nproc_per_node 2 src/train/main.py --output_dir o --per_device_train_batch_size 4\n",
    };
    const { value } = await runOf(files, "run.sh");
    assert.equal(value("model"), "EleutherAI/pythia-1b");
    assert.equal(value("sequence_length"), 512);
    assert.equal(value("world_size"), 2);
    assert.equal(value("adapter"), "none");
    const adapted = await runOf({ ...files, "run.sh": `${files["run.sh"].trim()} --lora_enable True\n` }, "run.sh");
    assert.deepEqual([adapted.value("adapter"), adapted.value("lora_rank")], ["lora", 64]);
  });

  it("are read as their script starts them when they are open themselves", async () => {
    const files = {
      "train.py": HF,
      "run.sh": "torchrun --nproc_per_node 2 train.py --model_name_or_path gpt2 --output_dir o --bf16 false\n",
    };
    const { said, value } = await runOf(files, "train.py");
    assert.equal(value("model"), "gpt2");
    assert.equal(said("model")?.uri, uri("run.sh"));
    assert.equal(value("compute_dtype"), "fp32");
    assert.equal(value("world_size"), 2);
  });

  it("take options of any name to the calls that they reach", async () => {
    const program = `
import argparse
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
parser = argparse.ArgumentParser()
parser.add_argument("--base", default="gpt2")
parser.add_argument("--width", type=int, default=64)
parser.add_argument("--depth-bits", type=int, default=4)
parser.add_argument("--micro", type=int, default=2)
o = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained(o.base, quantization_config=BitsAndBytesConfig(
    load_in_4bit=o.depth_bits == 4, load_in_8bit=o.depth_bits == 8, bnb_4bit_quant_type="nf4"))
model = get_peft_model(model, LoraConfig(r=o.width, target_modules=["c_attn"]))
Trainer(model=model, args=TrainingArguments(output_dir="o", per_device_train_batch_size=o.micro), train_dataset=ds).train()
`;
    const files = {
      "tune.py": program,
      "run.sh":
        "accelerate launch --num_processes 1 tune.py --width 8 --depth-bits=8 --output_dir o --learning_rate 1e-4\n",
    };
    const { run, said, value } = await runOf(files, "run.sh");
    assert.equal(value("lora_rank"), 8);
    assert.deepEqual([said("lora_rank")?.uri, said("lora_rank")?.range?.start.line], [uri("run.sh"), 0]);
    assert.equal(value("quantization"), "int8");
    assert.equal(value("micro_batch_size"), 2);
    assert.equal(said("micro_batch_size")?.uri, uri("tune.py"));
    assert.ok(run.perDevice !== null);
  });

  it("may be started by fire or click", async () => {
    const body = `
    model = AutoModelForCausalLM.from_pretrained(base_model, load_in_8bit=True)
    model = get_peft_model(model, LoraConfig(r=lora_r, target_modules=lora_target_modules))
    Trainer(model=model, args=TrainingArguments(per_device_train_batch_size=micro, output_dir="o")).train()
`;
    const imports =
      "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nfrom peft import LoraConfig, get_peft_model\n";
    const fire = `import fire\n${imports}def train(base_model: str = "", micro: int = 4, lora_r: int = 8, lora_target_modules: list = ["c_attn"]):${body}fire.Fire(train)\n`;
    const click = `import click\n${imports}@click.command()\n@click.option("--base-model")\n@click.option("--micro", default=4)\n@click.option("--lora-r", default=8)\n@click.option("--lora-target-modules", default="c_attn")\ndef train(base_model, micro, lora_r, lora_target_modules):${body}train()\n`;
    for (const program of [fire, click]) {
      const files = {
        "tune.py": program,
        "run.sh":
          "python tune.py --base_model gpt2 --lora_r 16 --output_dir o --learning_rate 1e-4 --num_train_epochs 1\n",
      };
      const { value } = await runOf(files, "run.sh");
      assert.deepEqual(
        ["model", "lora_rank", "micro_batch_size", "quantization"].map(value),
        ["gpt2", 16, 4, "int8"],
        program.slice(0, 12),
      );
    }
  });

  it("know their options by every name that they have", async () => {
    const body = `
    model = AutoModelForCausalLM.from_pretrained(name)
    args = TrainingArguments(output_dir="o", per_device_train_batch_size=size, gradient_accumulation_steps=steps)
    Trainer(model=model, args=args, train_dataset=ds).train()
`;
    const heads = {
      typer: `import typer
from typing_extensions import Annotated
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
app = typer.Typer()
@app.command()
def main(name: str = typer.Option("gpt2", "--base", "-m"), size: Annotated[int, typer.Option("--batch", "-b")] = 4, steps: int = typer.Option(2)):${body}
app()
`,
      argparse: `import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
p = argparse.ArgumentParser()
p.add_argument("-m", "--name", "--base", default="gpt2")
p.add_argument("--size", "-b", "--batch", type=int, default=4)
p.add_argument("--steps", type=int, default=2)
a = p.parse_args()
def main(name, size, steps):${body}
main(a.name, a.size, a.steps)
`,
    };
    for (const [name, program] of Object.entries(heads)) {
      const said = async (flags: string) => {
        const files = { "t.py": program, "run.sh": `python t.py ${flags}\n` };
        const { value } = await runOf(files, "run.sh");
        return ["model", "micro_batch_size", "gradient_accumulation_steps"].map(value);
      };
      assert.deepEqual(await said("--steps 2"), ["gpt2", 4, 2], name);
      assert.deepEqual(await said("-m EleutherAI/pythia-1b -b 16"), ["EleutherAI/pythia-1b", 16, 2], name);
      assert.deepEqual(
        await said("--base EleutherAI/pythia-1b --batch 8 --steps 3"),
        ["EleutherAI/pythia-1b", 8, 3],
        name,
      );
    }
  });

  it("join the lengths of questions and answers, and gather linear layers by name", async () => {
    const program = `
import transformers, torch
from dataclasses import dataclass, field
from transformers import AutoModelForCausalLM, Seq2SeqTrainer
from peft import LoraConfig, get_peft_model
@dataclass
class TrainingArguments(transformers.Seq2SeqTrainingArguments):
    lora_r: int = field(default=64)
    source_max_len: int = field(default=1024)
    target_max_len: int = field(default=256)
@dataclass
class GenerationArguments:
    use_cache: bool = field(default=True)
def find_all_linear_names(args, model):
    names = set()
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear):
            names.add(name.split(".")[-1])
    return list(names)
def build(args):
    model = AutoModelForCausalLM.from_pretrained(args.model_name_or_path, torch_dtype=torch.float16 if args.fp16 else torch.bfloat16)
    return get_peft_model(model, LoraConfig(r=args.lora_r, target_modules=find_all_linear_names(args, model)))
args, = transformers.HfArgumentParser((TrainingArguments, GenerationArguments)).parse_args_into_dataclasses()
Seq2SeqTrainer(model=build(args), args=args).train()
`;
    const files = {
      "q.py": program,
      "run.sh":
        "python q.py --model_name_or_path facebook/opt-125m --output_dir o --source_max_len 384 --per_device_train_batch_size 1\n",
    };
    const { run, value } = await runOf(files, "run.sh");
    assert.equal(value("sequence_length"), 640);
    assert.equal(value("lora_rank"), 64);
    assert.equal(value("load_dtype"), "bfloat16");
    assert.ok(!run.assumptions.some(({ what }) => /peft chooses/.test(what)));
    assert.ok(!run.findings.some(({ code }) => code === "checkpointing-use-cache"));
  });

  it("leave a DeepSpeed file that a script names to the script's run", async () => {
    const files = {
      "ds.json": '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}',
      "run.sh":
        "deepspeed --num_gpus 2 x.py --model_name_or_path gpt2 --output_dir o --per_device_train_batch_size 4 --deepspeed ds.json\n",
    };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("run.sh"), {});
    assert.deepEqual(
      analysis.runs.map(({ id }) => id),
      ["run.sh"],
    );
  });

  it("make a run of a script that says nothing of the training itself", async () => {
    const files = {
      "train.py": HF,
      "run.sh": "#!/bin/bash\ndeepspeed --num_gpus 2 train.py\n",
      "other.sh": "python x.py\n",
    };
    const { value } = await runOf(files, "run.sh");
    assert.deepEqual(["model", "world_size"].map(value), ["EleutherAI/pythia-1b", 2]);
    const other = await createAnalyzer(memoryRuntime(files)).analyse(uri("other.sh"), {});
    assert.equal(other.runs.length, 0);
  });

  it("say which values a script's own arguments may change", async () => {
    const script = `MODEL="gpt2"
while [[ "$1" != "" ]]; do
  case $1 in
    -m) shift; MODEL=$1 ;;
  esac
  shift
done
python train.py --model_name_or_path $MODEL --output_dir o --per_device_train_batch_size 1
`;
    const { run, value } = await runOf({ "train.py": HF, "run.sh": script }, "run.sh");
    assert.equal(value("model"), "gpt2");
    assert.ok(run.assumptions.some(({ what }) => /`MODEL` gpt2/.test(what)));
  });

  it("read fields of fields, words by their place, and absl's flags", async () => {
    const body = (batch: string, rank: string, model: string) => `
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(${model}), LoraConfig(r=${rank}))
    Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=${batch})).train()
`;
    const imports =
      "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nfrom peft import LoraConfig, get_peft_model\n";
    const nested = `${imports}import draccus
from dataclasses import dataclass, field
@dataclass
class Lora:
    r: int = 8
@dataclass
class Config:
    micro: int = 4
    lora: Lora = field(default_factory=Lora)
@draccus.wrap()
def main(cfg: Config):${body("cfg.micro", "cfg.lora.r", '"EleutherAI/pythia-1b"')}
main()
`;
    const typer = `${imports}import typer
app = typer.Typer()
@app.command()
def main(model: str, micro: int = typer.Option(4), rank: int = 8):${body("micro", "rank", "model")}
app()
`;
    const absl = `${imports}from absl import app, flags
FLAGS = flags.FLAGS
flags.DEFINE_string("model", "EleutherAI/pythia-1b", "")
flags.DEFINE_integer("micro", 4, "")
flags.DEFINE_integer("rank", 8, "")
def main(_):${body("FLAGS.micro", "FLAGS.rank", "FLAGS.model")}
app.run(main)
`;
    const programs: readonly (readonly [string, string])[] = [
      [nested, "--lora.r 32 --micro 2"],
      [typer, "EleutherAI/pythia-1b --rank 32 --micro 2"],
      [absl, "--rank=32 --micro=2"],
    ];
    for (const [program, options] of programs) {
      const files = { "train.py": program, "run.sh": `python train.py ${options}\n` };
      const { run, value } = await runOf(files, "run.sh");
      assert.deepEqual(["model", "lora_rank", "micro_batch_size"].map(value), ["EleutherAI/pythia-1b", 32, 2], program);
      // What the program does with an option is counted: nothing of it is left over.
      assert.equal(run.notCounted, undefined);
    }
  });
});
