/** TRL's ModelConfig, SFTConfig, DPOConfig, GRPOConfig and the other trainers, beyond TrainingArguments (TRL 1.x). */
import { memory, onlyWhenOn } from "../effects";
import { rowsOver } from "../fields";
import type { KeySpec } from "../types";
import captured from "./fields.json";

const own = rowsOver(captured.fields);

export const TRL_KEYS: readonly KeySpec[] = [
  own.memory("max_length", "sequence_length", { default: 1024 }),
  own.memory("max_prompt_length", { min: 1 }),
  own.memory("max_completion_length", { min: 1 }),
  own.memory("packing", "packing", "trl.packing"),
  own.memory("padding_free"),
  own.other("packing_strategy", null),
  own.memory("pad_to_multiple_of", { type: "integer", auto: true }),
  own.other("eval_packing", null),
  own.memory("activation_offloading", "offload_activations", "offload-activations"),
  own.memory("loss_type", { type: "any" }),
  own.memory("model_init_kwargs"),
  memory("model_init_kwargs.torch_dtype", "load_dtype", { aliases: ["model_init_kwargs.dtype"] }),
  memory("model_init_kwargs.attn_implementation", "attention", "model_init_kwargs.attn_implementation"),
  // open-instruct's names (open_instruct/finetune.py, `FlatArguments`).
  own.memory("use_peft", { aliases: ["use_lora"] }),
  memory("use_qlora", "load_in_4bit", "quantization", {
    also: [{ name: "adapter", means: onlyWhenOn("lora"), only: true }],
  }),
  own.memory("lora_r", "lora_rank", { min: 1, aliases: ["lora_rank"] }),
  own.memory("lora_alpha", { type: "number" }),
  own.memory("lora_dropout", { max: 1 }),
  own.memory("lora_target_modules", "lora_target_modules", "targets"),
  own.memory("lora_target_parameters", "adapter_target_parameters", { type: "any" }),
  own.memory("lora_modules_to_save", "lora_modules_to_save", "to-save"),
  own.other("lora_task_type", null),
  own.memory("use_rslora"),
  own.memory("use_dora"),
  own.memory("load_in_4bit"),
  own.memory("load_in_8bit"),
  own.memory("bnb_4bit_quant_type", { values: ["nf4", "fp4"] }),
  own.memory("use_bnb_nested_quant", "double_quantization"),
  own.memory("bnb_4bit_quant_storage"),
  own.memory("beta"),
  own.memory("precompute_ref_log_probs"),
  own.memory("disable_dropout"),
  own.memory("cast_lm_head_to_fp32", "head_in_float32"),
  own.memory("center_rewards_coefficient"),
  own.memory("rpo_alpha"),
  own.memory("use_weighting"),
  own.memory("cpo_alpha"),
  own.other("precompute_ref_batch_size", null, { min: 1 }),
  memory("ref_model", "ref_model"),
  own.other("sync_ref_model", null),
  own.memory("num_generations"),
  own.memory("generation_batch_size"),
  own.memory("steps_per_generation"),
  own.memory("num_iterations"),
  own.other("importance_sampling_level"),
  own.other("vllm_importance_sampling_correction"),
  own.memory("vllm_tensor_parallel_size", "vllm_tensor_parallel_size", "engine-tensor"),
  own.memory("ds3_gather_for_generation"),
  own.memory("cache_implementation"),
  own.memory("use_transformers_continuous_batching"),
  own.memory("use_transformers_paged"),
  own.memory("transformers_continuous_batching_config", null),
  ...(["block_size", "num_blocks", "max_batch_tokens", "max_memory_percent"] as const).map((name) =>
    memory(
      `transformers_continuous_batching_config.${name}`,
      `paged_${name}`,
      "number",
      "transformers_continuous_batching_config.block_size",
      { nullable: true },
    ),
  ),
  own.memory("use_vllm"),
  own.memory("vllm_mode", { values: ["colocate", "server"] }),
  own.memory("vllm_gpu_memory_utilization", { default: 0.3, min: 0, max: 1 }),
  own.memory("vllm_enable_sleep_mode"),
  own.memory("reward_model_path", "reward_model"),
  // The model of a PPO run alone.
  own.memory("sft_model_path", "model", { default: null }),
  own.memory("local_rollout_forward_batch_size"),
  own.memory("num_mini_batches"),
  own.memory("num_ppo_epochs"),
  own.memory("response_length"),
  own.memory("teacher_model_name_or_path", "teacher_model"),
  own.memory("max_new_tokens"),
  own.memory("lmbda"),
];

/** Arguments of TRL's trainers, and other keys of its scripts and of the alignment handbook. */
export const OTHER_TRL_KEYS: readonly string[] = [
  ...Object.keys(captured.fields),
  ...(
    "loss_top_k beta1 beta2 dataset_name dataset_config dataset_train_split dataset_test_split dataset_mixture dataset_mixer " +
    "dataset_splits dataset_configs dataset_streaming datasets test_split_size streaming chat_template system_prompt " +
    "auto_insert_empty_system_msg preprocessing_num_workers model_revision tokenizer_name_or_path truncation_side reward_funcs " +
    "reward_adapter ignore_bias_buffers bos_token unsloth use_unsloth benchmarks callbacks hub_model_revision " +
    "overwrite_hub_revision push_to_hub_revision wandb_entity wandb_project wandb_run_group"
  ).split(" "),
];

/** Keys that only one trainer of TRL has, and which one. */
export const TRAINER_MARKS: readonly { readonly trainer: string; readonly keys: readonly string[] }[] = [
  {
    trainer: "grpo",
    keys: ["num_generations", "reward_funcs", "use_vllm", "max_completion_length", "steps_per_generation"],
  },
  { trainer: "ppo", keys: ["num_ppo_epochs", "response_length", "reward_model_path", "kl_coef"] },
  { trainer: "gkd", keys: ["teacher_model_name_or_path", "lmbda", "seq_kd"] },
  { trainer: "kto", keys: ["desirable_weight", "undesirable_weight"] },
  // SimPO's own trainer (princeton-nlp/SimPO, scripts/simpo_config.py) before TRL had its loss in CPO.
  { trainer: "simpo", keys: ["gamma_beta_ratio"] },
  { trainer: "cpo", keys: ["cpo_alpha", "simpo_gamma"] },
  { trainer: "reward", keys: ["center_rewards_coefficient"] },
  {
    trainer: "dpo",
    keys: ["precompute_ref_log_probs", "reference_free", "rpo_alpha", "max_prompt_length", "beta", "sync_ref_model"],
  },
];
