/** TRL's ModelConfig, SFTConfig, DPOConfig, GRPOConfig and the other trainers, beyond TrainingArguments (TRL 1.x). */
import { memory, onlyWhenOn, other } from "../effects";
import type { KeySpec } from "../types";

export const TRL_KEYS: readonly KeySpec[] = [
  memory("max_length", "sequence_length", "integer", "max_length", { default: 1024, min: 1, nullable: true }),
  memory("max_prompt_length", "max_prompt_length", "integer", "max_prompt_length", { min: 1, nullable: true }),
  memory("max_completion_length", "max_completion_length", "integer", "max_completion_length", {
    min: 1,
    nullable: true,
  }),
  memory("packing", "packing", "boolean", "trl.packing", { default: false }),
  memory("padding_free", "padding_free", "boolean", "padding_free", { default: false }),
  other("packing_strategy", null, "string", "packing_strategy"),
  memory("pad_to_multiple_of", "pad_to_multiple_of", "integer", "pad_to_multiple_of", { nullable: true, min: 1 }),
  other("eval_packing", null, "boolean", "eval_packing"),
  memory("activation_offloading", "offload_activations", "boolean", "offload-activations", { default: false }),
  memory("loss_type", "loss_type", "any", "loss_type"),
  memory("model_init_kwargs", "model_init_kwargs", "map", "model_init_kwargs"),
  memory("model_init_kwargs.torch_dtype", "load_dtype", "string", "torch_dtype", {
    aliases: ["model_init_kwargs.dtype"],
  }),
  memory("model_init_kwargs.attn_implementation", "attention", "string", "model_init_kwargs.attn_implementation"),
  // open-instruct's names (open_instruct/finetune.py, `FlatArguments`).
  memory("use_peft", "use_peft", "boolean", "use_peft", { default: false, aliases: ["use_lora"] }),
  memory("use_qlora", "load_in_4bit", "boolean", "quantization", {
    also: [{ name: "adapter", means: onlyWhenOn("lora"), only: true }],
  }),
  memory("lora_r", "lora_rank", "integer", "lora_r", { default: 16, min: 1, aliases: ["lora_rank"] }),
  memory("lora_alpha", "lora_alpha", "number", "lora_alpha", { default: 32 }),
  memory("lora_dropout", "lora_dropout", "number", "lora_dropout", { default: 0.05, min: 0, max: 1 }),
  memory("lora_target_modules", "lora_target_modules", "list", "targets"),
  memory("lora_target_parameters", "adapter_target_parameters", "any", "lora_target_parameters"),
  memory("lora_modules_to_save", "lora_modules_to_save", "list", "to-save"),
  other("lora_task_type", null, "string", "lora_task_type"),
  memory("use_rslora", "use_rslora", "boolean", "use_rslora", { default: false }),
  memory("use_dora", "use_dora", "boolean", "use_dora", { default: false }),
  memory("load_in_4bit", "load_in_4bit", "boolean", "load_in_4bit", { default: false }),
  memory("load_in_8bit", "load_in_8bit", "boolean", "load_in_8bit", { default: false }),
  memory("bnb_4bit_quant_type", "bnb_4bit_quant_type", "enum", "bnb_4bit_quant_type", {
    default: "nf4",
    values: ["nf4", "fp4"],
  }),
  memory("use_bnb_nested_quant", "double_quantization", "boolean", "use_bnb_nested_quant", { default: false }),
  memory("bnb_4bit_quant_storage", "bnb_4bit_quant_storage", "string", "bnb_4bit_quant_storage"),
  memory("beta", "beta", "number", "beta", {}),
  memory("precompute_ref_log_probs", "precompute_ref_log_probs", "boolean", "precompute_ref_log_probs", {
    default: false,
  }),
  memory("disable_dropout", "disable_dropout", "boolean", "disable_dropout", {}),
  memory("cast_lm_head_to_fp32", "head_in_float32", "boolean", "cast_lm_head_to_fp32", { default: false }),
  memory("center_rewards_coefficient", "center_rewards_coefficient", "number", "center_rewards_coefficient"),
  memory("rpo_alpha", "rpo_alpha", "number", "rpo_alpha"),
  memory("use_weighting", "use_weighting", "boolean", "use_weighting", { default: false }),
  other("cpo_alpha", "cpo_alpha", "number", "cpo_alpha", { default: 1 }),
  other("precompute_ref_batch_size", null, "integer", "precompute_ref_batch_size", { nullable: true, min: 1 }),
  memory("ref_model", "ref_model", "string", "ref_model"),
  other("sync_ref_model", null, "boolean", "sync_ref_model", { default: false }),
  memory("num_generations", "num_generations", "integer", "num_generations", { min: 1 }),
  memory("generation_batch_size", "generation_batch_size", "integer", "generation_batch_size", {
    nullable: true,
    min: 1,
  }),
  memory("steps_per_generation", "steps_per_generation", "integer", "steps_per_generation", { nullable: true, min: 1 }),
  other("num_iterations", "num_iterations", "integer", "num_iterations", { default: 1, min: 1 }),
  other("importance_sampling_level", "importance_sampling_level", "string", "importance_sampling_level", {
    default: "token",
  }),
  other(
    "vllm_importance_sampling_correction",
    "vllm_importance_sampling_correction",
    "boolean",
    "vllm_importance_sampling_correction",
    { default: true },
  ),
  memory("ds3_gather_for_generation", "ds3_gather_for_generation", "boolean", "ds3_gather_for_generation", {
    default: true,
  }),
  memory("cache_implementation", "cache_implementation", "string", "cache_implementation"),
  memory(
    "use_transformers_continuous_batching",
    "use_transformers_continuous_batching",
    "boolean",
    "use_transformers_continuous_batching",
    { default: false },
  ),
  memory("use_transformers_paged", "use_transformers_paged", "boolean", "use_transformers_paged", { default: false }),
  memory("transformers_continuous_batching_config", null, "map", "transformers_continuous_batching_config"),
  ...(["block_size", "num_blocks", "max_batch_tokens", "max_memory_percent"] as const).map((name) =>
    memory(
      `transformers_continuous_batching_config.${name}`,
      `paged_${name}`,
      "number",
      "transformers_continuous_batching_config.block_size",
      { nullable: true },
    ),
  ),
  memory("use_vllm", "use_vllm", "boolean", "use_vllm", { default: false }),
  memory("vllm_mode", "vllm_mode", "enum", "vllm_mode", { default: "colocate", values: ["colocate", "server"] }),
  memory("vllm_gpu_memory_utilization", "vllm_gpu_memory_utilization", "number", "vllm_gpu_memory_utilization", {
    default: 0.3,
    min: 0,
    max: 1,
  }),
  memory("vllm_enable_sleep_mode", "vllm_enable_sleep_mode", "boolean", "vllm_enable_sleep_mode", { default: false }),
  memory("reward_model_path", "reward_model", "string", "reward_model_path"),
  memory("sft_model_path", "model", "string", "sft_model_path"),
  memory(
    "local_rollout_forward_batch_size",
    "local_rollout_forward_batch_size",
    "integer",
    "local_rollout_forward_batch_size",
    { min: 1 },
  ),
  memory("num_mini_batches", "num_mini_batches", "integer", "num_mini_batches", { min: 1 }),
  memory("num_ppo_epochs", "num_ppo_epochs", "integer", "num_ppo_epochs", { min: 1 }),
  memory("response_length", "response_length", "integer", "response_length", { min: 1 }),
  memory("teacher_model_name_or_path", "teacher_model", "string", "teacher_model_name_or_path"),
  memory("max_new_tokens", "max_new_tokens", "integer", "max_new_tokens", { min: 1 }),
  memory("lmbda", "lmbda", "number", "lmbda", { min: 0, max: 1 }),
];

/** Other keys of TRL scripts and the alignment handbook. */
export const OTHER_TRL_KEYS: readonly string[] = (
  "use_lora use_qlora loss_top_k beta1 beta2 dataset_name dataset_config dataset_train_split dataset_test_split dataset_mixture dataset_mixer dataset_splits " +
  "dataset_configs dataset_num_proc dataset_text_field dataset_kwargs dataset_streaming datasets test_split_size " +
  "streaming chat_template " +
  "chat_template_path system_prompt auto_insert_empty_system_msg preprocessing_num_workers model_revision " +
  "tokenizer_name_or_path truncation_side eos_token pad_token completion_only_loss assistant_only_loss " +
  "label_pad_token_id padding_value truncation_mode label_smoothing " +
  "reference_free desirable_weight undesirable_weight loss_weights f_divergence_type ld_alpha " +
  "temperature top_p top_k min_p repetition_penalty epsilon epsilon_high delta scale_rewards " +
  "reward_weights reward_funcs mask_truncated_completions log_completions vllm_server_host vllm_server_port " +
  "vllm_server_timeout vllm_tensor_parallel_size vllm_max_model_length " +
  "remove_unused_columns seq_kd cliprange vf_coef gamma lam kl_coef whiten_rewards " +
  "reward_adapter total_episodes stop_token " +
  "missing_eos_penalty ignore_bias_buffers bos_token unsloth use_unsloth benchmarks callbacks " +
  "hub_model_revision overwrite_hub_revision push_to_hub_revision wandb_entity wandb_project wandb_run_group"
).split(" ");

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
