/**
 * OpenRLHF's flags.
 * Source: `openrlhf/cli/train_*.py`, `openrlhf/utils/deepspeed/deepspeed.py` of 0.8–0.9.
 */
import { table } from "../../terms/table";
import { memory, onlyWhenOn, PRECISION, touching } from "../effects";
import type { KeySpec } from "../types";

const KEYS: readonly KeySpec[] = [
  ...touching("devices", "ref.num_nodes critic.num_nodes reward.num_nodes"),
  ...touching("tokens", "train.max_tokens_per_gpu rollout.max_tokens_per_gpu train.dynamic_batch_enable"),
  ...touching("reference", "train.colocate_actor_ref train.colocate_critic_reward"),
  ...touching("engine-part", "vllm.enforce_eager"),
  ...touching("frozen", "actor.freeze_visual_encoder"),
  memory("pretrain", "model", "string", "model", { link: "model" }),
  memory("reward_pretrain", "reward_model", "string", "reward_model_path", {}),
  memory("critic_pretrain", "critic_model", "string"),
  memory("ref_pretrain", "ref_model", "string", "reference"),
  memory("micro_train_batch_size", "micro_batch_size", "integer", "micro-batch", { default: 4, min: 1 }),
  memory("train_batch_size", "global_batch_size", "integer", "global-batch", { default: 128, min: 1 }),
  memory("micro_rollout_batch_size", null, "integer", { min: 1 }),
  memory("rollout_batch_size", "rollout_batch_size", "integer", { min: 1 }),
  memory("max_len", "sequence_length", "integer", "sequence", { min: 1 }),
  memory("prompt_max_len", "max_prompt_length", "integer", "max_prompt_length", { default: 1024, min: 1 }),
  memory("generate_max_len", "max_completion_length", "integer", "max_completion_length", { default: 1024, min: 1 }),
  memory("n_samples_per_prompt", "num_generations", "integer", "generations", { default: 1, min: 1 }),
  memory("zero_stage", "zero_stage", "integer", "zero", { default: 2, min: 0, max: 3 }),
  memory("adam_offload", "offload_optimizer", "boolean", "offload-optimizer", {
    means: { true: "cpu", false: "none" },
  }),
  memory("zpg", "hpz_partition_size", "integer", "ms-swift.zero_hpz_partition_size", { min: 1 }),
  memory("overlap_comm", "overlap_comm", "boolean", "openrlhf.overlap_comm"),
  memory("grad_accum_dtype", "grad_accum_dtype", "string"),
  memory("bf16", "compute_dtype", "boolean", "compute", {
    means: onlyWhenOn("bf16"),
    also: [{ name: "load_dtype", means: onlyWhenOn("bfloat16"), only: true }],
  }),
  memory("param_dtype", "compute_dtype", "string", "compute", {
    means: PRECISION,
    also: [{ name: "load_dtype", means: { bf16: "bfloat16", fp16: "float16", fp32: "float32" }, only: true }],
  }),
  memory("gradient_checkpointing", "gradient_checkpointing", "boolean", "checkpointing"),
  memory(
    "gradient_checkpointing_use_reentrant",
    "use_reentrant",
    "boolean",
    "gradient_checkpointing_kwargs.use_reentrant",
  ),
  memory("attn_implementation", "attention", "string", "attention"),
  memory("flash_attn", null, "boolean", "attention", {
    also: [{ name: "attention", means: onlyWhenOn("flash_attention_2"), only: true }],
  }),
  memory("packing_samples", "packing", "boolean", "packing"),
  memory("lora_rank", "lora_rank", "integer", "rank", { default: 0, min: 0 }),
  memory("lora_alpha", "lora_alpha", "number", "alpha"),
  memory("lora_dropout", "lora_dropout", "number", "dropout", { min: 0, max: 1 }),
  memory("target_modules", "lora_target_modules", "any", "targets"),
  memory("load_in_4bit", "load_in_4bit", "boolean", "quantization"),
  memory("max_norm", "max_grad_norm", "number", "clipping", { default: 1.0, min: 0 }),
  memory("actor_num_gpus_per_node", "actor_gpus", "integer", "devices", { min: 1 }),
  memory("actor_num_nodes", "actor_nodes", "integer", "devices", { min: 1 }),
  memory("ref_num_gpus_per_node", null, "integer", "devices", { min: 1 }),
  memory("critic_num_gpus_per_node", null, "integer", "devices", { min: 1 }),
  memory("reward_num_gpus_per_node", null, "integer", "devices", { min: 1 }),
  memory("colocate_all_models", null, "boolean"),
  memory("colocate_actor_ref", null, "boolean"),
  memory("vllm_num_engines", null, "integer"),
  memory("vllm_tensor_parallel_size", null, "integer", "engine-tensor", { min: 1 }),
  memory("vllm_gpu_memory_utilization", "vllm_gpu_memory_utilization", "number", "vllm", { min: 0, max: 1 }),
  memory("vllm_enable_sleep", "vllm_enable_sleep_mode", "boolean", "vllm_enable_sleep_mode"),
  memory("deepspeed_enable_sleep", null, "boolean"),
  memory("ds_tensor_parallel_size", "tensor_parallel", "integer", "tensor", { min: 1 }),
  memory("ring_attn_size", "context_parallel", "integer", "context", { min: 1 }),
  memory("enable_ema", null, "boolean", "ema"),
];

/** The same options since flags are grouped by concern (`--train.micro_batch_size`). */
const GROUPED: Readonly<Record<string, readonly string[]>> = table({
  pretrain: ["model.model_name_or_path", "actor.model_name_or_path"],
  reward_pretrain: ["reward.model_name_or_path", "remote_rm_url"],
  critic_pretrain: ["critic.model_name_or_path"],
  ref_pretrain: ["ref.model_name_or_path"],
  micro_train_batch_size: ["train.micro_batch_size"],
  train_batch_size: ["train.batch_size"],
  micro_rollout_batch_size: ["rollout.micro_batch_size"],
  rollout_batch_size: ["rollout.batch_size"],
  max_len: ["max_length", "data.max_len"],
  prompt_max_len: ["data.prompt_max_len"],
  generate_max_len: ["rollout.max_new_tokens", "rollout.generate_max_len"],
  n_samples_per_prompt: ["rollout.n_samples_per_prompt"],
  zero_stage: ["ds.zero_stage"],
  adam_offload: ["ds.adam_offload"],
  zpg: ["ds.zpg"],
  overlap_comm: ["ds.overlap_comm"],
  grad_accum_dtype: ["ds.grad_accum_dtype"],
  param_dtype: ["ds.param_dtype"],
  gradient_checkpointing: ["model.gradient_checkpointing_enable", "actor.gradient_checkpointing_enable"],
  attn_implementation: ["ds.attn_implementation"],
  packing_samples: ["ds.packing_samples"],
  lora_rank: ["model.lora.rank", "actor.lora.rank", "ds.lora.rank", "model.lora_rank", "actor.lora_rank"],
  lora_alpha: ["model.lora.alpha", "actor.lora.alpha", "ds.lora.alpha"],
  load_in_4bit: ["ds.load_in_4bit"],
  max_norm: ["train.max_norm", "adam.max_norm", "actor.max_norm"],
  actor_num_gpus_per_node: ["actor.num_gpus_per_node"],
  actor_num_nodes: ["actor.num_nodes"],
  ref_num_gpus_per_node: ["ref.num_gpus_per_node"],
  critic_num_gpus_per_node: ["critic.num_gpus_per_node"],
  reward_num_gpus_per_node: ["reward.num_gpus_per_node"],
  colocate_all_models: ["train.colocate_all"],
  vllm_num_engines: ["vllm.num_engines"],
  vllm_tensor_parallel_size: ["vllm.tensor_parallel_size"],
  vllm_gpu_memory_utilization: ["vllm.gpu_memory_utilization"],
  vllm_enable_sleep: ["vllm.enable_sleep"],
  deepspeed_enable_sleep: ["ds.enable_sleep"],
  ds_tensor_parallel_size: ["ds.tensor_parallel_size"],
  ring_attn_size: ["ds.ring_attn_size"],
  enable_ema: ["train.enable_ema"],
});

export const OPENRLHF_KEYS: readonly KeySpec[] = KEYS.map((key) => {
  const aliases = GROUPED[key.key];
  return aliases === undefined ? key : { ...key, aliases };
});
