// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the samples are shell text
/** Documents as people write them, to which a case adds what went wrong. */

/** A case: what somebody wrote and why, in files of a workspace. */
export interface Case {
  /** How it comes about, for the page. */
  readonly story: string;
  readonly files: Readonly<Record<string, string>>;
  /** The document that is open; the first file when not said. */
  readonly main?: string;
  /** The finding has a fix that mends it. */
  readonly fixed?: true;
  /** The finding needs an estimate; the others are quicker without. */
  readonly estimated?: true;
}

type Json = { readonly [key: string]: Json | string | number | boolean | null };

/** A YAML with some lines put in the place of those of the same key, or at its end; `!key` takes one away. */
export function over(base: string, ...lines: readonly string[]): string {
  return lines.reduce((text, line) => {
    const key = /^!?([\w.]+)/.exec(line)?.[1] ?? "";
    const old = new RegExp(`^${key}:.*\n(?:[ -].*\n)*`, "m");
    const now = line.startsWith("!") ? "" : `${line}\n`;
    return old.test(text) ? text.replace(old, now) : text + now;
  }, base);
}

function merged(base: Json, patch: Json): Json {
  const result: Record<string, Json[string]> = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    const old = result[key];
    if (value === null) delete result[key];
    else
      result[key] = typeof value === "object" && typeof old === "object" && old !== null ? merged(old, value) : value;
  }
  return result;
}

/** SFT by TRL's command line: `trl sft --config train.yaml`. */
const SFT =
  "model_name_or_path: Qwen/Qwen2.5-0.5B\ndataset_name: trl-lib/Capybara\ndtype: bfloat16\nmax_length: 1024\nlearning_rate: 2.0e-5\nnum_train_epochs: 1\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\ngradient_checkpointing: true\nlr_scheduler_type: cosine\nwarmup_steps: 100\nlogging_steps: 10\nsave_strategy: epoch\nbf16: true\nreport_to: none\noutput_dir: runs/capybara\n";

/** Arguments for a training script of one's own, read by HfArgumentParser. */
const ARGUMENTS =
  "output_dir: runs/classifier\nper_device_train_batch_size: 8\ngradient_accumulation_steps: 2\nlearning_rate: 5.0e-5\nnum_train_epochs: 3\nweight_decay: 0.01\nlr_scheduler_type: linear\nlogging_steps: 50\nsave_strategy: epoch\nseed: 42\nbf16: true\n";

/** The ZeRO file of the transformers documentation, everything left to the trainer. */
const ZERO: Json = {
  bf16: { enabled: "auto" },
  zero_optimization: {
    stage: 2,
    overlap_comm: true,
    contiguous_gradients: true,
    reduce_bucket_size: "auto",
    allgather_partitions: true,
  },
  gradient_clipping: "auto",
  train_batch_size: "auto",
  train_micro_batch_size_per_gpu: "auto",
  gradient_accumulation_steps: "auto",
  steps_per_print: 2000,
};

/** A DeepSpeed file of a script without the Trainer: nothing is left open. */
const PLAIN: Json = {
  train_micro_batch_size_per_gpu: 4,
  gradient_accumulation_steps: 2,
  optimizer: { type: "AdamW", params: { lr: 2e-5, betas: [0.9, 0.95] as unknown as string, weight_decay: 0.1 } },
  bf16: { enabled: true },
  zero_optimization: { stage: 1, contiguous_gradients: true },
  gradient_clipping: 1,
  wall_clock_breakdown: false,
};

const AXOLOTL =
  "base_model: NousResearch/Llama-3.2-1B\ndatasets:\n  - path: teknium/GPT4-LLM-Cleaned\n    type: alpaca\nval_set_size: 0.1\noutput_dir: ./outputs/out\nadapter: lora\nsequence_len: 2048\nsample_packing: false\nlora_r: 16\nlora_alpha: 32\nlora_target_linear: true\ngradient_accumulation_steps: 2\nmicro_batch_size: 2\nnum_epochs: 1\noptimizer: adamw_torch_fused\nlr_scheduler: cosine\nlearning_rate: 0.0002\nbf16: auto\ngradient_checkpointing: true\nlogging_steps: 1\nflash_attention: true\n";

const FACTORY =
  "model_name_or_path: Qwen/Qwen2.5-0.5B\nstage: sft\ndo_train: true\nfinetuning_type: full\ndataset: identity,alpaca_en_demo\ntemplate: qwen\ncutoff_len: 2048\noutput_dir: saves/qwen/sft\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 2\nlearning_rate: 1.0e-5\nnum_train_epochs: 3.0\nlr_scheduler_type: cosine\nwarmup_ratio: 0.1\nbf16: true\n";

const ACCELERATE =
  "compute_environment: LOCAL_MACHINE\ndebug: false\ndistributed_type: FSDP\ndowncast_bf16: 'no'\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_offload_params: false\n  fsdp_state_dict_type: SHARDED_STATE_DICT\nmachine_rank: 0\nmain_training_function: main\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\nrdzv_backend: static\nsame_network: true\nuse_cpu: false\n";

const TORCHTUNE =
  "tokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  path: /tmp/Llama-3.2-1B/original/tokenizer.model\nmodel:\n  _component_: torchtune.models.llama3_2.llama3_2_1b\ndataset:\n  _component_: torchtune.datasets.alpaca_dataset\nseed: null\nshuffle: True\nbatch_size: 4\nepochs: 1\noptimizer:\n  _component_: bitsandbytes.optim.PagedAdamW8bit\n  lr: 2e-5\nloss:\n  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss\ngradient_accumulation_steps: 8\noptimizer_in_bwd: False\nenable_activation_checkpointing: True\nenable_activation_offloading: False\ndtype: bf16\n";

const MEGATRON =
  "#!/bin/bash\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n\nGPT_MODEL_ARGS=(\n    --num-layers 12\n    --hidden-size 512\n    --num-attention-heads 8\n    --seq-length 1024\n    --max-position-embeddings 1024\n)\n\nTRAINING_ARGS=(\n    --micro-batch-size 4\n    --global-batch-size 64\n    --train-iters 500000\n    --lr 6.0e-5\n    --bf16\n    EXTRA\n)\n\nMODEL_PARALLEL_ARGS=(\n    --tensor-model-parallel-size 1\n    --pipeline-model-parallel-size 2\n)\n\ntorchrun --nproc_per_node 8 pretrain_gpt.py ${GPT_MODEL_ARGS[@]} ${TRAINING_ARGS[@]} ${MODEL_PARALLEL_ARGS[@]}\n";

const YOLO =
  "task: detect\nmode: train\nmodel: yolo11n.pt\ndata: coco128.yaml\nepochs: 100\nbatch: 16\nimgsz: 640\ndevice: null\nworkers: 8\noptimizer: auto\namp: true\n";

const VERL =
  "set -x\n\npython3 -m verl.trainer.main_ppo \\\n    algorithm.adv_estimator=grpo \\\n    data.train_batch_size=256 \\\n    data.max_prompt_length=512 \\\n    data.max_response_length=1024 \\\n    actor_rollout_ref.model.path=Qwen/Qwen2.5-0.5B \\\n    actor_rollout_ref.actor.ppo_mini_batch_size=64 \\\n    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8 \\\n    EXTRA \\\n    trainer.n_gpus_per_node=8 \\\n    trainer.nnodes=1 $@\n";

/** Lines of `.vramlens.yaml` for every config of the workspace. */
export const pins = (...lines: readonly string[]): Readonly<Record<string, string>> => ({
  ".vramlens.yaml": `runs:\n  - match: "*"\n${lines.map((line) => `    ${line}\n`).join("")}`,
});

export const sft = (...lines: readonly string[]): Readonly<Record<string, string>> => ({
  "train.yaml": over(SFT, ...lines),
});
/** Arguments of a script, whose model is pinned. */
export const script = (lines: readonly string[], ...pinned: readonly string[]): Readonly<Record<string, string>> => ({
  "train.yaml": over(ARGUMENTS, ...lines),
  ...pins("model: Qwen/Qwen2.5-0.5B", ...pinned),
});
/** The file of a run under the Trainer. */
export const zero = (patch: Json = {}): Readonly<Record<string, string>> => ({
  "ds_config.json": `${JSON.stringify(merged(ZERO, patch), null, 2)}\n`,
});
/** The file alone. */
export const plain = (patch: Json = {}): Readonly<Record<string, string>> => ({
  "ds_config.json": `${JSON.stringify(merged(PLAIN, patch), null, 2)}\n`,
});
export const axolotl = (...lines: readonly string[]): Readonly<Record<string, string>> => ({
  "config.yml": over(AXOLOTL, ...lines),
});
export const factory = (...lines: readonly string[]): Readonly<Record<string, string>> => ({
  "sft.yaml": over(FACTORY, ...lines),
});
export const accelerate = (...lines: readonly string[]): Readonly<Record<string, string>> => ({
  "accelerate.yaml": over(ACCELERATE, ...lines),
});
export const torchtune = (...lines: readonly string[]): Readonly<Record<string, string>> => ({
  "recipe.yaml": over(TORCHTUNE, ...lines),
});
export const megatron = (extra: string, text = MEGATRON): Readonly<Record<string, string>> => ({
  "pretrain.sh": text.replace("EXTRA", extra),
});
export const megatronOf = (from: string, to: string): Readonly<Record<string, string>> =>
  megatron("--distributed-backend nccl", MEGATRON.replace(from, to));
export const yolo = (...lines: readonly string[]): Readonly<Record<string, string>> => ({
  "args.yaml": over(YOLO, ...lines),
});
export const verl = (extra: string): Readonly<Record<string, string>> => ({ "run.sh": VERL.replace("EXTRA", extra) });
