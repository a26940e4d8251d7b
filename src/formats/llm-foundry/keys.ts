/**
 * llm-foundry (Composer) YAML.
 * Source: `llmfoundry/utils/config_utils.py`, `llmfoundry/command_utils/train.py` at 8c8dd48, Composer's `composer/utils/parallelism.py` (FSDPConfig).
 */
import { SHARDING } from "../accelerate/keys";
import { harmless, memory, other, PRECISION, STORAGE, touching } from "../effects";
import type { KeySpec } from "../types";

export const LLM_FOUNDRY_KEYS: readonly KeySpec[] = [
  memory("max_seq_len", "sequence_length", "sequence", { aliases: ["variables.max_seq_len"] }),
  memory("global_train_batch_size", "global_batch_size", "global-batch"),
  memory("device_train_microbatch_size", "micro_batch_size", "number", { auto: true, min: 0 }),
  memory("device_train_batch_size", null, "number", { min: 0 }),
  memory("device_eval_batch_size", null, "number", "eval-batch", { min: 0 }),
  memory("precision", "compute_dtype", "string", "compute", {
    writes: { bf16: "amp_bf16", fp16: "amp_fp16", fp8: "amp_fp8" },
    means: PRECISION,
  }),
  memory("model", null, "any"),
  memory("model.name", "model_class", "model.name"),
  memory("model.pretrained_model_name_or_path", "model", "model", { link: "model" }),
  memory("model.d_model", "hidden_size", "width"),
  memory("model.n_layers", "num_layers", "layers"),
  memory("model.n_heads", "num_attention_heads", "heads"),
  memory("model.vocab_size", "vocab_size", "vocabulary"),
  memory("model.expansion_ratio", "expansion_ratio", "width", { min: 1 }),
  memory("model.attn_config", null, "map", "attention"),
  memory("model.attn_config.attn_impl", "attention", "attention", {
    means: { flash: "flash_attention_2", torch: "eager", triton: "flash_attention_2", flex: "flex_attention" },
  }),
  memory("model.config_overrides.attn_config.attn_impl", "attention", "attention", {
    means: { flash: "flash_attention_2", torch: "eager", triton: "flash_attention_2", flex: "flex_attention" },
  }),
  memory("model.attn_config.kv_n_heads", "num_query_groups", "heads"),
  memory("model.attn_config.clip_qkv", "clip_qkv", { min: 0 }),
  memory("model.attn_config.alibi", "alibi", { default: false }),
  memory("model.attn_config.rope", "rope", { default: false }),
  memory("model.learned_pos_emb", "learned_positions", "learned_positions", { default: true }),
  memory("model.no_bias", "no_bias", { default: false }),
  memory("model.norm_type", "norm_type"),
  memory("model.ffn_config.ffn_type", "ffn_type"),
  memory("model.tie_word_embeddings", "tied_embeddings", { default: true }),
  memory("model.loss_fn", "loss_kernel", "loss_kernel"),
  memory("model.max_seq_len", "max_position_embeddings", "learned_positions"),
  memory("model.use_flash_attention_2", null, "boolean", "attention", {
    also: [{ name: "attention", means: { true: "flash_attention_2" }, only: true }],
  }),
  memory("model.peft_config", null, "map", "adapter"),
  memory("model.peft_config.peft_type", "adapter", "string", "adapter", { means: { LORA: "lora" } }),
  memory("model.peft_config.r", "lora_rank", "rank", { min: 1 }),
  memory("model.peft_config.lora_alpha", "lora_alpha", "alpha"),
  memory("model.peft_config.lora_dropout", "lora_dropout", "dropout", { max: 1 }),
  memory("model.peft_config.target_modules", "lora_target_modules", "targets"),
  memory("model.ffn_config.moe_num_experts", "num_experts", "experts", { min: 1 }),
  memory("model.ffn_config.moe_world_size", "expert_parallel", "expert"),
  memory("model.master_weights_dtype", "load_dtype", "load", { means: STORAGE }),
  memory("optimizer", null, "map"),
  memory("optimizer.name", "optimizer", "optimizer", {
    // Composer's own steps go over the parameters one by one (composer/optim/decoupled_weight_decay.py)
    means: { decoupled_adamw: "adamw_torch", decoupled_lionw: "lion_32bit", adam: "adamw_torch", adamw: "adamw_torch" },
  }),
  memory("fsdp_config", null, "map", "fsdp"),
  memory("fsdp_config.sharding_strategy", "fsdp", "fsdp", { means: SHARDING }),
  // composer/distributed/mosaic_parallelism.py (get_mixed_precision): the weights' half precision either way
  memory("fsdp_config.mixed_precision", "fsdp_reduce_dtype", "any", "fsdp_config.mixed_precision", {
    default: "DEFAULT",
    means: { DEFAULT: "float32", PURE: "compute" },
  }),
  memory("fsdp_config.activation_checkpointing", "gradient_checkpointing", "checkpointing", { default: false }),
  memory(
    "fsdp_config.activation_checkpointing_reentrant",
    "use_reentrant",
    "gradient_checkpointing_kwargs.use_reentrant",
    { default: true },
  ),
  memory("fsdp_config.backward_prefetch", "fsdp_backward_prefetch", "any", "fsdp_backward_prefetch", {
    default: "BACKWARD_POST",
  }),
  memory("fsdp_config.activation_cpu_offload", null, "boolean", "offload-activations"),
  memory("fsdp_config.cpu_offload", "offload_param", "offload-param", {
    means: { true: "cpu", false: "none" },
    also: [{ name: "offload_optimizer", means: { true: "cpu", false: "none" } }],
  }),
  other("fsdp_config.limit_all_gathers", null, "boolean", "fsdp_limit_all_gathers"),
  memory("fsdp_config.use_orig_params", null, "boolean"),
  memory("algorithms", null, "any"),
  memory("algorithms.gradient_clipping", null, "map", "clipping"),
  memory("algorithms.gradient_clipping.clipping_threshold", "max_grad_norm", "clipping"),
  other("train_loader", null, "map", "data"),
  memory("train_loader.dataset.packing_ratio", "packing", "any", "packing", { auto: true }),
  memory("parallelism_config.fsdp.sharding_strategy", "fsdp", "fsdp", { means: SHARDING }),
  memory("parallelism_config.fsdp.activation_checkpointing", "gradient_checkpointing", "checkpointing"),
  ...harmless(
    "train_loader.dataset.max_seq_len eval_loader.dataset.max_seq_len model.config_overrides.max_seq_len fsdp_config.sync_module_states fsdp_config.state_dict_type",
  ),
  ...touching(
    "experts",
    "model.ffn_config.moe_top_k model.ffn_config.memory_optimized_mlp model.ffn_config.mlp_impl model.ffn_config.uniform_expert_assignment",
  ),
  memory("max_split_size_mb", "max_split_size_mb", "expandable_segments"),
  ...touching("eval-sequence", "icl_tasks icl_max_seq_len"),
  ...harmless("model.init_device callbacks eval_loader.dataset.packing_ratio image integrations"),
  ...touching("masks", "model.attn_pdrop model.resid_pdrop model.emb_pdrop"),
  ...touching("fsdp", "fsdp_config.data_parallel_shard_degree fsdp_config.forward_prefetch"),
  memory("expandable_segments", "expandable_segments"),
  memory("compute.gpus", "world_size", "devices", { min: 1 }),
];
