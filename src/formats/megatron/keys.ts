/**
 * Megatron-LM's arguments, in underscore spelling (flags are normalised), and its YAML test configs.
 * Source: `megatron/training/arguments.py` at d98e8a6.
 */
import { harmless, memory, onlyWhenOn, other, touching } from "../effects";
import type { KeySpec } from "../types";

const RECOMPUTE = { full: true, selective: true, null: false } as const;

export const MEGATRON_KEYS: readonly KeySpec[] = [
  memory("micro_batch_size", "micro_batch_size", "micro-batch", { aliases: ["batch_size", "mbs"] }),
  memory("global_batch_size", "global_batch_size", "global-batch"),
  memory("rampup_batch_size", null, "any"),
  memory("seq_length", "sequence_length", "sequence", { aliases: ["encoder_seq_length", "max_length"] }),
  memory("decoder_seq_length", "target_length", "sequence"),
  memory("max_position_embeddings", "max_position_embeddings"),
  memory("num_layers", "num_layers", "layers", { aliases: ["encoder_num_layers"] }),
  memory("hidden_size", "hidden_size", "width"),
  memory("ffn_hidden_size", "ffn_hidden_size", "width"),
  memory("moe_ffn_hidden_size", null, "integer", "width"),
  memory("num_attention_heads", "num_attention_heads", "heads"),
  other("group_query_attention", null, "boolean"),
  memory("num_query_groups", "num_query_groups"),
  memory("kv_channels", "kv_channels"),
  memory("vocab_size", "vocab_size", "vocabulary"),
  memory("make_vocab_size_divisible_by", "vocab_divisor", { default: 128 }),
  memory("untie_embeddings_and_output_weights", "untied_embeddings", "no_weight_tying"),
  memory("num_experts", "num_experts", "experts"),
  memory("moe_router_topk", "experts_per_token"),
  memory("swiglu", "swiglu"),
  memory("tensor_model_parallel_size", "tensor_parallel", "tensor", {
    default: 1,

    aliases: ["model_parallel_size", "tensor_parallel_size", "tp_size"],
  }),
  memory("pipeline_model_parallel_size", "pipeline_parallel", "pipeline", {
    default: 1,

    aliases: ["pipeline_parallel_size", "pp_size"],
  }),
  memory("num_layers_per_virtual_pipeline_stage", "pipeline_layers_per_stage", "schedule"),
  memory("num_virtual_stages_per_pipeline_rank", "pipeline_stages_per_rank", "schedule", {
    aliases: ["virtual_pipeline_model_parallel_size"],
  }),
  memory("context_parallel_size", "context_parallel", "context", {
    default: 1,

    aliases: ["cp_size"],
  }),
  memory("expert_model_parallel_size", "expert_parallel", "expert", {
    default: 1,

    aliases: ["expert_parallel_size", "moe_expert_model_parallel_size"],
  }),
  memory("expert_tensor_parallel_size", "expert_tensor_parallel", "expert"),
  memory("sequence_parallel", "sequence_parallelism", "sequence-parallel"),
  memory("recompute_granularity", "gradient_checkpointing", "string", {
    default: false,
    means: RECOMPUTE,
    also: [{ name: "recompute_granularity" }],
  }),
  memory("recompute_activations", "gradient_checkpointing", {
    also: [{ name: "recompute_granularity", means: { true: "selective" }, only: true }],
  }),
  memory("checkpoint_activations", "gradient_checkpointing", "checkpointing"),
  memory("recompute_method", "recompute_method", { aliases: ["activations_checkpoint_method"] }),
  memory("recompute_num_layers", "recompute_num_layers"),
  memory("recompute_modules", "recompute_modules"),
  memory("distribute_saved_activations", null, "boolean"),
  memory("use_distributed_optimizer", "distributed_optimizer"),
  memory("bf16", "bf16", "compute"),
  memory("fp16", "fp16", "compute"),
  memory("fp8_format", "fp8_format", "fp8_config", {
    aliases: ["fp8_hybrid", "fp8"],
    also: [{ name: "compute_dtype", means: { e4m3: "fp8", hybrid: "fp8", true: "fp8" }, only: true }],
  }),
  memory("fp8_recipe", "fp8_recipe"),
  memory("fp8_param_gather", null, "boolean", "fp8_enable_fsdp_float8_all_gather"),
  memory("accumulate_allreduce_grads_in_fp32", null, "boolean", {
    also: [{ name: "grad_accum_dtype", means: onlyWhenOn("float32"), only: true }],
  }),
  memory("grad_reduce_in_bf16", null, "boolean", {
    also: [{ name: "grad_accum_dtype", means: onlyWhenOn("bfloat16"), only: true }],
  }),
  memory("use_precision_aware_optimizer", null, "boolean"),
  memory("main_params_dtype", null, "string"),
  memory("main_grads_dtype", null, "string"),
  memory("exp_avg_dtype", null, "string"),
  memory("exp_avg_sq_dtype", null, "string"),
  memory("optimizer", "optimizer", {
    default: "adam",
    // apex's and Transformer Engine's multi-tensor Adam: no temporaries
    means: { adam: "adamw_torch_fused", sgd: "sgd" },
  }),
  memory("optimizer_cpu_offload", null, "boolean", "offload-optimizer", { aliases: ["cpu_optimizer"] }),
  memory("optimizer_offload_fraction", null, "number", { default: 1 }),
  memory("clip_grad", "max_grad_norm", "clipping", { default: 1.0 }),
  memory("use_torch_fsdp2", "fsdp", "boolean", "fsdp", { means: { true: "full_shard", false: "none" } }),
  memory("use_megatron_fsdp", "megatron_fsdp", "fsdp", { aliases: ["use_custom_fsdp"] }),
  memory("data_parallel_sharding_strategy", null, "string", {
    also: [
      {
        name: "fsdp",
        means: { no_shard: "none", optim: "none", optim_grads: "shard_grad_op", optim_grads_params: "full_shard" },
        only: true,
      },
    ],
  }),
  memory("zero_stage", "zero_stage", "zero"),
  memory("deepspeed_config", "deepspeed", "string", "deepspeed", { link: "engine" }),
  memory("attention_backend", "attention", "attention", {
    default: "auto",
    auto: true,
    means: { flash: "flash_attention_2", fused: "sdpa", unfused: "eager", local: "eager" },
  }),
  memory("use_flash_attn", null, "boolean", "attention", {
    also: [{ name: "attention", means: onlyWhenOn("flash_attention_2"), only: true }],
  }),
  other("transformer_impl", null, "string"),
  memory("overlap_grad_reduce", null, "boolean"),
  memory("overlap_param_gather", null, "boolean"),
  memory("cross_entropy_loss_fusion", null, "boolean"),
  other("train_samples", null, "integer", "train_iters"),
  other("load", null, "any", "resume_from_checkpoint"),
  memory("pretrained_checkpoint", "model", "any", "model"),
  other("num_gpus", null, "integer", "devices"),
  ...touching("experts", "moe_layer_freq moe_shared_expert_intermediate_size moe_expert_parallel_size"),
  memory("moe_token_dispatcher_type", "token_dispatcher", "token-dispatcher", { default: "allgather" }),
  ...touching("fused-kernel", "moe_permute_fusion moe_grouped_gemm"),
  ...touching("masks", "attention_dropout hidden_dropout"),
  ...touching("states-dtype", "attention_softmax_in_fp32 no_gradient_accumulation_fusion"),
  // These name the captured family (index.ts, modelType); Megatron's own layers have the same either way.
  memory("normalization", null, "string", "width", { computed: ["RMSNorm", "LayerNorm"] }),
  memory("position_embedding_type", null, "string", "width", { computed: ["rope", "learned_absolute"] }),
  other("no_position_embedding", null, "boolean", "harmless"),
  // The captured families have no biases beside the norms, or few.
  memory("disable_bias_linear", null, "boolean", "width", { computed: ["true"] }),
  ...touching("width", "multi_latent_attention"),
  // What no captured graph has: other positions, other layers, pictures.
  ...touching("width", "apply_layernorm_1p hybrid_layer_pattern spec"),
  ...touching("image", "img_h img_w patch_dim disable_vision_class_token"),
  ...touching("frozen", "freeze_LM freeze_ViT"),
  ...touching("fused-kernel", "no_masked_softmax_fusion no_rope_fusion no_bias_gelu_fusion no_bias_swiglu_fusion"),
  ...touching("rampup_batch_size", "step_batch_size_schedule"),
  ...touching("experts", "moe_pad_expert_input_to_capacity moe_expert_capacity_factor moe_router_dtype"),
  ...harmless(
    "calculate_per_token_loss rotary_base rotary_percent moe_router_load_balancing_type language_model_type fp8_amax_compute_algo " +
      "fp8_amax_history_len empty_unused_memory_level use_te nproc_per_node address runtime_env_json prompt_data apply_chat_template " +
      "rollout_shuffle rm_type num_rollout num_epoch balance_data eps_clip eps_clip_high eval_prompt_data eval_max_response_len " +
      "debug_train_only disable_compute_advantages_and_returns rotary_interleaved",
  ),
  ...touching("checkpointing", "deepspeed_activation_checkpointing"),
  ...touching("offload-optimizer", "overlap_cpu_optimizer_d2h_h2d"),
  // slime drives Megatron and a generation engine with these.
  memory("max_tokens_per_gpu", "tokens_per_micro_batch", "tokens"),
  memory("use_dynamic_batch_size", "dynamic_batch", "tokens"),
  ...touching("tokens", "log_probs_max_tokens_per_gpu"),
  ...touching("reference", "ref_load use_kl_loss kl_coef"),
  ...touching("generations", "rollout_batch_size n_samples_per_prompt"),
  ...touching("sequence", "rollout_max_response_len rollout_max_prompt_len rollout_max_context_len"),
  ...touching("vllm", "sglang_mem_fraction_static"),
  ...touching("engine-tensor", "rollout_num_gpus_per_engine rollout_num_gpus"),
  memory("actor_num_gpus_per_node", "actor_gpus", "devices"),
  memory("actor_num_nodes", "actor_nodes", "devices"),
  ...touching("devices", "critic_num_nodes critic_num_gpus_per_node"),
  ...touching("engine-part", "colocate offload offload_train offload_rollout"),
];
