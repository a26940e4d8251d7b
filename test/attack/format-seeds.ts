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
