/** Further whole runs: those of `seeds.ts` and of plans' promises, and one of every format that neither has. */
import { ARCHITECTURE } from "../analysis/nnunet-plans";
import { LLAMA, WHOLE_RUNS } from "../analysis/whole-runs";
import { READERS } from "./readers";
import { SEEDS, type Seed } from "./seeds";

const MODEL = { "model/config.json": JSON.stringify({ ...LLAMA, num_hidden_layers: 3, vocab_size: 512 }) };

const PLANS = {
  dataset_name: "Dataset007_Knee",
  plans_name: "nnUNetPlans",
  configurations: {
    "3d_fullres": {
      batch_size: 3,
      patch_size: [16, 32, 32],
      normalization_schemes: ["ZScoreNormalization"],
      batch_dice: false,
      architecture: ARCHITECTURE,
    },
  },
};

/** One file beside the model. */
function alone(main: string, text: string, beside: Seed["files"] = {}): Seed {
  return { main, files: { ...MODEL, ...beside, [main]: text } };
}

const OWN: Readonly<Record<string, Seed>> = {
  "verl in a command": alone(
    "run.sh",
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=64 data.max_prompt_length=32 data.max_response_length=32 actor_rollout_ref.model.path=./model actor_rollout_ref.actor.ppo_mini_batch_size=32 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=4 trainer.n_gpus_per_node=4 trainer.nnodes=1\n",
  ),
  "verl's file": alone(
    "ppo.yaml",
    "data:\n  train_batch_size: 64\n  max_prompt_length: 32\n  max_response_length: 32\nalgorithm:\n  adv_estimator: gae\nactor_rollout_ref:\n  model:\n    path: ./model\n  actor:\n    strategy: fsdp\n    ppo_mini_batch_size: 32\n    ppo_micro_batch_size_per_gpu: 4\n  rollout:\n    name: hf\n    n: 1\ncritic:\n  model:\n    path: ./model\n  ppo_micro_batch_size_per_gpu: 2\ntrainer:\n  n_gpus_per_node: 4\n  nnodes: 1\n",
  ),
  OpenRLHF: alone(
    "ppo.sh",
    "deepspeed --module openrlhf.cli.train_sft --max_len 64 --dataset d --train_batch_size 32 --micro_train_batch_size 4 --pretrain ./model --save_path out --zero_stage 2 --bf16 --gradient_checkpointing\n",
  ),
  "NeMo's file": alone(
    "nemo.yaml",
    "name: gpt\ntrainer:\n  devices: 4\n  num_nodes: 1\n  precision: bf16\nmodel:\n  micro_batch_size: 4\n  global_batch_size: 64\n  tensor_model_parallel_size: 1\n  pipeline_model_parallel_size: 1\n  encoder_seq_length: 64\n  max_position_embeddings: 64\n  num_layers: 4\n  hidden_size: 64\n  ffn_hidden_size: 256\n  num_attention_heads: 4\n  optim:\n    name: fused_adam\n    lr: 1e-4\n",
  ),
  Ultralytics: alone("yolo.sh", "yolo detect train data=coco8.yaml model=yolo11n.pt batch=4 imgsz=320 epochs=1\n"),
  timm: alone("train.sh", "python train.py data --model resnet18 -b 4 --amp --opt sgd --img-size 64\n"),
  "nnU-Net": alone("nnUNetPlans.json", JSON.stringify(PLANS, null, 1), {
    "dataset.json": JSON.stringify({
      channel_names: { 0: "T1" },
      labels: { background: 0, bone: 1 },
      numTraining: 3,
      file_ending: ".nii.gz",
    }),
  }),
  diffusers: alone(
    "dream.sh",
    "accelerate launch train_dreambooth_lora.py --pretrained_model_name_or_path stable-diffusion-v1-5/stable-diffusion-v1-5 --resolution 256 --train_batch_size 2 --gradient_accumulation_steps 2 --rank 4 --mixed_precision fp16\n",
  ),
  detectron2: alone(
    "train.yaml",
    "MODEL:\n  META_ARCHITECTURE: GeneralizedRCNN\n  BACKBONE:\n    NAME: build_resnet_fpn_backbone\nSOLVER:\n  IMS_PER_BATCH: 16\n  BASE_LR: 0.02\nINPUT:\n  MIN_SIZE_TRAIN: [640]\n",
  ),
  OpenMMLab: alone(
    "mm.py",
    "default_scope = 'mmpretrain'\nmodel = dict(type='ImageClassifier', backbone=dict(type='ResNet', depth=50, num_stages=4))\ntrain_dataloader = dict(batch_size=32, num_workers=5)\noptim_wrapper = dict(optimizer=dict(type='SGD', lr=0.1))\ntrain_cfg = dict(by_epoch=True, max_epochs=100)\n",
  ),
  Lightning: alone(
    "module.py",
    'import lightning as L\nfrom transformers import AutoModelForCausalLM\nclass M(L.LightningModule):\n    def __init__(self):\n        super().__init__()\n        self.model = AutoModelForCausalLM.from_pretrained("./model")\n    def training_step(self, batch, i):\n        return self.model(**batch).loss\ntrainer = L.Trainer(devices=2, precision="bf16-mixed", accumulate_grad_batches=2)\ntrainer.fit(M())\n',
    { ".vramlens.yaml": 'runs:\n  - match: "*.py"\n    sequence_length: 64\n    micro_batch_size: 2\n' },
  ),
  "TRL in a command": alone(
    "trl.sh",
    "accelerate launch --num_processes 2 grpo.py --model_name_or_path ./model --output_dir out --per_device_train_batch_size 4 --num_generations 4 --max_prompt_length 16 --max_completion_length 24 --bf16 --use_peft --lora_r 8\n",
  ),
  "TRL in Python": alone(
    "sft.py",
    'from trl import SFTTrainer, SFTConfig\nfrom peft import LoraConfig\ntrainer = SFTTrainer(model="./model", train_dataset=d, peft_config=LoraConfig(r=8, target_modules="all-linear"), args=SFTConfig(output_dir="o", per_device_train_batch_size=2, max_length=64, bf16=True))\ntrainer.train()\n',
  ),
  "ms-swift": alone(
    "swift.sh",
    "swift sft --model ./model --dataset d --train_type lora --lora_rank 8 --per_device_train_batch_size 2 --gradient_accumulation_steps 4 --max_length 64 --torch_dtype bfloat16\n",
  ),
  "LLaMA-Factory's PPO": alone(
    "dpo.yaml",
    "model_name_or_path: ./model\nstage: dpo\ndo_train: true\nfinetuning_type: lora\nlora_rank: 8\ndataset: d\ntemplate: llama3\ncutoff_len: 64\noutput_dir: out\nper_device_train_batch_size: 2\nbf16: true\n",
  ),
  "sd-scripts in a command": alone(
    "kohya.sh",
    "accelerate launch train_network.py --pretrained_model_name_or_path a.safetensors --train_data_dir d --resolution 256,256 --train_batch_size 2 --gradient_accumulation_steps 2 --network_module networks.lora --network_dim 8 --network_alpha 4 --max_grad_norm 1.0 --optimizer_type AdamW8bit --mixed_precision fp16\n",
  ),
  "sd-scripts' file": alone(
    "kohya.toml",
    '[model]\npretrained_model_name_or_path = "a.safetensors"\n[train]\ntrain_data_dir = "d"\nnetwork_module = "networks.lora"\nnetwork_dim = 4\nnetwork_alpha = 2\ntrain_batch_size = 1\nresolution = "256,256"\nt5xxl_max_token_length = 64\nmax_grad_norm = 1.0\noptimizer_type = "adafactor"\ncache_latents = true\nsave_every_n_epochs = 1\ncaption_extension = ".txt"\nmixed_precision = "bf16"\ngradient_checkpointing = true\nblocks_to_swap = 4\n',
  ),
  "ai-toolkit": alone(
    "job.yaml",
    "job: extension\nconfig:\n  name: a\n  process:\n    - type: sd_trainer\n      network: { type: lora, linear: 16, linear_alpha: 8, conv: 4 }\n      datasets:\n        - folder_path: d\n          resolution: [256, 320]\n          cache_latents_to_disk: true\n      train:\n        batch_size: 1\n        gradient_accumulation_steps: 2\n        max_grad_norm: 1.0\n        train_text_encoder: false\n        gradient_checkpointing: true\n        optimizer: adamw8bit\n        dtype: bf16\n        ema_config: { use_ema: true, ema_decay: 0.99 }\n      model: { name_or_path: a/b, arch: sd15, quantize: true, auto_memory: 1 }\n",
  ),
  "Ultralytics in Python": alone(
    "yolo.py",
    'from ultralytics import YOLO\nmodel = YOLO("yolo11n.pt")\nmodel.train(data="coco8.yaml", batch=16, imgsz=320, epochs=1, device=[0, 1], nbs=64, freeze=3)\n',
  ),
  "Ultralytics' file": alone(
    "args.yaml",
    "task: detect\nmode: train\nmodel: yolo11n.pt\ndata: coco8.yaml\nepochs: 1\nbatch: 16\nimgsz: 320\ndevice: 0\nnbs: 64\n",
  ),
  "OpenRLHF with actors": alone(
    "ppo.sh",
    "python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 4 --ref_num_nodes 1 --critic_num_nodes 1 --vllm_num_engines 2 --vllm_tensor_parallel_size 2 --pretrain ./model --prompt_max_len 32 --generate_max_len 32 --micro_train_batch_size 2 --train_batch_size 16 --micro_rollout_batch_size 2 --rollout_batch_size 16 --zero_stage 3 --bf16\n",
  ),
  "looped stages of Megatron": alone(
    "looped.sh",
    "torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 --ffn-hidden-size 128 --swiglu --normalization RMSNorm --seq-length 64 --max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 16 --vocab-size 512 --bf16 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 1 --optimizer adam --train-iters 10\n",
  ),
  "experts of Megatron": alone(
    "experts.sh",
    "torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 --ffn-hidden-size 128 --swiglu --normalization RMSNorm --seq-length 64 --max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 16 --vocab-size 512 --bf16 --num-experts 8 --moe-router-topk 2 --expert-model-parallel-size 2 --expert-tensor-parallel-size 1 --tensor-model-parallel-size 2 --sequence-parallel --use-distributed-optimizer --train-iters 10\n",
  ),
  "looped stages of torchtitan": alone(
    "job.toml",
    '[model]\nname = "qwen3"\nflavor = "0.6B"\n[training]\nlocal_batch_size = 8\nseq_len = 64\n[activation_checkpoint]\nmode = "none"\n[parallelism]\npipeline_parallel_degree = 4\npipeline_parallel_schedule = "Interleaved1F1B"\npipeline_parallel_layers_per_stage = 2\npipeline_parallel_microbatch_size = 1\nexpert_parallel_degree = 1\n',
    { ".vramlens.yaml": 'runs:\n  - match: "job.toml"\n    device: { name: RTX 4090, count: 4 }\n' },
  ),
  "Unsloth standing by": alone(
    "grpo.py",
    'import os\nos.environ["UNSLOTH_VLLM_STANDBY"] = "1"\nfrom unsloth import FastLanguageModel\nfrom trl import GRPOConfig, GRPOTrainer\nmodel, tokenizer = FastLanguageModel.from_pretrained("./model", max_seq_length=64, load_in_4bit=False, fast_inference=True, max_lora_rank=8, gpu_memory_utilization=0.6)\nmodel = FastLanguageModel.get_peft_model(model, r=8, lora_alpha=16, target_modules=["q_proj"])\nargs = GRPOConfig(output_dir="o", num_generations=4, per_device_train_batch_size=4, max_prompt_length=16, max_completion_length=24, optim="adamw_8bit")\nGRPOTrainer(model=model, reward_funcs=[score], args=args, train_dataset=data).train()\n',
  ),
  "code from the workspace": alone(
    "train.py",
    "from helpers.models import build\nfrom helpers.settings import ARGS, BATCH\nfrom transformers import Trainer\nTrainer(model=build('./model', rank=8), args=ARGS, train_dataset=d).train()\n",
    {
      "helpers/models.py":
        "from peft import LoraConfig, get_peft_model\nfrom transformers import AutoModelForCausalLM\ndef build(name, rank):\n    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation='sdpa')\n    return get_peft_model(model, LoraConfig(r=rank, lora_alpha=16, target_modules=['q_proj']))\n",
      "helpers/settings.py":
        "from transformers import TrainingArguments\nBATCH = 4\nARGS = TrainingArguments('out', per_device_train_batch_size=BATCH, gradient_accumulation_steps=2, bf16=True)\n",
    },
  ),
  "files that a script writes": alone(
    "writes.sh",
    'cat > ds.json <<\'EOF\'\n{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}\nEOF\ntee train.yaml > /dev/null <<EOF\nmodel_name_or_path: ./model\nstage: sft\nfinetuning_type: lora\nlora_rank: 8\ncutoff_len: 64\nper_device_train_batch_size: 2\ndeepspeed: ds.json\nbf16: true\noutput_dir: out\nEOF\nFORCE_TORCHRUN=1 NPROC_PER_NODE=2 llamafactory-cli train train.yaml\n',
  ),
  "a cluster's job": alone(
    "job.sh",
    "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\n#SBATCH --gres=gpu:a100:4\n#SBATCH --mem=64G\nsrun torchrun --nnodes 2 --nproc_per_node 4 train.py --model_name_or_path ./model --output_dir out --per_device_train_batch_size 2 --max_length 64 --bf16 True\n",
  ),
  "LLaMA-Factory's new schema": alone(
    "v1.yaml",
    "model: ./model\ntrain_dataset: d\noutput_dir: out\nmicro_batch_size: 2\nglobal_batch_size: 8\ncutoff_len: 64\nbf16: true\npeft_config: { name: lora, r: 8, lora_alpha: 16, target_modules: all }\nquant_config: { name: bnb, quantization_bit: 4 }\ndist_config: { name: fsdp2, ep_size: 1 }\ndp_size: 1\ncp_size: 1\n",
  ),
  "Lightning's file": alone(
    "lightning.yaml",
    "trainer:\n  devices: 2\n  precision: bf16-mixed\n  accumulate_grad_batches: 2\n  gradient_clip_val: 1.0\n  strategy: { class_path: lightning.pytorch.strategies.DeepSpeedStrategy, init_args: { stage: 2 } }\nmodel: { class_path: own.M, init_args: { batch_size: 4, max_seq_length: 64 } }\ndata: { class_path: own.D, init_args: { batch_size: 4, max_seq_length: 64 } }\n",
  ),
  "verl's file of an actor": alone(
    "actor.yaml",
    "strategy: fsdp\nppo_mini_batch_size: 32\nppo_micro_batch_size_per_gpu: 4\nrollout_n: 2\ngrad_clip: 1.0\nulysses_sequence_parallel_size: 1\nfsdp_config: { param_offload: false, optimizer_offload: false, fsdp_size: -1 }\n",
  ),
  "verl's fine-tuning": alone(
    "sft.yaml",
    "data: { train_batch_size: 32, micro_batch_size_per_gpu: 2, max_length: 64, multiturn: { enable: false } }\nmodel: { partial_pretrain: ./model, lora_rank: 8, lora_alpha: 16, target_modules: all-linear, fsdp_config: { cpu_offload: false } }\noptim: { lr: 1e-5, clip_grad: 1.0 }\nulysses_sequence_parallel_size: 1\ntrainer: { n_gpus_per_node: 4, nnodes: 1, default_local_dir: o }\n",
  ),
  "ms-swift's file": alone(
    "swift.yaml",
    "model: ./model\ndataset: d\ntrain_type: lora\nlora_rank: 8\nper_device_train_batch_size: 2\nmax_length: 64\ntorch_dtype: bfloat16\nfsdp: { fsdp: full_shard auto_wrap, fsdp_config: { version: 2, min_num_params: 100 } }\n",
  ),
};

/** Every seed there is. */
export const ALL_SEEDS: Readonly<Record<string, Seed>> = {
  ...SEEDS,
  ...Object.fromEntries(
    Object.entries(WHOLE_RUNS).map(([name, { main, text, beside }]) => {
      const pin = { ".vramlens.yaml": `runs:\n  - match: "${main}"\n    sequence_length: 64\n` };
      return [`promise: ${name}`, { main, files: { ...MODEL, ...pin, ...beside, [main]: text } }];
    }),
  ),
  ...OWN,
  ...READERS,
};
