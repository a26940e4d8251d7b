/** Runs for what reads commands of clusters, losses of scripts and patterns of ranks: to be changed, and far too much of each. */
import { LLAMA } from "../analysis/whole-runs";
import type { Seed } from "./seeds";

const MODEL = { "model/config.json": JSON.stringify({ ...LLAMA, num_hidden_layers: 3, vocab_size: 512 }) };

function alone(main: string, text: string, beside: Seed["files"] = {}): Seed {
  return { main, files: { ...MODEL, ...beside, [main]: text } };
}

const HOSTS = "deepspeed --hostfile hosts --include worker-1@worker-2:0,2 train.py --model_name_or_path ./model";
const SFT = "--per_device_train_batch_size 2 --max_length 64 --bf16 --output_dir out\n";

function script(body: string): string {
  return `import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("./model")
class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
${body.replace(/^/gm, "        ")}
trainer = Own(model, TrainingArguments("out", per_device_train_batch_size=2, bf16=True))
trainer.train()
`;
}

function adapted(count: number, pattern: (index: number) => string): Seed {
  const all = Array.from({ length: count }, (_, index) => `    r"${pattern(index)}": ${1 + (index % 64)},`).join("\n");
  const text = `from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-70B")
ranks = {
${all}
}
model = get_peft_model(model, LoraConfig(r=8, target_modules="all-linear", rank_pattern=ranks, alpha_pattern=ranks))
Trainer(model, TrainingArguments("out", per_device_train_batch_size=1, bf16=True)).train()
`;
  return { main: "train.py", files: { "train.py": text } };
}

/** Runs whose every text and number is a place for a hostile one. */
export const READERS: Readonly<Record<string, Seed>> = {
  "EasyR1 in a command": alone(
    "easy.sh",
    "python3 -m verl.trainer.main data.max_prompt_length=32 data.max_response_length=32 data.rollout_batch_size=16 worker.actor.model.model_path=./model worker.actor.model.lora.rank=8 worker.actor.global_batch_size=8 worker.actor.micro_batch_size_per_device_for_update=1 worker.actor.fsdp.torch_dtype=bf16 worker.rollout.n=4 worker.rollout.gpu_memory_utilization=0.5 trainer.n_gpus_per_node=2 trainer.nnodes=1\n",
  ),
  "hosts in a file": alone("run.sh", `${HOSTS} ${SFT}`, {
    "train.py": "from trl import SFTTrainer, SFTConfig, TrlParser\n",
    hosts: "worker-1 slots=8\nworker-2 slots=4\n",
  }),
  "a loss of one's own": alone(
    "loss.py",
    script(
      'labels = inputs.pop("labels")\nlogits = model(**inputs).logits[:, :-1].float()\nloss = torch.nn.functional.cross_entropy(logits.reshape(-1, 512), labels[:, 1:].reshape(-1), ignore_index=-100)\nreturn loss * 2',
    ),
  ),
  "diffusers' FLUX": alone(
    "flux.sh",
    "accelerate launch train_dreambooth_lora_flux.py --pretrained_model_name_or_path black-forest-labs/FLUX.1-dev --resolution 256 --train_batch_size 1 --rank 4 --max_sequence_length 128 --gradient_checkpointing --mixed_precision bf16\n",
  ),
  "ranks by patterns": adapted(3, (index) => `layers.${index}.mlp.down_proj`),
};

const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => `${line(index)}\n`).join("");
const words = (count: number, word: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => word(index)).join(" ");
const VERL = "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=./model trainer.n_gpus_per_node=1";

/** A run of Megatron in stages of one layer each, so many samples a step. */
function looped(sizes: string, samples: number): string {
  return `torchrun --nproc_per_node 8 pretrain_gpt.py ${sizes} --num-layers-per-virtual-pipeline-stage 1 --hidden-size 64 --num-attention-heads 4 --ffn-hidden-size 128 --swiglu --normalization RMSNorm --seq-length 64 --max-position-embeddings 64 --micro-batch-size 1 --global-batch-size ${samples} --vocab-size 512 --bf16 --train-iters 10\n`;
}

/** Far too much of what they read: an answer takes no longer than its length asks for. */
export const OVERFULL: Readonly<Record<string, Seed>> = {
  "ranks of names": adapted(3000, (index) => `layers.${index % 80}.mlp.x${index}_proj`),
  "ranks of expressions": adapted(3000, (index) => `.*\\.(?:\\d+|x{1,${1 + (index % 50)}})\\.mlp\\.[a-z]+_y${index}`),
  "hosts without end": alone("run.sh", `${HOSTS} ${SFT}`, { hosts: lines(60_000, (k) => `worker-${k} slots=${k}`) }),
  "hosts that are asked for": alone(
    "run.sh",
    `deepspeed --hostfile hosts --include ${Array.from({ length: 8000 }, (_, k) => `worker-${k}:0,1`).join("@")} train.py --model_name_or_path ./model ${SFT}`,
    { hosts: lines(8000, (k) => `worker-${k} slots=2`) },
  ),
  "overrides of verl": alone("run.sh", `${VERL} ${words(8000, (k) => `a.b${k}.c=${k}`)}\n`),
  "one override many times": alone("run.sh", `${VERL} ${words(8000, () => "data.max_prompt_length=1024")}\n`),
  "overrides of EasyR1 by levels": alone(
    "run.sh",
    `python3 -m verl.trainer.main worker.actor.model.model_path=./model ${"a.".repeat(20_000)}b=1 trainer.n_gpus_per_node=1\n`,
  ),
  "a loss of many lines": alone(
    "loss.py",
    script(`loss = model(**inputs).loss\n${"loss = loss * 2\n".repeat(5000)}return loss`),
  ),
  "a loss of forwards": alone(
    "loss.py",
    script(`loss = model(**inputs).loss\n${"loss = loss + model(**inputs).loss\n".repeat(400)}return loss`),
  ),
  "a loss of what doubles": alone(
    "loss.py",
    script(`a = model(**inputs).logits\n${"a = torch.cat([a, a], dim=0)\n".repeat(60)}return a.sum()`),
  ),
  "options of diffusers": alone(
    "flux.sh",
    `accelerate launch train_dreambooth_lora_flux.py --pretrained_model_name_or_path black-forest-labs/FLUX.1-dev ${words(10_000, (k) => `--rank ${k} --x${k}`)} --resolution 1024\n`,
  ),
  "stages without end": alone("train.sh", looped("--num-layers 4000000 --pipeline-model-parallel-size 8", 2 ** 31)),
  "a stage for each of a million layers": alone(
    "train.sh",
    looped("--num-layers 1000000 --pipeline-model-parallel-size 1000000", 1_000_000),
  ),
  "micro-batches without end": alone("train.sh", looped("--num-layers 16 --pipeline-model-parallel-size 4", 2 ** 52)),
  "experts without end": alone(
    "train.sh",
    looped("--num-layers 8 --num-experts 4000000 --expert-model-parallel-size 1000000", 64),
  ),
  "torchtitan's stages without end": alone(
    "job.toml",
    '[model]\nname = "qwen3"\nflavor = "0.6B"\n[training]\nlocal_batch_size = 2147483648\nseq_len = 64\n[parallelism]\npipeline_parallel_degree = 4\npipeline_parallel_schedule = "Interleaved1F1B"\npipeline_parallel_layers_per_stage = 1\npipeline_parallel_microbatch_size = 1\n',
    { ".vramlens.yaml": 'runs:\n  - match: "job.toml"\n    device: { name: RTX 4090, count: 4 }\n' },
  ),
  "imports in a circle": alone(
    "train.py",
    "from a import build, ARGS\nfrom transformers import Trainer\nTrainer(model=build('./model'), args=ARGS).train()\n",
    {
      "a.py": "from b import *\nfrom train import Trainer\nARGS = OWN\n",
      "b.py":
        "from a import *\nimport b\nfrom transformers import AutoModelForCausalLM, TrainingArguments\nbuild = AutoModelForCausalLM.from_pretrained\nOWN = TrainingArguments('o', per_device_train_batch_size=b.SIZE)\nSIZE = SIZE\n",
    },
  ),
  "imports of imports": alone(
    "train.py",
    `${lines(3000, (k) => `from m${k} import f${k}`)}from transformers import TrainingArguments, Trainer\nTrainer(model=f0(), args=TrainingArguments("o")).train()\n`,
    Object.fromEntries(
      Array.from({ length: 3000 }, (_, k) => [
        `m${k}.py`,
        `from m${k + 1} import f${k + 1}\ndef f${k}(): return f${k + 1}()\n`,
      ]),
    ),
  ),
  "helpers of the largest size": alone(
    "train.py",
    "from helpers import *\nfrom more import *\nfrom transformers import Trainer\nTrainer(model=a0(0), args=b0).train()\n",
    {
      "helpers.py": lines(2800, (k) => `def a${k}(x): return a${k + 1}(x + b${k})`),
      "more.py": lines(4500, (k) => `b${k} = b${k + 1} + b${k}`),
    },
  ),
  "pictures of diffusers": alone(
    "flux.sh",
    "accelerate launch train_dreambooth_flux.py --pretrained_model_name_or_path black-forest-labs/FLUX.1-dev --resolution 9007199254740992 --train_batch_size 4294967296 --max_sequence_length 1e300\n",
  ),
};
