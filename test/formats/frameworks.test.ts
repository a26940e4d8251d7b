// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the samples are shell and OmegaConf text
/** Every framework of the contract: recognised, read and written; on real files where a corpus is there. */

import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatsPage } from "../../scripts/formats-page";
import { FORMATS, recogniseFormat, SCHEMAS } from "../../src/formats";
import { parseDocument } from "../../src/formats/parse";
import type { ConfigDocument, LocatedSetting, ReadResult } from "../../src/formats/types";
import { applyEdits } from "../../src/syntax/edit";
import type { SettingName } from "../../src/terms/settings";
import { EFFECTS } from "../../src/words/en/effects";
import { describeCorpus } from "../corpus";
import { english } from "../english";

/** Report ids that a name of the index stands for (`report-contract`); a carrier follows the plus sign. */
const IDS: Readonly<Record<string, readonly string[]>> = {
  "hf-trl": ["trl", "hf-training-arguments"],
  "hf-python": ["trl+python", "hf-training-arguments+python"],
  "shell-hf": ["trl+shell", "hf-training-arguments+shell"],
  "lightning-cli": ["lightning"],
  "megatron-shell": ["megatron+shell"],
  "megatron-yaml": ["megatron"],
  "ms-swift-shell": ["ms-swift+shell"],
  "verl-shell": ["verl+shell"],
  "diffusers-shell": ["diffusers+shell"],
  "nnunet-plans": ["nnunet"],
};

const EXCEPTIONS: Readonly<Record<string, string>> = {
  "deepspeed/EleutherAI+gpt-neox__base_model.json": "model part of a gpt-neox config; no DeepSpeed key in it",
  "shell-hf/hiyouga+LLaMA-Factory__qwen3_lora_sft.sh": "runs llamafactory-cli: llama-factory is what it is",
};

function open(name: string, text: string): ConfigDocument {
  const document = parseDocument(`file:///w/${name}`, text);
  assert.ok(document !== undefined, name);
  return document;
}

function idOf(document: ConfigDocument): string {
  const format = recogniseFormat(document)?.format;
  return format === undefined ? "none" : format.id + (format.carrier === undefined ? "" : `+${format.carrier}`);
}

function read(document: ConfigDocument): ReadResult {
  const recognised = recogniseFormat(document);
  assert.ok(recognised !== undefined, `${document.uri} is not recognised`);
  return recognised.format.read(document);
}

/** Canonical values, the last statement of each name. */
function values(settings: readonly LocatedSetting[]): Record<string, unknown> {
  return Object.fromEntries(
    settings.filter((setting) => setting.name !== null).map((setting) => [setting.name, setting.value]),
  );
}

function expectSettings(document: ConfigDocument, expected: Readonly<Record<string, unknown>>): void {
  const got = values(read(document).settings);
  for (const [name, value] of Object.entries(expected))
    assert.deepEqual(got[name], value, `${name} of ${document.uri}`);
}

/** Short configs of each framework: id, file, text, settings. */
const SAMPLES: readonly (readonly [string, string, string, Readonly<Record<string, unknown>>])[] = [
  [
    "accelerate",
    "a.yaml",
    "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n  fsdp_offload_params: true\nmixed_precision: bf16\nnum_processes: 8\n",
    { fsdp: "shard_grad_op", offload_param: "cpu", compute_dtype: "bf16", world_size: 8 },
  ],
  [
    "accelerate",
    "b.yaml",
    "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n  offload_optimizer_device: cpu\n  gradient_accumulation_steps: auto\nmixed_precision: 'no'\nnum_processes: 4\n",
    { zero_stage: 3, offload_optimizer: "cpu", gradient_accumulation_steps: { auto: true }, compute_dtype: "fp32" },
  ],
  [
    "axolotl",
    "c.yml",
    "base_model: a/b\ndatasets:\n  - path: x\nsequence_len: 4096\nsample_packing: true\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nadapter: qlora\nload_in_4bit: true\nlora_r: 32\nlora_target_linear: true\nbf16: auto\ngradient_checkpointing: offload\nlearning_rate: 2e-4\n",
    {
      model: "a/b",
      sequence_length: 4096,
      packing: true,
      micro_batch_size: 2,
      adapter: "qlora",
      lora_rank: 32,
      lora_target_modules: "all-linear",
      bf16: { auto: true },
      gradient_checkpointing: true,
    },
  ],
  [
    "llama-factory",
    "d.yaml",
    "model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\nlora_target: all\ntemplate: llama3\ncutoff_len: 2048\nper_device_train_batch_size: 2\ndisable_gradient_checkpointing: true\nquantization_bit: 4\nflash_attn: fa2\nlearning_rate: 1e-4\n",
    {
      adapter: "lora",
      sequence_length: 2048,
      micro_batch_size: 2,
      gradient_checkpointing: false,
      quantization: "nf4",
      attention: "flash_attention_2",
    },
  ],
  [
    "llama-factory+shell",
    "d.sh",
    "llamafactory-cli train \\\n  --model_name_or_path a/b \\\n  --stage sft --finetuning_type full \\\n  --cutoff_len 1024 --bf16\n",
    { adapter: "none", sequence_length: 1024, bf16: true },
  ],
  [
    "ms-swift+shell",
    "e.sh",
    "NPROC_PER_NODE=4 \\\nswift sft \\\n  --model a/b \\\n  --tuner_type lora \\\n  --torch_dtype bfloat16 \\\n  --per_device_train_batch_size 2 \\\n  --deepspeed zero3_offload\n",
    {
      model: "a/b",
      adapter: "lora",
      compute_dtype: "bf16",
      micro_batch_size: 2,
      zero_stage: 3,
      offload_optimizer: "cpu",
      world_size: 4,
    },
  ],
  [
    "torchtune",
    "f.yaml",
    "model:\n  _component_: torchtune.models.llama3_1.qlora_llama3_1_8b\n  lora_rank: 8\ntokenizer:\n  max_seq_len: ${seq}\nseq: 4096\nbatch_size: 2\ngradient_accumulation_steps: 8\ndtype: bf16\nenable_activation_checkpointing: True\noptimizer:\n  _component_: torch.optim.AdamW\n",
    {
      adapter: "qlora",
      quantization: "nf4",
      sequence_length: 4096,
      micro_batch_size: 2,
      compute_dtype: "bf16",
      load_dtype: "bfloat16",
      gradient_checkpointing: true,
    },
  ],
  [
    "torchtitan",
    "g.toml",
    '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 2\nseq_len = 8192\n[parallelism]\ntensor_parallel_degree = 4\ndata_parallel_shard_degree = -1\n[activation_checkpoint]\nmode = "none"\n',
    {
      micro_batch_size: 2,
      sequence_length: 8192,
      tensor_parallel: 4,
      fsdp: "full_shard",
      gradient_checkpointing: false,
    },
  ],
  [
    "megatron+shell",
    "h.sh",
    'GPUS=8\nARGS="\n --num-layers 32 \\\n --hidden-size 4096 \\\n --num-attention-heads 32 \\\n --seq-length 4096"\nPAR=(--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --use-distributed-optimizer)\ntorchrun --nproc_per_node $GPUS pretrain_gpt.py $ARGS ${PAR[@]} --micro-batch-size 1 --global-batch-size 16 --bf16 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1\n',
    {
      micro_batch_size: 1,
      gradient_accumulation_steps: 8,
      sequence_length: 4096,
      tensor_parallel: 2,
      pipeline_parallel: 2,
      zero_stage: 1,
      bf16: true,
      gradient_checkpointing: true,
      world_size: 8,
    },
  ],
  [
    "gpt-neox",
    "i.yml",
    '{\n  "pipe-parallel-size": 2,\n  "model_parallel_size": 4, # c\n  "num-layers": 12,\n  "seq-length": 2048,\n  "train_micro_batch_size_per_gpu": 4,\n  "gas": 2,\n  "zero_optimization": {"stage": 1},\n  "precision": "bfloat16",\n  "checkpoint-activations": True,\n}\n',
    {
      pipeline_parallel: 2,
      tensor_parallel: 4,
      micro_batch_size: 4,
      gradient_accumulation_steps: 2,
      zero_stage: 1,
      compute_dtype: "bf16",
      gradient_checkpointing: true,
    },
  ],
  [
    "llm-foundry",
    "j.yaml",
    "variables:\n  max_seq_len: 2048\nmax_seq_len: ${variables.max_seq_len}\nmodel:\n  name: hf_causal_lm\n  pretrained_model_name_or_path: a/b\nglobal_train_batch_size: 64\ndevice_train_microbatch_size: auto\nprecision: amp_bf16\nfsdp_config:\n  sharding_strategy: FULL_SHARD\n  activation_checkpointing: true\n",
    {
      model: "a/b",
      sequence_length: 2048,
      global_batch_size: 64,
      micro_batch_size: { auto: true },
      compute_dtype: "bf16",
      fsdp: "full_shard",
      gradient_checkpointing: true,
    },
  ],
  [
    "nanotron",
    "k.yaml",
    "parallelism:\n  dp: 4\n  tp: 2\n  pp: 1\ntokens:\n  micro_batch_size: 2\n  sequence_length: 4096\n  batch_accumulation_per_replica: 8\nmodel:\n  dtype: bfloat16\noptimizer:\n  zero_stage: 1\n",
    {
      micro_batch_size: 2,
      gradient_accumulation_steps: 8,
      sequence_length: 4096,
      world_size: 8,
      global_batch_size: 64,
      zero_stage: 1,
      compute_dtype: "bf16",
    },
  ],
  [
    "lightning",
    "l.yaml",
    "seed_everything: 1\ntrainer:\n  precision: bf16-mixed\n  devices: 4\n  num_nodes: 2\n  strategy: deepspeed_stage_3_offload\n  accumulate_grad_batches: 2\nmodel:\n  class_path: a.B\ndata:\n  class_path: c.D\n  init_args:\n    batch_size: 16\n",
    {
      compute_dtype: "bf16",
      load_dtype: "float32",
      world_size: 8,
      zero_stage: 3,
      offload_optimizer: "cpu",
      gradient_accumulation_steps: 2,
      micro_batch_size: 16,
    },
  ],
  [
    "lightning",
    "fsdp.yaml",
    "seed_everything: 1\ntrainer:\n  devices: 4\n  strategy:\n    class_path: lightning.pytorch.strategies.FSDPStrategy\n    init_args:\n      sharding_strategy: SHARD_GRAD_OP\n      cpu_offload: true\n      activation_checkpointing_policy:\n        - a.Block\nmodel:\n  class_path: a.B\n",
    {
      fsdp: "shard_grad_op",
      fsdp_cpu_offload: true,
      gradient_checkpointing: true,
      use_reentrant: false,
      world_size: 4,
    },
  ],
  [
    "lightning",
    "zero.yaml",
    "seed_everything: 1\ntrainer:\n  devices: 4\n  strategy:\n    class_path: lightning.pytorch.strategies.DeepSpeedStrategy\n    init_args:\n      stage: 3\n      offload_parameters: true\n      allgather_bucket_size: 1000\nmodel:\n  class_path: a.B\n",
    { zero_stage: 3, offload_param: "cpu", allgather_bucket_size: 1000, reduce_bucket_size: 200_000_000 },
  ],
  [
    "lightning",
    "mesh.yaml",
    "seed_everything: 1\ntrainer:\n  devices: 4\n  strategy:\n    class_path: lightning.pytorch.strategies.ModelParallelStrategy\n    init_args:\n      data_parallel_size: 2\n      tensor_parallel_size: 2\nmodel:\n  class_path: a.B\n",
    { fsdp: "full_shard", fsdp_version: 2, tensor_parallel: 2, world_size: 4 },
  ],
  [
    "verl+shell",
    "m.sh",
    "python3 -m verl.trainer.main_ppo \\\n  actor_rollout_ref.model.path=a/b \\\n  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \\\n  actor_rollout_ref.actor.fsdp_config.optimizer_offload=True \\\n  data.max_prompt_length=512 data.max_response_length=1024 \\\n  trainer.n_gpus_per_node=8 trainer.nnodes=2\n",
    { model: "a/b", micro_batch_size: 4, offload_optimizer: "cpu", sequence_length: 1536, world_size: 16 },
  ],
  [
    "openrlhf+shell",
    "n.sh",
    "read -r -d '' commands <<EOF\nopenrlhf.cli.train_sft \\\n   --max_len 2048 \\\n   --micro_train_batch_size 2 \\\n   --train_batch_size 128 \\\n   --pretrain a/b \\\n   --zero_stage 2 \\\n   --bf16 \\\n   --gradient_checkpointing\nEOF\ndeepspeed --num_gpus 8 --module $commands\n",
    {
      model: "a/b",
      sequence_length: 2048,
      micro_batch_size: 2,
      global_batch_size: 128,
      zero_stage: 2,
      compute_dtype: "bf16",
      gradient_checkpointing: true,
      world_size: 8,
      gradient_accumulation_steps: 8,
    },
  ],
  [
    "nemo",
    "o.yaml",
    "trainer:\n  devices: 8\n  num_nodes: 1\n  precision: bf16\nmodel:\n  micro_batch_size: 4\n  global_batch_size: 32\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 1\n  encoder_seq_length: 4096\n  megatron_amp_O2: true\n  activations_checkpoint_granularity: selective\n",
    {
      micro_batch_size: 4,
      global_batch_size: 32,
      tensor_parallel: 2,
      sequence_length: 4096,
      compute_dtype: "bf16",
      load_dtype: "bfloat16",
      world_size: 8,
      gradient_checkpointing: true,
    },
  ],
  [
    "nemo+python",
    "bridge.py",
    "from megatron.bridge.recipes.qwen import qwen25_7b_pretrain_config\nfrom megatron.bridge.training.pretrain import pretrain\ncfg = qwen25_7b_pretrain_config()\ncfg.train.micro_batch_size = 2\ncfg.train.global_batch_size = 64\ncfg.model.seq_length = 4096\ncfg.model.tensor_model_parallel_size = 4\nother.name = 1\npretrain(cfg, None)\n",
    {
      micro_batch_size: 2,
      global_batch_size: 64,
      sequence_length: 4096,
      tensor_parallel: 4,
      compute_dtype: "bf16",
      load_dtype: "bfloat16",
      zero_stage: 1,
    },
  ],
  [
    "nemo+python",
    "half.py",
    "import megatron.bridge\ncfg.train.micro_batch_size = 1\ncfg.mixed_precision = 'fp16_mixed'\ncfg.ddp.use_distributed_optimizer = False\n",
    { compute_dtype: "fp16", load_dtype: "float16", zero_stage: undefined },
  ],
  [
    "sd-scripts+shell",
    "train.sh",
    "accelerate launch sdxl_train_network.py --pretrained_model_name_or_path=pony.safetensors --train_data_dir=d --resolution=1024,768 --network_module=networks.lora --network_dim=32 --network_train_unet_only --cache_latents --optimizer_type=AdamW8bit --sdpa\n",
    {
      image_size: 832,
      lora_rank: 32,
      train_text_encoder: false,
      cached_latents: true,
      optimizer: "adamw_8bit",
      attention: "sdpa",
      config_name: "stabilityai/stable-diffusion-xl-base-1.0",
      training_script: "sd-scripts.lora.sdxl",
    },
  ],
  [
    "sd-scripts",
    "lora.toml",
    '[model_arguments]\nv2 = false\npretrained_model_name_or_path = "a.safetensors"\n[network]\nnetwork_module = "networks.lora"\nnetwork_dim = 16\nunet_lr = 1e-4\n[training]\ntrain_batch_size = 2\nmin_snr_gamma = 5\ncaption_extension = ".txt"\nmax_data_loader_n_workers = 2\noptimizer_type = "AdamW"\n',
    { micro_batch_size: 2, lora_rank: 16, optimizer: "adamw_torch", training_script: "sd-scripts.lora.sd15" },
  ],
  [
    "sd-scripts",
    "preset.json",
    '{"LoRA_type":"LyCORIS/LoKr","sdxl":true,"network_dim":16,"max_resolution":"1024,1024","train_batch_size":4,"enable_bucket":true,"caption_extension":".txt","min_snr_gamma":5,"optimizer":"Prodigy","xformers":"xformers"}',
    { micro_batch_size: 4, image_size: 1024, optimizer: "Prodigy", training_script: "sd-scripts LyCORIS/LoKr" },
  ],
  [
    "ai-toolkit",
    "job.yaml",
    "job: extension\nconfig:\n  name: a\n  process:\n    - type: sd_trainer\n      network:\n        type: lora\n        linear: 16\n      datasets:\n        - folder_path: d\n          resolution: [512, 768, 1024]\n      train:\n        batch_size: 1\n        dtype: bf16\n        optimizer: adamw8bit\n      model:\n        name_or_path: black-forest-labs/FLUX.1-dev\n        is_flux: true\n        quantize: true\n",
    {
      micro_batch_size: 1,
      image_size: 1024,
      lora_rank: 16,
      load_dtype: "float8",
      texts_quantized: true,
      training_script: "ai-toolkit.lora.flux",
    },
  ],
  [
    "diffusers+shell",
    "p.sh",
    'export MODEL_NAME="stabilityai/sdxl"\naccelerate launch --num_processes 2 train_text_to_image_lora_sdxl.py \\\n  --pretrained_model_name_or_path=$MODEL_NAME \\\n  --resolution=1024 --train_batch_size=1 --gradient_accumulation_steps=4 \\\n  --mixed_precision="fp16" --rank 16 --gradient_checkpointing --use_8bit_adam\n',
    {
      model: "stabilityai/sdxl",
      micro_batch_size: 1,
      gradient_accumulation_steps: 4,
      compute_dtype: "fp16",
      adapter: "lora",
      lora_rank: 16,
      gradient_checkpointing: true,
      world_size: 2,
      optimizer: "adamw_8bit",
    },
  ],
  [
    "nnunet",
    "q.json",
    '{"dataset_name": "D", "plans_name": "nnUNetPlans", "configurations": {"3d_fullres": {"batch_size": 2, "patch_size": [128, 128, 128], "UNet_class_name": "PlainConvUNet"}}}',
    { global_batch_size: 2, model: "PlainConvUNet" },
  ],
  [
    "ultralytics",
    "args.yaml",
    "task: detect\nmode: train\nmodel: yolov8n.pt\nbatch: 32\nimgsz: 640\namp: true\ndevice: 0,1\n",
    { global_batch_size: 32, micro_batch_size: 16, world_size: 2, compute_dtype: "fp16" },
  ],
  [
    "ultralytics+shell",
    "r.sh",
    "yolo detect train data=coco.yaml model=yolov8n.pt imgsz=640 batch=16\n",
    { global_batch_size: 16, model: "yolov8n.pt" },
  ],
  [
    "timm",
    "s.yaml",
    "aa: rand-m9\nbatch_size: 64\nopt: adamw\nsched: cosine\nmodel: vit_base_patch16_224\namp: true\namp_dtype: bfloat16\ndrop_path: 0.1\ngrad_checkpointing: true\n",
    {
      micro_batch_size: 64,
      compute_dtype: "bf16",
      gradient_checkpointing: true,
      model: "vit_base_patch16_224",
      optimizer: "adamw",
    },
  ],
  [
    "mmengine+python",
    "t.py",
    "_base_ = ['../_base_/default_runtime.py']\ntrain_dataloader = dict(batch_size=2, num_workers=2)\noptim_wrapper = dict(type='AmpOptimWrapper', optimizer=dict(type='SGD', lr=0.02), accumulative_counts=4)\nmodel = dict(type='FasterRCNN', backbone=dict(type='ResNet', depth=50, with_cp=True))\n",
    {
      micro_batch_size: 2,
      gradient_accumulation_steps: 4,
      compute_dtype: "fp16",
      optimizer: "SGD",
      model: "FasterRCNN",
      gradient_checkpointing: true,
    },
  ],
  [
    "detectron2",
    "u.yaml",
    '_BASE_: "../Base-RCNN-FPN.yaml"\nMODEL:\n  META_ARCHITECTURE: GeneralizedRCNN\n  MASK_ON: True\nSOLVER:\n  IMS_PER_BATCH: 16\n  AMP:\n    ENABLED: True\n',
    { global_batch_size: 16, compute_dtype: "fp16" },
  ],
  [
    "hf-training-arguments+shell",
    "v.slurm",
    "#!/bin/bash\n#SBATCH --gpus-per-node=4\nexport BS=8\nsrun torchrun --nproc_per_node 4 --nnodes 2 run_clm.py --config_name gpt2 --per_device_train_batch_size $BS --bf16 --output_dir out --gradient_accumulation_steps 2 --deepspeed ds.json\n",
    { micro_batch_size: 8, bf16: true, gradient_accumulation_steps: 2, world_size: 8, deepspeed: "ds.json" },
  ],
  [
    "trl+python",
    "w.py",
    "from trl import SFTConfig, SFTTrainer\nfrom peft import LoraConfig\nimport torch\nMICRO = 2\nmodel = AutoModelForCausalLM.from_pretrained('a/b', torch_dtype=torch.bfloat16, attn_implementation='sdpa', quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type='nf4'))\npeft = LoraConfig(r=16, target_modules='all-linear')\nargs = SFTConfig(per_device_train_batch_size=MICRO * 2, max_length=2048, bf16=True)\ntrainer = SFTTrainer(model=model, args=args, peft_config=peft)\n",
    {
      model: "a/b",
      load_dtype: "bfloat16",
      attention: "sdpa",
      adapter: "lora",
      lora_rank: 16,
      micro_batch_size: 4,
      sequence_length: 2048,
      bf16: true,
      load_in_4bit: true,
    },
  ],
  [
    "hf-training-arguments+notebook",
    "x.ipynb",
    JSON.stringify({
      cells: [
        {
          cell_type: "code",
          source: [
            "from transformers import TrainingArguments, Trainer\n",
            "args = TrainingArguments(output_dir='o', per_device_train_batch_size=4, fp16=True)\n",
          ],
        },
      ],
      nbformat: 4,
    }),
    { micro_batch_size: 4, fp16: true },
  ],
];

/** Texts that are no training config. */
const OTHERS: readonly (readonly [string, string])[] = [
  ["docker-compose.yaml", "services:\n  web:\n    image: x\n    ports: [80]\n"],
  ["package.json", '{"name": "x", "version": "1.0.0", "scripts": {"train": "python train.py"}}'],
  ["mkdocs.yml", "site_name: x\nnav:\n  - a: b\ntheme:\n  name: material\n"],
  ["build.sh", "#!/bin/bash\nset -e\ncmake -B build --preset release\ncmake --build build --parallel 8\n"],
  ["setup.py", "from setuptools import setup\nsetup(name='x', version='1')\n"],
  ["pyproject.toml", '[project]\nname = "x"\n[tool.ruff]\nline-length = 100\n'],
  ["workflow.yml", "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: npm test\n"],
  ["values.yaml", "image:\n  repository: x\nreplicaCount: 2\nresources: {}\n"],
  ["empty.yaml", ""],
  // Of Hydra, which puts a config together from several files; of a program's own; a model's card; a service's request.
  [
    "conf/config.yaml",
    "defaults:\n  - data: chat\n  - _self_\nbase_model: a/b\nnum_epochs: 3\nmicro_batch_size: 4\nsequence_len: 512\nlora_r: 8\n",
  ],
  ["conf/experiment/a.yaml", "# @package _global_\nbase_model: a/b\nmicro_batch_size: 4\nsequence_len: 512\n"],
  [
    "train.yaml",
    "base_model: a/b\nmethod: QLoRA\ndatasets:\n  - name: sums\n    weight: 0.5\nstages:\n  first:\n    steps: 100\n",
  ],
  ["card.yaml", "license: mit\nlanguage: [en]\nlibrary_name: peft\nbase_model: a/b\ndatasets:\n  - c/d\n"],
  ["job.yaml", "base_model: a/b\nlora_r: 8\nnum_epochs: 3\ndataset_name: chat\nadapter_name: mine\n"],
];

describe("formats: frameworks", () => {
  it("say of every key one thing", () => {
    const twice = FORMATS.flatMap(({ id, keys }) => {
      const names = new Map<string, string | null>();
      return keys.flatMap(({ key, aliases = [], name }) =>
        [key, ...aliases].flatMap((path) => {
          const before = names.get(path);
          names.set(path, name);
          return before === undefined || before === name ? [] : [`${id}: ${path} is ${before} and ${name}`];
        }),
      );
    });
    assert.deepEqual(twice, []);
  });

  for (const [id, name, text, expected] of SAMPLES) {
    it(`${id}: ${name}`, () => {
      const document = open(name, text);
      assert.equal(idOf(document), id);
      expectSettings(document, expected);
      assert.deepEqual(
        read(document).problems.filter((problem) => problem.severity === "error"),
        [],
      );
    });
  }

  it("leaves other files alone", () => {
    for (const [name, text] of OTHERS) assert.equal(idOf(open(name, text)), "none", name);
  });

  it("knows the commands that start a framework on its config", () => {
    const started = (command: string): unknown => {
      const document = open("run.sh", `${command}\n`);
      return [idOf(document), read(document).links.map((link) => link.target)];
    };
    assert.deepEqual(started("accelerate launch -m axolotl.cli.train examples/x.yml"), [
      "axolotl+shell",
      ["examples/x.yml"],
    ]);
    assert.deepEqual(started("composer train/train.py train/yamls/mpt.yaml max_duration=100ba"), [
      "llm-foundry+shell",
      ["train/yamls/mpt.yaml"],
    ]);
    assert.deepEqual(started("torchrun --nproc_per_node=8 run_train.py --config-file a.yaml"), [
      "nanotron+shell",
      ["a.yaml"],
    ]);
    assert.deepEqual(started("litgpt finetune_lora --config c.yaml --devices 4"), ["lightning+shell", ["c.yaml"]]);
  });

  it("reads axolotl's fused losses: a switch of Liger, or the mere plugin of Cut Cross Entropy", () => {
    const fused = (text: string): readonly unknown[] => {
      const { settings } = read(open("c.yml", `base_model: a/b\ndatasets: []\nsequence_len: 64\n${text}`));
      const names = ["fused_loss", "fused_head", "fused_layers"];
      return names.map((name) => settings.find((one) => one.name === name)?.value);
    };
    const plugin = "plugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n";
    const liger = "plugins:\n  - axolotl.integrations.liger.LigerPlugin\n";
    const none = [undefined, undefined, undefined];
    assert.deepEqual(fused(""), none);
    assert.deepEqual(fused(plugin), [undefined, true, undefined]);
    assert.deepEqual(fused(`${plugin}cut_cross_entropy: false\n`), none);
    const switches = "liger_fused_linear_cross_entropy: true\nliger_rms_norm: true\n";
    assert.deepEqual(fused(switches), none, "without the plugin nothing reads them");
    assert.deepEqual(fused(`${liger}${switches}`), [true, undefined, "norms"]);
    assert.deepEqual(fused(`${liger}${switches}liger_glu_activation: true\n`), [true, undefined, true]);
    assert.deepEqual(fused(`${liger}liger_fused_linear_cross_entropy: true\n`), [true, undefined, false]);
  });

  it("takes half of any sample", () => {
    for (const [, name, text] of SAMPLES) {
      for (let length = 0; length < text.length; length += 5) {
        const document = open(name, text.slice(0, length));
        const format = recogniseFormat(document)?.format;
        if (format === undefined) continue;
        for (const { keySpan, valueSpan } of format.read(document).settings) {
          assert.ok(keySpan.start <= keySpan.end && keySpan.end <= length, `${name} cut at ${length}`);
          assert.ok(valueSpan.start <= valueSpan.end && valueSpan.end <= length, `${name} cut at ${length}`);
        }
        format.edit(document, [{ name: "micro_batch_size", value: 2 }]);
      }
    }
  });

  it("every key that touches memory says what it does", () => {
    for (const [, name, text] of SAMPLES) {
      const format = recogniseFormat(open(name, text))?.format;
      for (const key of format?.keys ?? []) assert.match(EFFECTS[key.effect], /^.{8,}\.$/, `${format?.id} ${key.key}`);
    }
  });

  it("are all on the page of formats, as it stands (npm run generate)", () => {
    const page = readFileSync(join(__dirname, "../../docs/formats.md"), "utf8");
    assert.deepEqual([...new Set(FORMATS.map(({ id }) => id))].sort(), Object.keys(SCHEMAS).sort());
    for (const [id, { formats }] of Object.entries(SCHEMAS))
      for (const format of formats) assert.equal(format.id, id, "a format stands in another schema's row");
    for (const format of FORMATS) assert.ok(page.includes(`<a id="${format.id}"></a>`), format.id);
    assert.equal(page, formatsPage(), "run npm run generate");
  });

  it("finds what the frameworks stop at", () => {
    const found = (name: string, text: string): string[] =>
      read(open(name, text))
        .problems.filter((problem) => problem.severity === "error")
        .map((problem) => problem.code);
    const accelerate = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n";
    for (const [config, code] of [
      ["  fsdp_version: 2\n  fsdp_reshard_after_forward: FULL_SHARD\n", "fsdp-reshard-type"],
      ["  fsdp_reshard_after_forward: true\n", "fsdp-reshard-type"],
    ] as const)
      assert.deepEqual(found("acc.yaml", accelerate + config), [code]);
    assert.deepEqual(found("acc.yaml", `${accelerate}  fsdp_version: 2\n  fsdp_reshard_after_forward: true\n`), []);
    const all = (name: string, text: string) => read(open(name, text)).problems.map((problem) => problem.code);
    assert.deepEqual(all("acc.yaml", `${accelerate}  fsdp_version: 2\n  fsdp_backward_prefetch: NO_PREFETCH\n`), [
      "fsdp2-old-key",
    ]);
    const factory = "model_name_or_path: a\nstage: sft\ntemplate: x\ncutoff_len: 8\nfinetuning_type: full\n";
    assert.deepEqual(found("l.yaml", `${factory}pure_bf16: true\ndeepspeed: ds_z3_config.json\n`), ["pure-bf16-zero3"]);
    assert.deepEqual(found("l.yaml", `${factory}use_galore: true\ndeepspeed: ds_z2.json\n`), ["galore-deepspeed"]);
    const lora = factory.replace("full", "lora");
    assert.deepEqual(found("l.yaml", `${lora}fp8: true\nquantization_bit: 4\n`), ["fp8-quantized"]);
    const megatron = "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 8 --num-attention-heads 2 --seq-length 16";
    assert.deepEqual(found("m.sh", `${megatron} --micro-batch-size 3 --global-batch-size 8\n`), ["batch-multiple"]);
    assert.deepEqual(found("m.sh", `${megatron} --micro-batch-size 2 --recompute-granularity full\n`), [
      "recompute-method",
    ]);
    assert.deepEqual(
      found(
        "m.sh",
        `${megatron} --micro-batch-size 2 --recompute-granularity full --recompute-method block --recompute-num-layers 1\n`,
      ),
      [],
    );
    const yolo = "task: detect\nmode: train\nimgsz: 640\n";
    assert.deepEqual(all("y.yaml", `${yolo}batch: -1\ndevice: [0, 1]\n`), ["autobatch-gpus"]);
    assert.deepEqual(all("y.yaml", `${yolo}batch: 16\ndevice: [0, 1]\n`), ["total-batch"]);
    const axolotl = "base_model: a\nmicro_batch_size: 1\nsequence_len: 8\n";
    assert.deepEqual(all("a.yml", `${axolotl}liger_rope: true\n`), ["liger-plugin"]);
    assert.deepEqual(
      all("a.yml", `${axolotl}liger_rope: true\nplugins:\n  - axolotl.integrations.liger.LigerPlugin\n`),
      [],
    );
    assert.deepEqual(
      found(
        "a.yml",
        `${axolotl}optimizer: adamw_bnb_8bit\nfsdp: [full_shard]\nfsdp_config:\n  fsdp_offload_params: true\n`,
      ),
      ["fsdp-offload-8bit"],
    );
    assert.deepEqual(found("a.yml", `${axolotl}fsdp: \${FSDP}\ndeepspeed: \${DEEPSPEED}\n`), []);
    const openrlhf = "python -m openrlhf.cli.train_sft --pretrain a --max_len 8";
    assert.deepEqual(found("o.sh", `${openrlhf} --train_batch_size 10 --micro_train_batch_size 4\n`), [
      "batch-multiple",
    ]);
    assert.deepEqual(found("a.yml", "base_model: a\nmicro_batch_size: 1\nadapter: qlora\n"), ["qlora-needs-4bit"]);
    assert.deepEqual(found("a.yml", "base_model: a\nmicro_batch_size: 1\nload_in_8bit: true\n"), [
      "quantized-without-adapter",
    ]);
    assert.deepEqual(found("a.yml", "base_model: a\nmicro_batch_size: 1\ndeepspeed: x.json\nfsdp: [full_shard]\n"), [
      "deepspeed-and-fsdp",
    ]);
    assert.deepEqual(
      found(
        "a.yaml",
        "distributed_type: DEEPSPEED\nnum_processes: 1\ndeepspeed_config:\n  deepspeed_config_file: x.json\n  zero_stage: 2\n",
      ),
      ["accelerate-file-conflict"],
    );
    assert.deepEqual(
      found("a.yaml", "model_name_or_path: a\nstage: sft\nfinetuning_type: full\nquantization_bit: 4\n"),
      ["quantized-full"],
    );
    assert.deepEqual(
      found(
        "a.yaml",
        "model:\n  _component_: torchtune.models.x\noptimizer_in_bwd: true\ngradient_accumulation_steps: 4\n",
      ),
      ["optimizer-in-backward"],
    );
    assert.deepEqual(found("a.yaml", "base_model: a\ndatasets: []\nmicro_batch_size: many\n"), ["invalid-value"]);
  });
});

describe("formats: edits", () => {
  const change = (name: string, text: string, setting: SettingName, value: string | number | boolean): string => {
    const document = open(name, text);
    const outcome = recogniseFormat(document)?.format.edit(document, [{ name: setting, value }]);
    assert.ok(outcome !== undefined);
    return "refused" in outcome ? `refused: ${english(outcome.refused)}` : applyEdits(text, outcome.edits);
  };
  const sample = (name: string): [string, string] => {
    const found = SAMPLES.find((candidate) => candidate[1] === name);
    assert.ok(found !== undefined);
    return [found[1], found[2]];
  };
  const replaced = (
    name: string,
    setting: SettingName,
    value: string | number | boolean,
    from: string,
    to: string,
  ): void => {
    const [file, text] = sample(name);
    assert.ok(text.includes(from));
    assert.equal(change(file, text, setting, value), text.replace(from, to));
  };

  it("writes a value in the format's own words", () => {
    replaced(
      "d.yaml",
      "gradient_checkpointing",
      true,
      "disable_gradient_checkpointing: true",
      "disable_gradient_checkpointing: false",
    );
    replaced("f.yaml", "sequence_length", 2048, "seq: 4096", "seq: 2048");
    replaced("g.toml", "gradient_checkpointing", true, 'mode = "none"', 'mode = "full"');
    replaced("h.sh", "micro_batch_size", 2, "--micro-batch-size 1", "--micro-batch-size 2");
    replaced("h.sh", "sequence_length", 2048, "--seq-length 4096", "--seq-length 2048");
    replaced(
      "i.yml",
      "micro_batch_size",
      2,
      '"train_micro_batch_size_per_gpu": 4',
      '"train_micro_batch_size_per_gpu": 2',
    );
    replaced("b.yaml", "bf16", true, "mixed_precision: 'no'", "mixed_precision: 'bf16'");
    replaced("m.sh", "micro_batch_size", 2, "ppo_micro_batch_size_per_gpu=4", "ppo_micro_batch_size_per_gpu=2");
    replaced("w.py", "sequence_length", 1024, "max_length=2048", "max_length=1024");
    replaced("x.ipynb", "micro_batch_size", 2, "per_device_train_batch_size=4", "per_device_train_batch_size=2");
    replaced("v.slurm", "micro_batch_size", 4, "BS=8", "BS=4");
  });

  it("adds a key beside its relatives", () => {
    const [, swift] = sample("e.sh");
    assert.ok(change("e.sh", swift, "gradient_checkpointing", true).includes("--gradient_checkpointing"));
    assert.equal(
      change(
        "a.sh",
        "torchrun run_clm.py --per_device_train_batch_size 4 --bf16 --output_dir o --learning_rate 1\n",
        "gradient_checkpointing",
        true,
      ),
      "torchrun run_clm.py --per_device_train_batch_size 4 --gradient_checkpointing --bf16 --output_dir o --learning_rate 1\n",
    );
    const [, code] = sample("w.py");
    assert.equal(
      change("w.py", code, "gradient_checkpointing", true),
      code.replace(
        "SFTConfig(per_device_train_batch_size=MICRO * 2,",
        "SFTConfig(per_device_train_batch_size=MICRO * 2, gradient_checkpointing=True,",
      ),
    );
  });

  it("refuses what the format has no words for", () => {
    const [file, text] = sample("h.sh");
    assert.match(change(file, text, "zero_stage", 3), /^refused/);
    const [script, code] = sample("w.py");
    assert.match(change(script, code.replace("MICRO * 2", "int(x)"), "micro_batch_size", 2), /^refused/);
  });
});

describeCorpus("formats: corpus of every framework", (entries) => {
  const documents = entries.map((entry) => ({
    ...entry,
    document: open(entry.file.split("/")[1] ?? "", entry.text),
  }));
  /** DeepSpeed and TRL files have a test of their own. */
  const others = documents.filter((entry) => entry.format !== "deepspeed" && entry.format !== "hf-trl");

  it("is recognised as its index says", () => {
    const wrong = documents.filter(({ file, format, document }) => {
      const carrier = file.endsWith(".py") ? "+python" : file.endsWith(".sh") ? "+shell" : "";
      return !(IDS[format] ?? [format + carrier]).includes(idOf(document));
    });
    assert.deepEqual(wrong.map((entry) => entry.file).sort(), Object.keys(EXCEPTIONS).sort());
    assert.ok(wrong.length <= documents.length / 100);
  });

  it("gives no error on what the libraries accept, and every key its place", () => {
    for (const { file, document } of others) {
      const { settings, problems } = read(document);
      assert.deepEqual(
        problems
          .filter((problem) => problem.severity === "error")
          .map((problem) => [problem.code, problem.message.args]),
        [],
        file,
      );
      for (const { key, keySpan } of settings) {
        const last = (key.split(".").at(-1) ?? "").replace(/^--/, "");
        const written = document.text.slice(keySpan.start, keySpan.end).replaceAll("-", "_");
        const positional =
          last === "call" || last === "0" || document.languageId === "python" || file.startsWith("llm-foundry");
        assert.ok(
          positional || written.includes(last.replaceAll("-", "_")),
          `${file}: ${key} is at ${JSON.stringify(written)}`,
        );
      }
    }
  });

  it("reads the settings of chosen files", () => {
    const expected: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
      "accelerate/huggingface+alignment-handbook__zero3.yaml": { zero_stage: 3, world_size: 8, compute_dtype: "bf16" },
      "megatron-shell/NVIDIA+Megatron-LM__pretrain_mistral_clip.sh": {
        global_batch_size: 256,
        micro_batch_size: 1,
        tensor_parallel: 4,
        bf16: true,
      },
      "megatron-shell/NVIDIA+Megatron-LM__train.sh": {
        hidden_size: 1024,
        tensor_parallel: 1,
        sequence_length: 4096,
        world_size: 8,
      },
      "verl/volcengine+verl__ppo_trainer_split.yaml": {
        global_batch_size: 1024,
        offload_param: "none",
        sequence_length: 1024,
      },
      "lightning-cli/Lightning-AI+litgpt__qlora.yaml": {
        adapter: "qlora",
        quantization: "nf4",
        micro_batch_size: 2,
        gradient_accumulation_steps: 4,
        compute_dtype: "bf16",
      },
      "shell-hf/haotian-liu+LLaVA__finetune_qlora.sh": {
        micro_batch_size: 16,
        bf16: true,
        quantization: "nf4",
        adapter: "lora",
        sequence_length: 2048,
      },
      "hf-python/huggingface+trl__sft_gemma3.py": {
        model: "google/gemma-3-12b-it",
        attention: "eager",
        sequence_length: 8192,
        micro_batch_size: 1,
      },
      "torchtitan/pytorch+torchtitan__llama3_405b.toml": {
        micro_batch_size: 2,
        tensor_parallel: 8,
        sequence_length: 8192,
        gradient_checkpointing: true,
      },
    };
    for (const [file, settings] of Object.entries(expected)) {
      const entry = documents.find((candidate) => candidate.file === file);
      if (entry !== undefined) expectSettings(entry.document, settings);
    }
  });

  it("changes one setting and nothing else", () => {
    const changes: readonly (readonly [SettingName, number | boolean])[] = [
      ["micro_batch_size", 3],
      ["gradient_accumulation_steps", 5],
      ["sequence_length", 1234],
      ["gradient_checkpointing", true],
      ["gradient_checkpointing", false],
    ];
    let written = 0;
    for (const { file, document } of others) {
      const format = recogniseFormat(document)?.format;
      if (format === undefined) continue;
      const before = format.read(document).settings;
      for (const [name, value] of changes) {
        const stated = before.findLast((setting) => setting.name === name);
        if (stated === undefined || stated.value === value) continue;
        const outcome = format.edit(document, [{ name, value }]);
        if ("refused" in outcome) continue;
        const text: string = applyEdits(document.text, outcome.edits);
        const again: ConfigDocument = open(file.split("/")[1] ?? "", text);
        const settings: readonly LocatedSetting[] = format.read(again).settings;
        const kept = independent(before);
        const after = independent(settings);
        assert.equal(after.length, kept.length, `${file}: ${name}`);
        assert.equal(settings.findLast((setting) => setting.name === name)?.value, value, `${file}: ${name}`);
        after.forEach((setting, place) => {
          const old = kept[place];
          if (old === undefined || old.node.start === stated.node.start || sameSource(old, stated)) return;
          assert.deepEqual(
            [setting.name, setting.value],
            [old.name, old.value],
            `${file}: ${setting.key} changed with ${name}`,
          );
        });
        written++;
      }
    }
    assert.ok(written > 250, `${written} edits`);
  });
});

/** Settings that follow from the ones the test changes. */
const DEPENDENT = new Set([
  "checkpoint_kind",
  "offload_activations",
  "gradient_accumulation_steps",
  "micro_batch_size",
  "global_batch_size",
  "sequence_length",
  "world_size",
]);

function independent(settings: readonly LocatedSetting[]): readonly LocatedSetting[] {
  return settings.filter((setting) => !DEPENDENT.has(setting.name ?? ""));
}

/** Both come from one definition (`${variables.max_seq_len}`, a shell variable): they change together. */
function sameSource(a: LocatedSetting, b: LocatedSetting): boolean {
  const place = (setting: LocatedSetting) =>
    setting.node.kind === "scalar" ? (setting.node.source ?? setting.node).start : setting.node.start;
  return place(a) === place(b);
}
