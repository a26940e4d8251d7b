/** A whole run of each framework whose keys plans write. */
import type { Files } from "./promises";

export const LLAMA = {
  model_type: "llama",
  architectures: ["LlamaForCausalLM"],
  hidden_size: 512,
  intermediate_size: 1024,
  num_hidden_layers: 8,
  num_attention_heads: 8,
  num_key_value_heads: 4,
  vocab_size: 32000,
  max_position_embeddings: 2048,
};

export interface WholeRun {
  readonly main: string;
  readonly text: string;
  /** Files beside it. */
  readonly beside?: Files;
  readonly count: number;
}

const TRAINER =
  "output_dir: out\nmodel_name_or_path: ./model\nper_device_train_batch_size: 16\ngradient_accumulation_steps: 2\nbf16: true\n";
const LAUNCH = "accelerate launch --config_file launch.yaml train.py train.yaml\n";

/** One process or four of a small model, as each framework says it; nothing in them saves memory yet. */
export const WHOLE_RUNS: Readonly<Record<string, WholeRun>> = {
  "torchtitan in four": {
    main: "job.toml",
    text: '[model]\nname = "qwen3"\nflavor = "0.6B"\n[training]\nlocal_batch_size = 8\nglobal_batch_size = 64\nseq_len = 2048\n[activation_checkpoint]\nmode = "none"\n[parallelism]\ndata_parallel_shard_degree = -1\n',
    count: 4,
  },
  torchtune: {
    main: "recipe.yaml",
    text: "model:\n  _component_: torchtune.models.qwen2_5.qwen2_5_0_5b\ntokenizer:\n  max_seq_len: 1024\nbatch_size: 8\ngradient_accumulation_steps: 2\noptimizer:\n  _component_: torch.optim.AdamW\n  fused: True\nloss:\n  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss\ndtype: bf16\nenable_activation_checkpointing: False\nenable_activation_offloading: False\ncompile: False\n",
    count: 1,
  },
  litgpt: {
    main: "litgpt.yaml",
    text: "checkpoint_dir: checkpoints/EleutherAI/pythia-160m\nout_dir: out\nprecision: bf16-true\ndevices: 1\ntrain:\n  micro_batch_size: 8\n  global_batch_size: 16\n  max_seq_length: 1024\n",
    count: 1,
  },
  "Megatron-LM": {
    main: "train.sh",
    text: "torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 12 --hidden-size 768 --num-attention-heads 12 --ffn-hidden-size 3072 --swiglu --normalization RMSNorm --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 8 --global-batch-size 64 --vocab-size 50304 --bf16 --train-iters 10 --tensor-model-parallel-size 1\n",
    count: 4,
  },
  "Megatron-LM, split already": {
    main: "train.sh",
    text: "torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 12 --hidden-size 768 --num-attention-heads 12 --ffn-hidden-size 3072 --swiglu --normalization RMSNorm --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 8 --global-batch-size 64 --vocab-size 50304 --bf16 --train-iters 10 --tensor-model-parallel-size 4\n",
    count: 4,
  },
  NeMo: {
    main: "bridge.py",
    text: "from megatron.bridge.recipes.qwen import qwen25_500m_pretrain_config\nfrom megatron.bridge.training.pretrain import pretrain\ncfg = qwen25_500m_pretrain_config()\ncfg.train.micro_batch_size = 8\ncfg.train.global_batch_size = 64\ncfg.model.seq_length = 1024\ncfg.model.tensor_model_parallel_size = 1\npretrain(cfg, None)\n",
    beside: { ".vramlens.yaml": 'runs:\n  - match: "bridge.py"\n    model: Qwen/Qwen2.5-0.5B\n' },
    count: 4,
  },
  nanotron: {
    main: "nanotron.yaml",
    text: "general:\n  run: tiny\nparallelism:\n  dp: 4\n  tp: 1\n  pp: 1\ntokens:\n  micro_batch_size: 8\n  sequence_length: 1024\n  batch_accumulation_per_replica: 2\nmodel:\n  dtype: bfloat16\n  model_config:\n    is_llama_config: true\n    hidden_size: 512\n    intermediate_size: 1024\n    num_hidden_layers: 8\n    num_attention_heads: 8\n    num_key_value_heads: 4\n    vocab_size: 32000\n    tie_word_embeddings: true\noptimizer:\n  accumulate_grad_in_fp32: true\n  zero_stage: 0\n  optimizer_factory:\n    name: adamW\n    torch_adam_is_fused: true\n",
    count: 4,
  },
  "gpt-neox": {
    main: "neox.yml",
    text: '{\n  "pipe_parallel_size": 1,\n  "model_parallel_size": 1,\n  "num_layers": 8,\n  "hidden_size": 512,\n  "num_attention_heads": 8,\n  "seq_length": 1024,\n  "max_position_embeddings": 1024,\n  "train_micro_batch_size_per_gpu": 8,\n  "gradient_accumulation_steps": 2,\n  "zero_optimization": { "stage": 0 },\n  "fp16": { "enabled": true },\n  "checkpoint_activations": false,\n  "num_gpus": 4\n}\n',
    count: 4,
  },
  "a program of the Trainer": {
    main: "train.py",
    text: 'from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained("./model")\nargs = TrainingArguments(\n    output_dir="out",\n    per_device_train_batch_size=16,\n    gradient_accumulation_steps=2,\n    optim="adamw_torch",\n)\nTrainer(model=model, args=args).train()\n',
    count: 1,
  },
  "a command of the Trainer": {
    main: "train.sh",
    text: "torchrun --nproc_per_node 4 run_clm.py --model_name_or_path ./model --do_train --output_dir out --block_size 1024 --per_device_train_batch_size 16 --gradient_accumulation_steps 2 --optim adamw_torch\n",
    count: 4,
  },
  "ms-swift's Megatron": {
    main: "swift.sh",
    text: "NPROC_PER_NODE=4 megatron sft --model Qwen/Qwen2.5-0.5B --dataset d --max_length 1024 --micro_batch_size 8 --global_batch_size 64 --tensor_model_parallel_size 1\n",
    count: 4,
  },
  "LLM Foundry": {
    main: "foundry.yaml",
    text: "max_seq_len: 1024\nmodel:\n  name: hf_causal_lm\n  pretrained_model_name_or_path: Qwen/Qwen2.5-0.5B\nglobal_train_batch_size: 32\ndevice_train_microbatch_size: 8\nprecision: amp_bf16\noptimizer:\n  name: decoupled_adamw\ntrain_loader:\n  name: text\n",
    count: 1,
  },
  "accelerate with FSDP": {
    main: "train.yaml",
    text: TRAINER,
    beside: {
      "run.sh": LAUNCH,
      "launch.yaml":
        "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_reshard_after_forward: false\n  fsdp_offload_params: false\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 4\n",
    },
    count: 4,
  },
  "accelerate with DeepSpeed": {
    main: "train.yaml",
    text: TRAINER,
    beside: {
      "run.sh": LAUNCH,
      "launch.yaml":
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 1\n  offload_optimizer_device: none\n  offload_param_device: none\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 4\n",
    },
    count: 4,
  },
  axolotl: {
    main: "axolotl.yaml",
    text: "base_model: ./model\nmicro_batch_size: 16\ngradient_accumulation_steps: 2\nsequence_len: 1024\noptimizer: adamw_torch\nbf16: true\ndatasets:\n  - path: d\n    type: alpaca\n",
    count: 1,
  },
  "LLaMA-Factory": {
    main: "factory.yaml",
    text: "model_name_or_path: ./model\nstage: sft\ndo_train: true\nfinetuning_type: full\ntemplate: llama3\ndataset: d\ncutoff_len: 1024\nper_device_train_batch_size: 16\ngradient_accumulation_steps: 2\noutput_dir: out\nbf16: true\n",
    count: 1,
  },
};
