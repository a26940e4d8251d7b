/**
 * Megatron-LM's arguments, in underscore spelling (flags are normalised), and its YAML test configs.
 * Source: `megatron/training/arguments.py` at d98e8a6.
 */
import { EFFECT, memory, onlyWhenOn, other, touching } from "../effects";
import type { KeySpec } from "../types";

const RECOMPUTE = { full: true, selective: true, null: false } as const;

export const MEGATRON_KEYS: readonly KeySpec[] = [
  memory("micro_batch_size", "micro_batch_size", "integer", EFFECT.microBatch, {
    min: 1,
    aliases: ["batch_size", "mbs"],
  }),
  memory("global_batch_size", "global_batch_size", "integer", EFFECT.globalBatch, { min: 1, nullable: true }),
  memory("rampup_batch_size", null, "any", "The global batch grows during training.", { nullable: true }),
  memory("seq_length", "sequence_length", "integer", EFFECT.sequence, {
    aliases: ["encoder_seq_length", "max_length"],
  }),
  memory("decoder_seq_length", "target_length", "integer", EFFECT.sequence, { min: 1 }),
  other("max_position_embeddings", "max_position_embeddings", "integer", "Longest position the model knows.", {
    min: 1,
  }),
  memory("num_layers", "num_layers", "integer", EFFECT.layers, { min: 1, aliases: ["encoder_num_layers"] }),
  memory("hidden_size", "hidden_size", "integer", EFFECT.width, { min: 1 }),
  memory("ffn_hidden_size", "ffn_hidden_size", "integer", EFFECT.width, { min: 1, nullable: true }),
  memory("num_attention_heads", "num_attention_heads", "integer", EFFECT.heads, { min: 1 }),
  other("group_query_attention", null, "boolean", "Fewer key and value heads."),
  memory("num_query_groups", "num_query_groups", "integer", "Key and value heads.", { min: 1 }),
  memory("kv_channels", "kv_channels", "integer", "Size of a head.", { nullable: true }),
  memory("vocab_size", "vocab_size", "integer", EFFECT.vocabulary, { nullable: true }),
  memory(
    "make_vocab_size_divisible_by",
    "vocab_divisor",
    "integer",
    "The vocabulary is padded to a multiple of this times the tensor-parallel degree.",
    { default: 128, min: 1 },
  ),
  memory("untie_embeddings_and_output_weights", "untied_embeddings", "boolean", "A second vocabulary-sized matrix."),
  memory("num_experts", "num_experts", "integer", EFFECT.experts, { nullable: true }),
  memory("moe_router_topk", "experts_per_token", "integer", "Experts each token visits.", { min: 1 }),
  memory("swiglu", "swiglu", "boolean", "Gated MLP: a third matrix per layer."),
  memory("tensor_model_parallel_size", "tensor_parallel", "integer", EFFECT.tensor, {
    default: 1,
    min: 1,
    aliases: ["model_parallel_size", "tensor_parallel_size", "tp_size"],
  }),
  memory("pipeline_model_parallel_size", "pipeline_parallel", "integer", EFFECT.pipeline, {
    default: 1,
    min: 1,
    aliases: ["pipeline_parallel_size", "pp_size"],
  }),
  memory("num_layers_per_virtual_pipeline_stage", null, "integer", EFFECT.schedule, {
    nullable: true,
  }),
  memory("num_virtual_stages_per_pipeline_rank", null, "integer", EFFECT.schedule, { nullable: true }),
  memory("context_parallel_size", "context_parallel", "integer", EFFECT.context, {
    default: 1,
    min: 1,
    aliases: ["cp_size"],
  }),
  memory("expert_model_parallel_size", "expert_parallel", "integer", EFFECT.expert, {
    default: 1,
    min: 1,
    aliases: ["expert_parallel_size", "moe_expert_model_parallel_size"],
  }),
  memory("expert_tensor_parallel_size", null, "integer", EFFECT.expert, { nullable: true }),
  memory("sequence_parallel", "sequence_parallelism", "boolean", EFFECT.sequenceParallel),
  memory(
    "recompute_granularity",
    "gradient_checkpointing",
    "any",
    "full keeps only each layer's input; selective recomputes attention.",
    { default: false, means: RECOMPUTE, nullable: true, also: [{ name: "recompute_granularity" }] },
  ),
  memory("recompute_activations", "gradient_checkpointing", "boolean", "Recomputes attention in backward.", {
    also: [{ name: "recompute_granularity", means: { true: "selective" }, only: true }],
  }),
  memory("checkpoint_activations", "gradient_checkpointing", "boolean", EFFECT.checkpointing),
  memory("recompute_method", "recompute_method", "string", "Which layers are recomputed.", {
    nullable: true,
    aliases: ["activations_checkpoint_method"],
  }),
  memory("recompute_num_layers", "recompute_num_layers", "integer", "How many layers are recomputed together.", {
    nullable: true,
  }),
  memory("recompute_modules", "recompute_modules", "any", "What selective recompute covers."),
  memory("distribute_saved_activations", null, "boolean", "Splits saved activations over the tensor-parallel GPUs."),
  memory(
    "use_distributed_optimizer",
    "distributed_optimizer",
    "boolean",
    "Shards optimizer states over the data-parallel GPUs: 6 + 12/dp bytes per parameter instead of 18.",
  ),
  memory("bf16", "bf16", "boolean", EFFECT.compute),
  memory("fp16", "fp16", "boolean", EFFECT.compute),
  memory("fp8_format", "fp8_format", "string", "Matrix products in 8 bits.", {
    nullable: true,
    aliases: ["fp8_hybrid", "fp8"],
    also: [{ name: "compute_dtype", means: { e4m3: "fp8", hybrid: "fp8", true: "fp8" }, only: true }],
  }),
  memory("fp8_recipe", "fp8_recipe", "string", "How 8-bit products are scaled."),
  memory("fp8_param_gather", null, "boolean", "Gathers the weights in 8 bits."),
  memory(
    "accumulate_allreduce_grads_in_fp32",
    null,
    "boolean",
    "Gradients are accumulated in float32: 4 bytes per parameter.",
    { also: [{ name: "grad_accum_dtype", means: onlyWhenOn("float32"), only: true }] },
  ),
  memory("grad_reduce_in_bf16", null, "boolean", "Gradients are kept and reduced in bfloat16.", {
    also: [{ name: "grad_accum_dtype", means: onlyWhenOn("bfloat16"), only: true }],
  }),
  memory("use_precision_aware_optimizer", null, "boolean", "Optimizer states in fewer bits."),
  memory("main_params_dtype", null, "string", "Dtype of the master weights."),
  memory("main_grads_dtype", null, "string", "Dtype of the main gradients."),
  memory("exp_avg_dtype", null, "string", "Dtype of Adam's first state."),
  memory("exp_avg_sq_dtype", null, "string", "Dtype of Adam's second state."),
  memory("optimizer", "optimizer", "string", EFFECT.optimizer, {
    default: "adam",
    // apex's and Transformer Engine's multi-tensor Adam: no temporaries
    means: { adam: "adamw_torch_fused", sgd: "sgd" },
  }),
  memory("optimizer_cpu_offload", "offload_optimizer", "boolean", EFFECT.offloadOptimizer, {
    means: { true: "cpu", false: "none" },
    aliases: ["cpu_optimizer"],
  }),
  memory("optimizer_offload_fraction", null, "number", "Share of the states kept in host memory.", { default: 1 }),
  memory("clip_grad", "max_grad_norm", "number", EFFECT.clipping, { default: 1.0, min: 0 }),
  memory("use_torch_fsdp2", "fsdp", "boolean", EFFECT.fsdp, { means: { true: "full_shard", false: "none" } }),
  memory("use_megatron_fsdp", "megatron_fsdp", "boolean", EFFECT.fsdp, { aliases: ["use_custom_fsdp"] }),
  memory("data_parallel_sharding_strategy", null, "string", "What Megatron-FSDP shards over the data-parallel GPUs.", {
    also: [
      {
        name: "fsdp",
        means: { no_shard: "none", optim: "none", optim_grads: "shard_grad_op", optim_grads_params: "full_shard" },
        only: true,
      },
    ],
  }),
  memory("zero_stage", "zero_stage", "integer", EFFECT.zero, { min: 0, max: 3 }),
  memory("deepspeed_config", "deepspeed", "string", EFFECT.deepspeed, { link: "deepspeed" }),
  memory("attention_backend", "attention", "string", EFFECT.attention, {
    default: "auto",
    auto: true,
    means: { flash: "flash_attention_2", fused: "sdpa", unfused: "eager", local: "eager" },
  }),
  memory("use_flash_attn", null, "boolean", EFFECT.attention, {
    also: [{ name: "attention", means: onlyWhenOn("flash_attention_2"), only: true }],
  }),
  other("transformer_impl", null, "string", "Implementation of the layers."),
  memory("overlap_grad_reduce", null, "boolean", "Gradient buckets stay alive longer."),
  memory("overlap_param_gather", null, "boolean", "Gathers the next parameters early."),
  memory("cross_entropy_loss_fusion", null, "boolean", "Fused loss over the logits."),
  other("train_samples", null, "integer", "Length of the training: no memory."),
  other("load", null, "any", "Checkpoint to continue from."),
  memory("pretrained_checkpoint", "model", "any", EFFECT.model),
  other("num_gpus", null, "integer", EFFECT.devices),
  ...touching(
    EFFECT.experts,
    "moe_ffn_hidden_size moe_layer_freq moe_shared_expert_intermediate_size moe_expert_parallel_size moe_token_dispatcher_type",
  ),
  ...touching(EFFECT.fusedKernel, "moe_permute_fusion moe_grouped_gemm"),
  ...touching(EFFECT.masks, "attention_dropout hidden_dropout"),
  ...touching(EFFECT.statesDtype, "attention_softmax_in_fp32 no_gradient_accumulation_fusion"),
  ...touching(EFFECT.width, "normalization disable_bias_linear multi_latent_attention"),
  ...touching(EFFECT.checkpointing, "deepspeed_activation_checkpointing"),
  ...touching(EFFECT.offloadOptimizer, "overlap_cpu_optimizer_d2h_h2d"),
  // slime drives Megatron and a generation engine with these.
  ...touching(EFFECT.tokens, "max_tokens_per_gpu use_dynamic_batch_size log_probs_max_tokens_per_gpu"),
  ...touching(EFFECT.generations, "rollout_batch_size n_samples_per_prompt"),
  ...touching(EFFECT.sequence, "rollout_max_response_len rollout_max_prompt_len rollout_max_context_len"),
  ...touching(EFFECT.vllm, "sglang_mem_fraction_static"),
  ...touching(EFFECT.engineTensor, "rollout_num_gpus_per_engine rollout_num_gpus"),
  ...touching(EFFECT.devices, "actor_num_nodes actor_num_gpus_per_node critic_num_nodes critic_num_gpus_per_node"),
  ...touching(EFFECT.enginePart, "colocate offload offload_train offload_rollout"),
];
