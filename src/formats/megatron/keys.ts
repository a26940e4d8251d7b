/**
 * Megatron-LM's arguments, in underscore spelling (flags are normalised), and its YAML test configs.
 * Types and defaults are in `fields.json`, read from `megatron/training/arguments.py` and the configs it makes arguments of.
 */
import { harmless, memory, onlyWhenOn, other, touching } from "../effects";
import { rowsOver } from "../fields";
import type { KeySpec } from "../types";
import captured from "./fields.json";

const own = rowsOver(captured.fields);

const RECOMPUTE = { full: true, selective: true, null: false } as const;

export const MEGATRON_KEYS: readonly KeySpec[] = [
  own.memory("micro_batch_size", "micro_batch_size", "micro-batch", { aliases: ["batch_size", "mbs"] }),
  own.memory("global_batch_size", "global_batch_size", "global-batch"),
  own.memory("rampup_batch_size", null),
  own.memory("seq_length", "sequence_length", "sequence", { aliases: ["encoder_seq_length", "max_length"] }),
  own.memory("decoder_seq_length", "target_length", "sequence"),
  own.memory("max_position_embeddings"),
  own.memory("num_layers", "num_layers", "layers", { aliases: ["encoder_num_layers"] }),
  own.memory("hidden_size", "hidden_size", "width"),
  own.memory("ffn_hidden_size", "ffn_hidden_size", "width"),
  own.memory("moe_ffn_hidden_size", null, "width"),
  own.memory("num_attention_heads", "num_attention_heads", "heads"),
  own.other("group_query_attention", null),
  own.memory("num_query_groups"),
  own.memory("kv_channels"),
  own.memory("vocab_size", "vocab_size", "vocabulary"),
  own.memory("make_vocab_size_divisible_by", "vocab_divisor"),
  own.memory("untie_embeddings_and_output_weights", "untied_embeddings", "no_weight_tying"),
  own.memory("num_experts", "num_experts", "experts"),
  own.memory("moe_router_topk", "experts_per_token"),
  own.memory("swiglu"),
  own.memory("tensor_model_parallel_size", "tensor_parallel", "tensor", {
    aliases: ["model_parallel_size", "tensor_parallel_size", "tp_size"],
  }),
  own.memory("pipeline_model_parallel_size", "pipeline_parallel", "pipeline", {
    aliases: ["pipeline_parallel_size", "pp_size"],
  }),
  own.memory("num_layers_per_virtual_pipeline_stage", "pipeline_layers_per_stage", "schedule"),
  own.memory("num_virtual_stages_per_pipeline_rank", "pipeline_stages_per_rank", "schedule", {
    aliases: ["virtual_pipeline_model_parallel_size"],
  }),
  own.memory("context_parallel_size", "context_parallel", "context", { aliases: ["cp_size"] }),
  own.memory("expert_model_parallel_size", "expert_parallel", "expert", {
    aliases: ["expert_parallel_size", "moe_expert_model_parallel_size"],
  }),
  own.memory("expert_tensor_parallel_size", "expert_tensor_parallel", "expert"),
  own.memory("sequence_parallel", "sequence_parallelism", "sequence-parallel"),
  own.memory("recompute_granularity", "gradient_checkpointing", {
    default: false,
    means: RECOMPUTE,
    also: [{ name: "recompute_granularity" }],
  }),
  own.memory("recompute_activations", "gradient_checkpointing", {
    also: [{ name: "recompute_granularity", means: { true: "selective" }, only: true }],
  }),
  own.memory("checkpoint_activations", "gradient_checkpointing", "checkpointing"),
  own.memory("recompute_method", { aliases: ["activations_checkpoint_method"] }),
  own.memory("recompute_num_layers"),
  own.memory("recompute_modules", { type: "any" }),
  own.memory("distribute_saved_activations", null),
  own.memory("use_distributed_optimizer", "distributed_optimizer"),
  own.memory("bf16", "bf16", "compute"),
  own.memory("fp16", "fp16", "compute"),
  own.memory("fp8_format", "fp8_format", "fp8_config", {
    aliases: ["fp8_hybrid", "fp8"],
    also: [{ name: "compute_dtype", means: { e4m3: "fp8", hybrid: "fp8", true: "fp8" }, only: true }],
  }),
  own.memory("fp8_recipe"),
  own.memory("fp8_param_gather", null, "fp8_enable_fsdp_float8_all_gather"),
  own.memory("accumulate_allreduce_grads_in_fp32", null, {
    also: [{ name: "grad_accum_dtype", means: onlyWhenOn("float32"), only: true }],
  }),
  own.memory("grad_reduce_in_bf16", null, {
    also: [{ name: "grad_accum_dtype", means: onlyWhenOn("bfloat16"), only: true }],
  }),
  own.memory("use_precision_aware_optimizer", null),
  own.memory("main_params_dtype", null),
  own.memory("main_grads_dtype", null),
  own.memory("exp_avg_dtype", null),
  own.memory("exp_avg_sq_dtype", null),
  own.memory("optimizer", {
    // apex's and Transformer Engine's multi-tensor Adam: no temporaries
    means: { adam: "adamw_torch_fused", sgd: "sgd" },
  }),
  own.memory("optimizer_cpu_offload", null, "offload-optimizer", { aliases: ["cpu_optimizer"] }),
  own.memory("optimizer_offload_fraction", null),
  own.memory("clip_grad", "max_grad_norm", "clipping"),
  own.memory("use_torch_fsdp2", "fsdp", "fsdp", { means: { true: "full_shard", false: "none" } }),
  own.memory("use_megatron_fsdp", "megatron_fsdp", "fsdp", { aliases: ["use_custom_fsdp"] }),
  own.memory("data_parallel_sharding_strategy", null, {
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
  own.memory("attention_backend", "attention", "attention", {
    type: "string",
    default: "auto",
    auto: true,
    means: { flash: "flash_attention_2", fused: "sdpa", unfused: "eager", local: "eager" },
  }),
  own.memory("use_flash_attn", null, "attention", {
    also: [{ name: "attention", means: onlyWhenOn("flash_attention_2"), only: true }],
  }),
  own.other("transformer_impl", null),
  own.memory("overlap_grad_reduce", null),
  own.memory("overlap_param_gather", null),
  own.memory("cross_entropy_loss_fusion", null),
  own.other("train_samples", null, "train_iters"),
  own.other("load", null, "resume_from_checkpoint"),
  own.memory("pretrained_checkpoint", "model", "model", { type: "any" }),
  other("num_gpus", null, "integer", "devices"),
  ...touching("experts", "moe_layer_freq moe_shared_expert_intermediate_size moe_expert_parallel_size"),
  own.memory("moe_token_dispatcher_type", "token_dispatcher", "token-dispatcher"),
  ...touching("fused-kernel", "moe_permute_fusion moe_grouped_gemm"),
  ...touching("masks", "attention_dropout hidden_dropout"),
  ...touching("states-dtype", "attention_softmax_in_fp32 no_gradient_accumulation_fusion"),
  // These name the captured family (index.ts, modelType); Megatron's own layers have the same either way.
  own.memory("normalization", null, "width", { computed: ["RMSNorm", "LayerNorm"] }),
  own.memory("position_embedding_type", null, "width", { computed: ["rope", "learned_absolute"] }),
  own.other("no_position_embedding", null, "harmless"),
  // The captured families have no biases beside the norms, or few.
  own.memory("disable_bias_linear", null, "width", { computed: ["true"] }),
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
