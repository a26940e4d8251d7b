/** TRL's ModelConfig, SFTConfig, DPOConfig, GRPOConfig and the other trainers, beyond TrainingArguments (TRL 1.x). */
import { memory, other } from "../effects";
import type { KeySpec } from "../types";

export const TRL_KEYS: readonly KeySpec[] = [
  memory("max_length", "sequence_length", "integer", "Longest sequence in tokens; longer samples are truncated.", {
    default: 1024,
    min: 1,
    nullable: true,
  }),
  memory("max_prompt_length", "max_prompt_length", "integer", "Longest prompt in tokens.", {
    min: 1,
    nullable: true,
  }),
  memory("max_completion_length", "max_completion_length", "integer", "Longest completion in tokens.", {
    min: 1,
    nullable: true,
  }),
  memory("packing", "packing", "boolean", "Fills every sequence to the full length: no padding, the bound is met.", {
    default: false,
  }),
  memory("padding_free", "padding_free", "boolean", "Concatenates the batch instead of padding it.", {
    default: false,
  }),
  other("packing_strategy", null, "string", "How samples are packed.", { nullable: true }),
  memory("pad_to_multiple_of", "pad_to_multiple_of", "integer", "Lengths of batches are rounded up to it.", {
    nullable: true,
    min: 1,
  }),
  other("eval_packing", null, "boolean", "Packing in evaluation.", { nullable: true }),
  memory("activation_offloading", "offload_activations", "boolean", "Moves saved activations to host memory.", {
    default: false,
  }),
  memory("loss_type", "loss_type", "any", "Loss; the chunked kinds never hold all logits at once.", {
    nullable: true,
  }),
  memory("model_init_kwargs", "model_init_kwargs", "map", "Arguments of from_pretrained.", { nullable: true }),
  memory("model_init_kwargs.torch_dtype", "load_dtype", "string", "Dtype the weights are loaded in.", {
    aliases: ["model_init_kwargs.dtype"],
    nullable: true,
  }),
  memory("model_init_kwargs.attn_implementation", "attention", "string", "Attention kernel.", { nullable: true }),
  memory("use_peft", "use_peft", "boolean", "Trains LoRA adapters; the base model is frozen.", { default: false }),
  memory("lora_r", "lora_rank", "integer", "Rank of the LoRA matrices.", { default: 16, min: 1 }),
  memory("lora_alpha", "lora_alpha", "number", "Scale of the LoRA update: no memory.", { default: 32 }),
  memory("lora_dropout", "lora_dropout", "number", "Dropout before LoRA: saves a mask and a copy of the input.", {
    default: 0.05,
    min: 0,
    max: 1,
  }),
  memory("lora_target_modules", "lora_target_modules", "list", "Modules that get an adapter.", { nullable: true }),
  memory(
    "lora_target_parameters",
    "adapter_target_parameters",
    "any",
    "Parameters that get low-rank factors of their own: experts that are stored together.",
    { nullable: true },
  ),
  memory(
    "lora_modules_to_save",
    "lora_modules_to_save",
    "list",
    "Modules trained in full, as copies beside the frozen originals.",
    { nullable: true },
  ),
  other("lora_task_type", null, "string", "Task of the adapter.", { nullable: true }),
  memory("use_rslora", "use_rslora", "boolean", "Rank-stabilised scaling: no memory.", { default: false }),
  memory("use_dora", "use_dora", "boolean", "DoRA: a magnitude vector and larger activations per module.", {
    default: false,
  }),
  memory("load_in_4bit", "load_in_4bit", "boolean", "Keeps the frozen base in 4 bits.", { default: false }),
  memory("load_in_8bit", "load_in_8bit", "boolean", "Keeps the frozen base in 8 bits.", { default: false }),
  memory("bnb_4bit_quant_type", "bnb_4bit_quant_type", "enum", "4-bit number format.", {
    default: "nf4",
    values: ["nf4", "fp4"],
  }),
  memory("use_bnb_nested_quant", "double_quantization", "boolean", "Quantizes the scales too: 0.05 byte less.", {
    default: false,
  }),
  memory("bnb_4bit_quant_storage", "bnb_4bit_quant_storage", "string", "Dtype the 4-bit blocks are stored as.", {
    nullable: true,
  }),
  memory("beta", "beta", "number", "Weight of the KL term: 0 in GRPO means no reference model.", {}),
  memory(
    "precompute_ref_log_probs",
    "precompute_ref_log_probs",
    "boolean",
    "Computes the reference's log-probabilities once, so that the reference model is not kept.",
    { default: false },
  ),
  memory(
    "disable_dropout",
    "disable_dropout",
    "boolean",
    "Switches dropout off, adapters' included: preference trainers do unless told otherwise.",
    {},
  ),
  memory(
    "cast_lm_head_to_fp32",
    "head_in_float32",
    "boolean",
    "GRPO keeps the output head, with its gradient and states, in float32.",
    { default: false },
  ),
  memory(
    "center_rewards_coefficient",
    "center_rewards_coefficient",
    "number",
    "Pulls rewards towards zero: a few numbers per pair.",
    { nullable: true },
  ),
  memory(
    "rpo_alpha",
    "rpo_alpha",
    "number",
    "Weight of the chosen answers' likelihood: before TRL 0.29 the forward holds their logits once more.",
    {
      nullable: true,
    },
  ),
  memory("use_weighting", "use_weighting", "boolean", "Weighs the pairs by their likelihood: passes over all logits.", {
    default: false,
  }),
  other("cpo_alpha", "cpo_alpha", "number", "Weight of CPO's likelihood term: 0 leaves it out.", { default: 1 }),
  other("precompute_ref_batch_size", null, "integer", "Batch of that pass.", { nullable: true, min: 1 }),
  memory("ref_model", "ref_model", "string", "Reference model: a second copy on the GPU.", { nullable: true }),
  other("sync_ref_model", null, "boolean", "Keeps the reference in step with the model.", {
    default: false,
  }),
  memory("num_generations", "num_generations", "integer", "Completions per prompt: 8 in GRPO, 2 in RLOO.", {
    min: 1,
  }),
  memory("generation_batch_size", "generation_batch_size", "integer", "Completions generated at once.", {
    nullable: true,
    min: 1,
  }),
  memory("steps_per_generation", "steps_per_generation", "integer", "Steps that share one generation.", {
    nullable: true,
    min: 1,
  }),
  other("num_iterations", "num_iterations", "integer", "Passes over each generation.", { default: 1, min: 1 }),
  other(
    "importance_sampling_level",
    "importance_sampling_level",
    "string",
    "Ratios of a token, or one of the sequence (GSPO).",
    { default: "token" },
  ),
  other(
    "vllm_importance_sampling_correction",
    "vllm_importance_sampling_correction",
    "boolean",
    "Scores vLLM's completions with the policy before it learns from them.",
    { default: true },
  ),
  memory(
    "ds3_gather_for_generation",
    "ds3_gather_for_generation",
    "boolean",
    "Under ZeRO-3 the whole model is gathered on every GPU while it generates.",
    { default: true },
  ),
  memory(
    "cache_implementation",
    "cache_implementation",
    "string",
    "How the key-value cache is kept while transformers generates: growing, static, offloaded, quantized.",
    { nullable: true },
  ),
  memory(
    "use_transformers_continuous_batching",
    "use_transformers_continuous_batching",
    "boolean",
    "Generates in batches that change, over a paged key-value cache as large as the card has room for.",
    { default: false },
  ),
  memory(
    "use_transformers_paged",
    "use_transformers_paged",
    "boolean",
    "Old name of use_transformers_continuous_batching.",
    { default: false },
  ),
  memory("transformers_continuous_batching_config", null, "map", "Sizes of the paged key-value cache.", {
    nullable: true,
  }),
  ...(["block_size", "num_blocks", "max_batch_tokens", "max_memory_percent"] as const).map((name) =>
    memory(
      `transformers_continuous_batching_config.${name}`,
      `paged_${name}`,
      "number",
      "Size of the paged key-value cache.",
      { nullable: true },
    ),
  ),
  memory("use_vllm", "use_vllm", "boolean", "Generates with vLLM.", { default: false }),
  memory("vllm_mode", "vllm_mode", "enum", "vLLM on the training GPUs (colocate) or elsewhere (server).", {
    default: "colocate",
    values: ["colocate", "server"],
  }),
  memory(
    "vllm_gpu_memory_utilization",
    "vllm_gpu_memory_utilization",
    "number",
    "Share of the card vLLM takes before training starts.",
    { default: 0.3, min: 0, max: 1 },
  ),
  memory("vllm_enable_sleep_mode", "vllm_enable_sleep_mode", "boolean", "vLLM frees its memory while training.", {
    default: false,
  }),
  memory("reward_model_path", "reward_model", "string", "Reward model: another model on the GPU.", {
    nullable: true,
  }),
  memory("sft_model_path", "model", "string", "Policy that PPO's script trains.", { nullable: true }),
  memory(
    "local_rollout_forward_batch_size",
    "local_rollout_forward_batch_size",
    "integer",
    "Completions that PPO generates and scores at once.",
    { min: 1 },
  ),
  memory("num_mini_batches", "num_mini_batches", "integer", "Mini-batches each batch of PPO is split into.", {
    min: 1,
  }),
  memory("num_ppo_epochs", "num_ppo_epochs", "integer", "Passes over each batch of PPO.", { min: 1 }),
  memory("response_length", "response_length", "integer", "Tokens generated by PPO.", { min: 1 }),
  memory("teacher_model_name_or_path", "teacher_model", "string", "Teacher of GKD: another model on the GPU.", {
    nullable: true,
  }),
  memory("max_new_tokens", "max_new_tokens", "integer", "Tokens that the student generates for each prompt.", {
    min: 1,
  }),
  memory("lmbda", "lmbda", "number", "Share of the batches that the student generates itself.", { min: 0, max: 1 }),
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
  { trainer: "cpo", keys: ["cpo_alpha", "simpo_gamma"] },
  { trainer: "reward", keys: ["center_rewards_coefficient"] },
  {
    trainer: "dpo",
    keys: ["precompute_ref_log_probs", "reference_free", "rpo_alpha", "max_prompt_length", "beta", "sync_ref_model"],
  },
];
