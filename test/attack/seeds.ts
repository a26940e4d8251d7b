/** Small whole runs in each format, for attacks to change: their model is tiny, so that an estimate takes milliseconds. */
import { TINY_LLAMA } from "../analysis/memory-runtime";

export interface Seed {
  /** Path of the document that is analysed. */
  readonly main: string;
  readonly files: Readonly<Record<string, string>>;
}

const MODEL = { "model/config.json": JSON.stringify(TINY_LLAMA, null, 1) };

/** The values are all different where they can be, so that one can be found again. */
export const SEEDS: Readonly<Record<string, Seed>> = {
  trl: {
    main: "train.yaml",
    files: {
      ...MODEL,
      "train.yaml": `model_name_or_path: ./model
output_dir: out
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
max_length: 96
learning_rate: 1.0e-5
bf16: true
gradient_checkpointing: true
optim: adamw_torch
attn_implementation: sdpa
use_peft: true
lora_r: 8
lora_alpha: 16
lora_target_modules: [q_proj, v_proj]
dataset_num_proc: 3
eval_strategy: steps
per_device_eval_batch_size: 5
max_grad_norm: 1.0
seed: 42
`,
    },
  },
  trainer: {
    main: "train.json",
    files: {
      ...MODEL,
      "train.json": `{
  "model_name_or_path": "./model",
  "output_dir": "out",
  "per_device_train_batch_size": 2,
  "gradient_accumulation_steps": 4,
  "max_seq_length": 80,
  "fp16": true,
  "optim": "adafactor",
  "deepspeed": "ds.json",
  "warmup_steps": 10,
  "torch_empty_cache_steps": 7
}
`,
      "ds.json": `{
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 4,
  "zero_optimization": {"stage": 2, "reduce_bucket_size": 500000, "overlap_comm": true,
    "offload_optimizer": {"device": "cpu", "pin_memory": true}},
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}},
  "fp16": {"enabled": true}
}
`,
    },
  },
  axolotl: {
    main: "axolotl.yaml",
    files: {
      ...MODEL,
      "axolotl.yaml": `base_model: ./model
datasets:
  - path: x
    type: alpaca
sequence_len: 72
micro_batch_size: 2
gradient_accumulation_steps: 3
num_epochs: 1
optimizer: adamw_bnb_8bit
adapter: qlora
load_in_4bit: true
lora_r: 4
lora_alpha: 8
lora_target_linear: true
bf16: auto
sample_packing: true
flash_attention: true
output_dir: out
`,
    },
  },
  "llama-factory": {
    main: "sft.yaml",
    files: {
      ...MODEL,
      "sft.yaml": `model_name_or_path: ./model
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: all
dataset: identity
template: llama3
cutoff_len: 88
output_dir: out
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
bf16: true
`,
    },
  },
  torchtune: {
    main: "tune.yaml",
    files: {
      ...MODEL,
      "tune.yaml": `model:
  _component_: torchtune.models.llama3_2.llama3_2_1b
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  max_seq_len: 64
batch_size: 2
gradient_accumulation_steps: 1
optimizer:
  _component_: torch.optim.AdamW
  lr: 2e-5
dtype: bf16
enable_activation_checkpointing: true
`,
    },
  },
  grpo: {
    main: "grpo.yaml",
    files: {
      ...MODEL,
      "grpo.yaml": `model_name_or_path: ./model
output_dir: out
beta: 0.1
num_generations: 4
max_prompt_length: 16
max_completion_length: 24
per_device_train_batch_size: 4
gradient_accumulation_steps: 1
bf16: true
reward_funcs: [a]
`,
    },
  },
  shell: {
    main: "run.sh",
    files: {
      ...MODEL,
      "run.sh": `#!/bin/bash
export CUDA_VISIBLE_DEVICES=0,1
torchrun --nproc_per_node 2 train.py --model_name_or_path ./model --output_dir out \\
  --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --bf16 True --max_length 64 \\
  --fsdp "full_shard auto_wrap" --optim adamw_torch --learning_rate 1e-5
`,
    },
  },
  python: {
    main: "train.py",
    files: {
      ...MODEL,
      "train.py": `from transformers import AutoModelForCausalLM, TrainingArguments, Trainer
from peft import LoraConfig, get_peft_model
model = AutoModelForCausalLM.from_pretrained("./model", attn_implementation="eager")
model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj"]))
args = TrainingArguments(output_dir="out", per_device_train_batch_size=2, gradient_accumulation_steps=4, bf16=True,
                         optim="adamw_torch", max_steps=10)
Trainer(model=model, args=args, train_dataset=d).train()
`,
    },
  },
  pins: {
    main: "train.yaml",
    files: {
      ...MODEL,
      "train.yaml": `model_name_or_path: ./model
output_dir: out
per_device_train_batch_size: 2
bf16: true
`,
      ".vramlens.yaml": `runs:
  - match: "*.yaml"
    device: RTX 4090
    devices: 2
    sequence_length: 48
    attention: eager
`,
    },
  },
};
