/** Runs that give keys something to change which those of the attacks leave alone: several GPUs, adapters, offloading, trainers. */
import { ALL_SEEDS } from "../attack/format-seeds";
import type { Seed } from "../attack/seeds";
import { rowsOf } from "../rows";
import { type EffectRow, runsOf } from "./effect-runs";
import { TINY_LLAMA } from "./memory-runtime";

const LLAMA = { "model/config.json": JSON.stringify({ ...TINY_LLAMA, num_hidden_layers: 3 }) };
const MIXTRAL = {
  "model/config.json": JSON.stringify({
    ...TINY_LLAMA,
    model_type: "mixtral",
    architectures: ["MixtralForCausalLM"],
    num_local_experts: 4,
    num_experts_per_tok: 2,
  }),
};
const LLAVA = {
  "model/config.json": JSON.stringify({
    model_type: "llava",
    text_config: TINY_LLAMA,
    vision_config: {
      ...{ model_type: "clip_vision_model", hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2 },
      ...{ num_attention_heads: 4, image_size: 56, patch_size: 14 },
    },
  }),
};

/** One document on so many GPUs. */
function on(count: number, main: string, text: string, beside: Seed["files"] = LLAMA): Seed {
  const pins = `runs:\n  - match: "*"\n    sequence_length: 64\n    device: { name: RTX 4090, count: ${count} }\n`;
  return { main, files: { ...beside, ".vramlens.yaml": pins, [main]: text } };
}

/** One document on four GPUs, whose model a pin names. */
function named(main: string, text: string): Seed {
  const pins =
    'runs:\n  - match: "*"\n    model: Qwen/Qwen2.5-0.5B\n    sequence_length: 64\n    device: { name: RTX 4090, count: 4 }\n';
  return { main, files: { ".vramlens.yaml": pins, [main]: text } };
}

/** Further runs of a kind: what is added to a base, by name. */
function variants(
  name: string,
  base: (more: string) => Seed,
  more: Readonly<Record<string, string>>,
): Readonly<Record<string, Seed>> {
  return Object.fromEntries(Object.entries(more).map(([what, text]) => [`${name}, ${what}`, base(text)]));
}

const AXOLOTL =
  "base_model: ./model\nmicro_batch_size: 2\ngradient_accumulation_steps: 2\nsequence_len: 64\nbf16: true\ndatasets:\n  - path: d\n    type: alpaca\n";
const LORA_EXPERTS =
  "adapter: lora\nlora_r: 4\nlora_alpha: 4\nlora_target_modules: [q_proj]\nlora_target_parameters: [mlp.experts.gate_up_proj]\n";
const GRPO = "rl: grpo\ntrl:\n  beta: 0.1\n  use_vllm: true\n  vllm_mode: colocate\n  max_completion_length: 24\n";

const FOUNDRY =
  "max_seq_len: 64\nmodel:\n  name: hf_causal_lm\n  pretrained_model_name_or_path: ./model\nglobal_train_batch_size: 32\ndevice_train_microbatch_size: 2\nprecision: amp_bf16\noptimizer:\n  name: decoupled_adamw\ntrain_loader:\n  name: finetuning\n  dataset:\n    hf_name: d\n";

const neox = (zero: string) => (more: string) =>
  on(
    4,
    "neox.yml",
    `{\n  "pipe_parallel_size": 1,\n  "model_parallel_size": 1,\n  "num_layers": 4,\n  "hidden_size": 128,\n  "num_attention_heads": 8,\n  "seq_length": 64,\n  "max_position_embeddings": 64,\n  "train_micro_batch_size_per_gpu": 8,\n  "gradient_accumulation_steps": 2,\n  "optimizer": { "type": "Adam", "params": { "lr": 1e-4 } },\n  "zero_optimization": ${zero},\n${more}  "fp16": { "enabled": true },\n  "num_gpus": 4\n}\n`,
    {},
  );
const CPU = '{ "device": "cpu" }';

const launched = (launch: string): Seed =>
  on(4, "train.yaml", "output_dir: out\nmodel_name_or_path: ./model\nper_device_train_batch_size: 4\n", {
    ...LLAMA,
    "run.sh": "accelerate launch --config_file launch.yaml train.py train.yaml\n",
    "launch.yaml": `compute_environment: LOCAL_MACHINE\n${launch}`,
  });

const TITAN =
  '[model]\nname = "qwen3"\nflavor = "0.6B"\nconverters = ["float8"]\n[training]\nlocal_batch_size = 2\nseq_len = 64\n[activation_checkpoint]\nmode = "none"\n[parallelism]\ndata_parallel_shard_degree = -1\n';

const TUNE =
  "model:\n  _component_: torchtune.models.qwen2_5.qwen2_5_0_5b\ntokenizer:\n  max_seq_len: 512\nbatch_size: 8\ngradient_accumulation_steps: 1\noptimizer:\n  _component_: torch.optim.AdamW\ndtype: bf16\n";

const FACTORY =
  "model_name_or_path: ./model\nstage: sft\ndo_train: true\nlora_rank: 8\ntemplate: llama3\ndataset: d\ncutoff_len: 64\nper_device_train_batch_size: 2\noutput_dir: out\nbf16: true\n";
const TRL =
  "model_name_or_path: ./model\noutput_dir: out\nper_device_train_batch_size: 2\nmax_length: 64\nbf16: true\n";

const swift = (count: number, options: string, beside = LLAMA) =>
  on(
    count,
    "swift.sh",
    `NPROC_PER_NODE=${count} swift ${options} --model ./model --dataset d --per_device_train_batch_size 2 --max_length 64 --torch_dtype bfloat16\n`,
    beside,
  );
const megatronSwift = (options: string) =>
  on(
    4,
    "swift.sh",
    `NPROC_PER_NODE=4 megatron sft --model Qwen/Qwen2.5-0.5B --dataset d --max_length 64 --micro_batch_size 2 --global_batch_size 64 ${options}\n`,
    {},
  );
const SPLIT_EXPERTS =
  "torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 4 --hidden-size 256 --num-attention-heads 8 --ffn-hidden-size 512 --swiglu --normalization RMSNorm --seq-length 64 --max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 16 --vocab-size 50304 --bf16 --num-experts 8 --moe-router-topk 2 --tensor-model-parallel-size 2 --sequence-parallel --train-iters 10\n";

/** Both runs of settings that have some of their own. */
const OF_SETTINGS = Object.fromEntries(
  rowsOf<EffectRow>(__dirname, "effects.jsonl").flatMap((row): [string, Seed][] => {
    if ("seed" in row) return [];
    const [one, other, main] = runsOf(row);
    return [one, other].map((files, k) => [`${row.setting} ${k}`, { main, files }]);
  }),
);

export const KEY_SEEDS: Readonly<Record<string, Seed>> = {
  ...ALL_SEEDS,
  ...OF_SETTINGS,
  ...variants("axolotl in four", (more) => on(4, "axolotl.yaml", AXOLOTL + more), {
    FSDP: "fsdp:\n  - full_shard\nfsdp_config:\n  offload_params: false\n",
    "FSDP 1": "fsdp_version: 1\nfsdp:\n  - full_shard\nfsdp_config:\n  offload_params: false\n",
    "FSDP 2": "fsdp_version: 2\nfsdp_config:\n  offload_params: false\n",
    "FSDP 1 and LoRA":
      "fsdp_version: 1\nfsdp:\n  - full_shard\nfsdp_config:\n  offload_params: false\nadapter: lora\nlora_r: 8\n",
  }),
  ...variants("axolotl", (more) => on(1, "axolotl.yaml", AXOLOTL + more), {
    validation: "val_set_size: 0.1\n",
    GaLore: "optimizer: galore_adamw\n",
    GRPO,
    LoRA: "adapter: lora\nlora_r: 8\nlora_target_modules: [q_proj]\n",
    pruning:
      "plugins:\n  - axolotl.integrations.llm_compressor.LLMCompressorPlugin\nllmcompressor:\n  recipe:\n    finetuning_stage:\n      finetuning_modifiers:\n        ConstantPruningModifier:\n          start: 0\n",
  }),
  "axolotl, adapters of experts": on(1, "axolotl.yaml", AXOLOTL + LORA_EXPERTS, MIXTRAL),
  "axolotl, experts in 4 bits": on(
    1,
    "axolotl.yaml",
    `${AXOLOTL}adapter: qlora\nload_in_4bit: true\nlora_r: 4\nlora_target_modules: [q_proj]\nquantize_moe_experts: true\n`,
    MIXTRAL,
  ),
  "axolotl, LoRA beside experts": on(
    1,
    "axolotl.yaml",
    `${AXOLOTL}adapter: lora\nlora_r: 4\nlora_target_modules: [q_proj]\n`,
    MIXTRAL,
  ),
  ...variants("LLM Foundry in four", (more) => on(4, "foundry.yaml", FOUNDRY + more), {
    FSDP: "fsdp_config:\n  sharding_strategy: FULL_SHARD\n",
    "FSDP and checkpointing": "fsdp_config:\n  sharding_strategy: FULL_SHARD\n  activation_checkpointing: true\n",
  }),
  "gpt-neox in ZeRO-1": neox('{ "stage": 1 }')(""),
  "gpt-neox in ZeRO-2": neox(`{ "stage": 2, "offload_optimizer": ${CPU} }`)(""),
  "gpt-neox in ZeRO-3": neox('{ "stage": 3 }')(""),
  "gpt-neox in ZeRO-3, offloaded": neox(`{ "stage": 3, "offload_optimizer": ${CPU}, "offload_param": ${CPU} }`)(""),
  ...variants("accelerate in four", launched, {
    "several GPUs": "distributed_type: MULTI_GPU\nnum_processes: 4\n",
    "one process": "distributed_type: 'NO'\nnum_processes: 1\n",
    "8 bits": "distributed_type: MULTI_GPU\nnum_processes: 4\nmixed_precision: fp8\n",
    Megatron: "distributed_type: MEGATRON_LM\nnum_processes: 4\nmegatron_lm_config:\n  megatron_lm_tp_degree: 2\n",
    "FSDP 2": "distributed_type: FSDP\nnum_processes: 4\nfsdp_config:\n  fsdp_version: 2\n",
    "FSDP 2 in groups":
      "distributed_type: FSDP\nnum_processes: 4\nfsdp_config:\n  fsdp_version: 2\nparallelism_config:\n  parallelism_config_dp_replicate_size: 2\n  parallelism_config_dp_shard_size: 2\n",
    "context parallel":
      "distributed_type: FSDP\nnum_processes: 4\nfsdp_config:\n  fsdp_version: 2\nparallelism_config:\n  parallelism_config_cp_size: 4\n  parallelism_config_dp_shard_size: 1\n",
  }),
  "torchtitan, 8 bits in four": on(4, "job.toml", TITAN, {}),
  "torchtitan, stages": on(4, "job.toml", `${TITAN}pipeline_parallel_degree = 2\n`, {}),
  ...variants("torchtune in four", (more) => on(4, "tune.yaml", TUNE + more, {}), {
    plain: "",
    "every second layer": "ac_mode: selective\n",
    "8 bits": "enable_fp8_training: true\n",
  }),
  ...variants("LLaMA-Factory", (more) => on(1, "sft.yaml", FACTORY + more), {
    LoRA: "finetuning_type: lora\n",
    "4 bits": "finetuning_type: lora\nquantization_bit: 4\n",
    OFT: "finetuning_type: oft\n",
    full: "finetuning_type: full\n",
    GaLore: "finetuning_type: full\noptim: galore_adamw\n",
    BAdam: "finetuning_type: full\nuse_badam: true\n",
    PPO: "finetuning_type: lora\n",
  }),
  "LLaMA-Factory, adapters of experts": on(1, "sft.yaml", `${FACTORY}finetuning_type: lora\n`, MIXTRAL),
  "LLaMA-Factory in four, FSDP": on(4, "sft.yaml", `${FACTORY}finetuning_type: full\nfsdp: full_shard auto_wrap\n`),
  ...variants("TRL's file", (more) => on(4, "sft.yaml", TRL + more), {
    copies: "",
    "copies and checkpointing": "gradient_checkpointing: true\n",
    FSDP: "fsdp: full_shard auto_wrap\n",
    "ZeRO-3": "deepspeed: {zero_optimization: {stage: 3}, train_micro_batch_size_per_gpu: auto}\n",
    "context parallel": "parallelism_config: {cp_size: 4}\nfsdp: full_shard\n",
    GaLore: "optim: galore_adamw\noptim_target_modules: all-linear\n",
  }),
  ...variants("TRL's file on one card", (more) => on(1, "sft.yaml", TRL + more), {
    checkpointing: "gradient_checkpointing: true\n",
    evaluation: "eval_strategy: steps\nper_device_eval_batch_size: 64\n",
    "evaluation by a metric": "eval_strategy: steps\nmetric_for_best_model: accuracy\nper_device_eval_batch_size: 16\n",
    LoRA: "use_peft: true\nlora_r: 8\n",
    SGD: "optim: sgd\n",
  }),
  "TRL's file, adapters of experts": on(1, "sft.yaml", `${TRL}use_peft: true\nlora_r: 4\nlora_alpha: 4\n`, MIXTRAL),
  "TRL's file, adapters of experts' matrices": on(
    1,
    "sft.yaml",
    `${TRL}use_peft: true\nlora_r: 4\nlora_alpha: 4\nlora_target_modules: [q_proj]\nlora_target_parameters: [mlp.experts.gate_up_proj]\n`,
    MIXTRAL,
  ),
  "litgpt, LoRA": on(
    1,
    "litgpt.yaml",
    "checkpoint_dir: checkpoints/EleutherAI/pythia-160m\nout_dir: out\nprecision: bf16-true\nlora_r: 8\nlora_query: true\nlora_value: true\nlora_key: false\ntrain:\n  micro_batch_size: 4\n  global_batch_size: 8\n  max_seq_length: 64\n",
    {},
  ),
  ...variants("diffusers", (more) => on(1, "run.sh", more, {}), {
    LoRA: "accelerate launch train_text_to_image_lora.py --pretrained_model_name_or_path stable-diffusion-v1-5/stable-diffusion-v1-5 --resolution 512 --train_batch_size 2 --rank 4 --mixed_precision fp16\n",
    whole:
      "accelerate launch train_text_to_image.py --pretrained_model_name_or_path stable-diffusion-v1-5/stable-diffusion-v1-5 --resolution 512 --train_batch_size 2 --mixed_precision fp16\n",
    FLUX: "accelerate launch train_dreambooth_lora_flux.py --pretrained_model_name_or_path black-forest-labs/FLUX.1-dev --resolution 512 --train_batch_size 1 --rank 4 --mixed_precision bf16\n",
    DreamBooth:
      "accelerate launch train_dreambooth_lora_sdxl.py --pretrained_model_name_or_path stabilityai/stable-diffusion-xl-base-1.0 --resolution 512 --train_batch_size 2 --rank 4 --mixed_precision fp16\n",
  }),
  ...variants("sd-scripts", (more) => on(1, "run.sh", more, {}), {
    SDXL: "accelerate launch sdxl_train_network.py --pretrained_model_name_or_path a.safetensors --train_data_dir d --resolution 512,512 --network_module networks.lora --network_dim 8 --mixed_precision fp16\n",
    whole:
      "accelerate launch fine_tune.py --pretrained_model_name_or_path a.safetensors --train_data_dir d --in_json m.json --resolution 256 --xformers --mixed_precision bf16\n",
    FLUX: "accelerate launch flux_train_network.py --pretrained_model_name_or_path a.sft --train_data_dir d --ae ae.sft --resolution 512 --network_module networks.lora_flux --network_dim 4 --gradient_checkpointing --mixed_precision bf16\n",
  }),
  "gpt-neox, checkpointed": neox('{ "stage": 1 }')('  "checkpoint_activations": true,\n'),
  "gpt-neox, tensor parallel": {
    ...neox('{ "stage": 1 }')(""),
    files: {
      "neox.yml": neox('{ "stage": 1 }')("").files["neox.yml"]!.replace(
        '"model_parallel_size": 1',
        '"model_parallel_size": 2',
      ),
    },
  },
  ...variants("NeMo with a model", (more) => named("nemo.yaml", more), {
    "of a recipe":
      "model:\n  seq_length: 64\n  tensor_model_parallel_size: 1\ntrain:\n  train_iters: 10\n  micro_batch_size: 2\n  global_batch_size: 16\noptimizer:\n  optimizer: adam\nddp:\n  use_distributed_optimizer: true\n",
    "of NeMo 1":
      "trainer:\n  devices: 4\n  num_nodes: 1\n  precision: bf16\nmodel:\n  micro_batch_size: 2\n  global_batch_size: 16\n  tensor_model_parallel_size: 1\n  pipeline_model_parallel_size: 1\n  encoder_seq_length: 64\n  peft:\n    peft_scheme: lora\n  optim:\n    name: fused_adam\n",
  }),
  "Megatron-Bridge in a command": named(
    "bridge.sh",
    "python run_recipe.py --recipe qwen25_500m_pretrain_config model.tensor_model_parallel_size=1 train.train_iters=10 train.micro_batch_size=2 train.global_batch_size=16\n",
  ),
  "Megatron-LM, 8 bits": on(
    1,
    "train.sh",
    "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 4 --hidden-size 256 --num-attention-heads 8 --ffn-hidden-size 512 --max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 16 --vocab-size 50304 --bf16 --fp8-format hybrid --train-iters 10\n",
    {},
  ),
  "Megatron-LM, experts": on(4, "train.sh", SPLIT_EXPERTS, {}),
  "ms-swift's Megatron, experts": on(
    4,
    "swift.sh",
    "NPROC_PER_NODE=4 megatron sft --model ./model --dataset d --max_length 64 --micro_batch_size 2 --global_batch_size 64 --tensor_model_parallel_size 2\n",
    MIXTRAL,
  ),
  "EasyR1, LoRA": on(
    4,
    "easy.yaml",
    "data:\n  rollout_batch_size: 64\n  max_prompt_length: 32\n  max_response_length: 32\nalgorithm:\n  adv_estimator: grpo\nworker:\n  actor:\n    global_batch_size: 16\n    micro_batch_size_per_device_for_update: 2\n    model:\n      model_path: ./model\n      lora:\n        rank: 8\n  rollout:\n    n: 4\ntrainer:\n  n_gpus_per_node: 4\n",
  ),
  "ms-swift, full": swift(1, "sft --train_type full"),
  "ms-swift, GaLore": swift(1, "sft --train_type full --use_galore true"),
  "ms-swift, 4 bits": swift(1, "sft --train_type lora --quant_method bnb --quant_bits 4"),
  "ms-swift, 4 bits in four": swift(4, "sft --train_type lora --quant_method bnb --quant_bits 4 --fsdp full_shard"),
  "ms-swift, labels": swift(1, "sft --train_type full --task_type seq_cls"),
  "ms-swift, pictures": swift(1, "sft --train_type full", LLAVA),
  "ms-swift, ZeRO-3": swift(4, "sft --train_type full --deepspeed zero3"),
  "ms-swift, GRPO": swift(1, "rlhf --rlhf_type grpo --train_type lora --use_vllm true"),
  "ms-swift, GRPO with vLLM beside": swift(
    1,
    "rlhf --rlhf_type grpo --train_type lora --use_vllm true --vllm_mode colocate",
  ),
  "ms-swift, GRPO with vLLM asleep": swift(
    1,
    "rlhf --rlhf_type grpo --train_type full --use_vllm true --vllm_mode colocate --sleep_level 1",
  ),
  "ms-swift, adapters of experts": swift(1, "sft --train_type lora --target_modules q_proj", MIXTRAL),
  ...variants("ms-swift's Megatron", megatronSwift, {
    stages: "--tuner_type full --pipeline_model_parallel_size 2",
    plain: "",
    full: "--recompute_granularity full",
    blocks: "--recompute_granularity full --recompute_method block",
    modules: "--recompute_granularity selective",
  }),
};
