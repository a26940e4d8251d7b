/**
 * Axolotl's YAML beyond TrainingArguments.
 * Source: `axolotl/utils/schemas/{config,training,peft,model,fsdp}.py`, `core/builders/base.py` of 0.18.
 */
import { SHARDING } from "../accelerate/keys";
import { harmless, memory, onlyWhenOn, other, touching } from "../effects";
import type { KeySpec } from "../types";

const ON_ATTENTION = (value: string): NonNullable<KeySpec["also"]> => [
  { name: "attention", means: onlyWhenOn(value), only: true },
];

export const AXOLOTL_KEYS: readonly KeySpec[] = [
  memory("base_model", "model", "string", "model", { link: "model" }),
  memory("processor_type", "processor_type", "string", "processor_type", {
    nullable: true,
  }),
  other("base_model_config", "config_name", "string", "config_name", {
    nullable: true,
  }),
  memory("micro_batch_size", "micro_batch_size", "integer", "micro-batch", { default: 1, min: 1 }),
  memory("gradient_accumulation_steps", "gradient_accumulation_steps", "integer", "accumulation", {
    default: 1,
    min: 1,
  }),
  memory("batch_size", "batch_size_per_gpu", "integer", "batch_size", { min: 1, nullable: true }),
  memory("eval_batch_size", "eval_batch_size", "integer", "eval-batch", { min: 1, nullable: true }),
  memory("sequence_len", "sequence_length", "integer", "sequence_len", { default: 512, min: 1 }),
  memory("sample_packing", "packing", "boolean", "packing", { nullable: true }),
  memory("pad_to_sequence_len", "pad_to_sequence_length", "boolean", "pad_to_max_length", {
    nullable: true,
  }),
  memory("batch_flattening", null, "any", "batch_flattening", { nullable: true }),
  memory("bf16", "bf16", "any", "axolotl.bf16", {
    auto: true,
    nullable: true,
    means: { full: true, True: true },
    writes: { true: "true", false: "false" },
    also: [{ name: "load_dtype", means: onlyWhenOn("bfloat16"), only: true }],
  }),
  memory("fp16", "fp16", "any", "axolotl.fp16", {
    auto: true,
    nullable: true,
    also: [{ name: "load_dtype", means: onlyWhenOn("float16"), only: true }],
  }),
  memory("bfloat16", null, "boolean", "bfloat16", {
    nullable: true,
    also: [{ name: "load_dtype", means: onlyWhenOn("bfloat16"), only: true }],
  }),
  memory("float16", null, "boolean", "float16", {
    nullable: true,
    also: [{ name: "load_dtype", means: onlyWhenOn("float16"), only: true }],
  }),
  other("tf32", "tf32", "any", "tf32", { auto: true, nullable: true }),
  memory("fp8", "fp8", "boolean", "fp8_config", {
    nullable: true,
    also: [{ name: "compute_dtype", means: onlyWhenOn("fp8"), only: true }],
  }),
  memory("torch_dtype", "load_dtype", "string", "load", { nullable: true }),
  memory("gradient_checkpointing", "gradient_checkpointing", "any", "checkpointing", {
    default: false,
    nullable: true,
    means: { offload: true, offload_disk: true, unsloth: true },
    writes: { true: "true", false: "false" },
    // axolotl/utils/schemas/validation.py (check_gradient_checkpointing_w_offload); `unsloth` is its older kind.
    also: [
      { name: "offload_activations", means: { offload: true, offload_disk: true, unsloth: "legacy" }, only: true },
    ],
  }),
  memory("gradient_checkpointing_kwargs", null, "map", "axolotl.gradient_checkpointing_kwargs", { nullable: true }),
  memory(
    "gradient_checkpointing_kwargs.use_reentrant",
    "use_reentrant",
    "boolean",
    "gradient_checkpointing_kwargs.use_reentrant",
  ),
  memory("activation_offloading", "offload_activations", "any", "offload-activations", {
    nullable: true,
    means: { disk: true },
    writes: { true: "true", false: "false" },
  }),
  memory("optimizer", "optimizer", "string", "optimizer", {
    default: "adamw_torch_fused",
    defaultsBy: { "axolotl<0.8": "adamw_hf" },
  }),
  memory("optim_args", "optim_args", "any", "axolotl.optim_args", { nullable: true }),
  memory("max_grad_norm", "max_grad_norm", "number", "clipping", { nullable: true, min: 0 }),
  memory("attn_implementation", "attention", "string", "attention", { nullable: true }),
  memory("flash_attention", null, "boolean", "attention", {
    nullable: true,
    also: ON_ATTENTION("flash_attention_2"),
  }),
  memory("sdp_attention", null, "boolean", "attention", { nullable: true, also: ON_ATTENTION("sdpa") }),
  memory("flex_attention", null, "boolean", "attention", { nullable: true, also: ON_ATTENTION("flex_attention") }),
  memory("eager_attention", null, "boolean", "attention", { nullable: true, also: ON_ATTENTION("eager") }),
  memory("xformers_attention", null, "boolean", "attention", { nullable: true }),
  memory(
    "llmcompressor.recipe.finetuning_stage.finetuning_modifiers.ConstantPruningModifier.targets",
    "pruning_targets",
    "any",
    "ConstantPruningModifier.targets",
    { nullable: true },
  ),
  memory("s2_attention", null, "boolean", "s2_attention", { nullable: true }),
  memory("adapter", "adapter", "any", "adapter", { nullable: true, means: { null: "none", "": "none" } }),
  memory("load_in_4bit", "load_in_4bit", "boolean", "quantization", { default: false, nullable: true }),
  memory("load_in_8bit", "load_in_8bit", "boolean", "quantization", { default: false, nullable: true }),
  memory("gptq", null, "any", "quantization", {
    nullable: true,
    also: [{ name: "quantization", means: onlyWhenOn("gptq"), only: true }],
  }),
  memory("lora_r", "lora_rank", "integer", "rank", { min: 1, nullable: true }),
  memory("lora_alpha", "lora_alpha", "number", "alpha", { nullable: true }),
  memory("lora_dropout", "lora_dropout", "number", "dropout", { default: 0, min: 0, max: 1, nullable: true }),
  memory("lora_target_modules", "lora_target_modules", "any", "targets", { nullable: true }),
  memory("lora_target_linear", null, "boolean", "lora_target_linear", {
    nullable: true,
    also: [{ name: "lora_target_modules", means: onlyWhenOn("all-linear"), only: true }],
  }),
  memory("lora_modules_to_save", "lora_modules_to_save", "list", "to-save", { nullable: true }),
  memory("peft_use_dora", "use_dora", "boolean", "use_dora", {
    nullable: true,
  }),
  memory("peft_use_rslora", "use_rslora", "boolean", "use_rslora", { nullable: true }),
  memory("peft_init_lora_weights", "adapter_initialization", "any", "init_lora_weights", { nullable: true }),
  memory("peft.loftq_config.loftq_bits", "adapter_loftq_bits", "integer", "loftq_bits", {
    also: [{ name: "adapter_initialization", means: { "4": "loftq", "8": "loftq" }, only: true }],
  }),
  memory("lora_model_dir", "lora_model_dir", "string", "lora_model_dir", {
    nullable: true,
    link: "adapter",
  }),
  memory("bnb_config_kwargs", null, "map", "bnb_config_kwargs", { nullable: true }),
  memory("bnb_config_kwargs.bnb_4bit_use_double_quant", "double_quantization", "boolean", "bnb_4bit_use_double_quant"),
  memory("bnb_config_kwargs.bnb_4bit_quant_type", "bnb_4bit_quant_type", "string", "bnb_4bit_quant_type"),
  memory("unfrozen_parameters", "unfrozen_parameters", "list", "unfrozen_parameters", { nullable: true }),
  memory("deepspeed", "deepspeed", "map", "deepspeed", { nullable: true, link: "deepspeed" }),
  memory("fsdp", "fsdp_options", "any", "fsdp", { nullable: true }),
  other("fsdp_version", "fsdp_version", "integer", "version", {
    min: 1,
    max: 2,
  }),
  memory("fsdp_config", null, "map", "fsdp", { nullable: true }),
  memory("fsdp_config.fsdp_version", "fsdp_version", "integer", "fsdp_version", { min: 1, max: 2 }),
  memory("fsdp_config.sharding_strategy", "fsdp", "any", "fsdp", {
    aliases: ["fsdp_config.fsdp_sharding_strategy"],
    means: SHARDING,
  }),
  memory("fsdp_config.reshard_after_forward", "fsdp_reshard_after_forward", "boolean", "reshard_after_forward", {
    aliases: ["fsdp_config.fsdp_reshard_after_forward"],
  }),
  memory("fsdp_config.offload_params", "fsdp_cpu_offload", "boolean", "cpu_offload", {
    aliases: ["fsdp_config.fsdp_offload_params"],
    also: [
      { name: "offload_param", means: { true: "cpu", false: "none" } },
      { name: "offload_optimizer", means: { true: "cpu", false: "none" } },
    ],
  }),
  memory("fsdp_config.activation_checkpointing", "fsdp_activation_checkpointing", "boolean", "checkpointing", {
    aliases: ["fsdp_config.fsdp_activation_checkpointing"],
  }),
  memory("fsdp_config.transformer_layer_cls_to_wrap", "fsdp_wrap_class", "any", "transformer_layer_cls_to_wrap", {
    aliases: ["fsdp_config.fsdp_transformer_layer_cls_to_wrap"],
  }),
  memory("dp_shard_size", "dp_shard_size", "integer", "parallelism_config_dp_shard_size", { nullable: true }),
  memory("ray_num_workers", "world_size", "integer", "devices", { nullable: true, min: 1 }),
  memory("dp_replicate_size", "dp_replicate_size", "integer", "dp_replicate_size", { nullable: true }),
  memory("tensor_parallel_size", "tensor_parallel", "integer", "tensor", { nullable: true, min: 1 }),
  memory("context_parallel_size", "context_parallel", "integer", "context", {
    nullable: true,
    min: 1,
    aliases: ["sequence_parallel_degree"],
  }),
  memory("expert_parallel_size", "expert_parallel", "integer", "expert", { nullable: true, min: 1 }),
  memory("rl", "rl", "string", "rl", {
    nullable: true,
  }),
  // core/builders/causal.py: AxolotlRewardTrainer and AxolotlPRMTrainer in place of the plain trainer.
  memory("reward_model", null, "boolean", "rl", {
    nullable: true,
    also: [{ name: "rl", means: onlyWhenOn("reward"), only: true }],
  }),
  memory("process_reward_model", null, "boolean", "rl", {
    nullable: true,
    also: [{ name: "rl", means: onlyWhenOn("prm"), only: true }],
  }),
  memory("num_labels", "num_labels", "integer", "num_labels", { nullable: true }),
  memory("trl", null, "map", "trl", { nullable: true }),
  memory("trl.beta", "beta", "number", "beta"),
  memory("trl.num_generations", "num_generations", "integer", "generations", { min: 1 }),
  memory("trl.max_completion_length", "max_completion_length", "integer", "max_completion_length", { min: 1 }),
  memory("trl.use_vllm", "use_vllm", "boolean", "use_vllm"),
  memory("vllm", null, "map", "axolotl.vllm", { nullable: true }),
  memory("vllm.gpu_memory_utilization", "vllm_gpu_memory_utilization", "number", "vllm", { min: 0, max: 1 }),
  memory("torch_compile", "torch_compile", "any", "compile", { nullable: true }),
  memory("tiled_mlp", null, "boolean", "tiled_mlp", {
    nullable: true,
  }),
  memory("chunked_cross_entropy", "chunked_loss", "boolean", "chunked-loss", { nullable: true }),
  memory("chunked_cross_entropy_num_chunks", "loss_chunks", "integer", "chunked-loss", { min: 1, nullable: true }),
  memory("liger_fused_linear_cross_entropy", "liger_fused_loss", "boolean", "fused-loss", { nullable: true }),
  memory("cut_cross_entropy", "cut_cross_entropy", "boolean", "fused-loss", { nullable: true }),
  memory("plugins", "plugins", "list", "plugins", {
    nullable: true,
  }),
  memory("quantize_moe_experts", null, "boolean", "quantize_moe_experts", { nullable: true }),
  memory("lora_mlp_kernel", null, "boolean", "fused-kernel", { nullable: true }),
  memory("lora_qkv_kernel", null, "boolean", "fused-kernel", { nullable: true }),
  memory("lora_o_kernel", null, "boolean", "fused-kernel", { nullable: true }),
  memory("lora_embedding_kernel", null, "boolean", "fused-kernel", { nullable: true }),
  memory("liger_rms_norm", "liger_norms", "boolean", "fused-kernel", { nullable: true }),
  memory("liger_layer_norm", null, "boolean", "fused-kernel", { nullable: true }),
  memory("liger_glu_activation", "liger_gates", "boolean", "fused-kernel", { nullable: true }),
  memory("liger_swiglu", "liger_gates", "boolean", "fused-kernel", { nullable: true }),
  memory("liger_cross_entropy", null, "boolean", "fused-kernel", { nullable: true }),
  memory("flash_attn_cross_entropy", null, "boolean", "fused-kernel", { nullable: true }),
  memory("flash_attn_rms_norm", null, "boolean", "fused-kernel", { nullable: true }),
  memory("flash_attn_fuse_mlp", null, "boolean", "fused-kernel", { nullable: true }),
  memory("flash_attn_fuse_qkv", null, "boolean", "fused-kernel", { nullable: true, removedIn: "axolotl 0.12" }),
  memory("unsloth_cross_entropy_loss", null, "boolean", "fused-kernel", {
    nullable: true,
    removedIn: "axolotl 0.17",
  }),
  memory("unsloth_rope", null, "boolean", "fused-kernel", { nullable: true, removedIn: "axolotl 0.17" }),
  memory("unsloth_rms_norm", null, "boolean", "fused-kernel", { nullable: true, removedIn: "axolotl 0.17" }),
  memory("unsloth_lora_mlp", null, "boolean", "fused-kernel", { nullable: true, removedIn: "axolotl 0.17" }),
  memory("unsloth_lora_qkv", null, "boolean", "fused-kernel", { nullable: true, removedIn: "axolotl 0.17" }),
  memory("unsloth_lora_o", null, "boolean", "fused-kernel", { nullable: true, removedIn: "axolotl 0.17" }),
  memory("use_scattermoe", null, "boolean", "fused-kernel", { nullable: true }),
  memory("use_sonicmoe", null, "boolean", "fused-kernel", { nullable: true }),
  memory("max_packed_sequence_len", null, "integer", "sequence", {
    nullable: true,
    removedIn: "axolotl 0.5",
    replacedBy: "sample_packing",
  }),
  memory("lora_target_parameters", "adapter_target_parameters", "any", "targets", { nullable: true }),
  memory("lora_layers_to_transform", "adapter_layers", "any", "targets", { nullable: true }),
  memory("relora", null, "any", "adapter", { nullable: true }),
  memory("relora_steps", null, "integer", "adapter", {
    nullable: true,
    removedIn: "axolotl 0.12",
    replacedBy: "jagged_restart_steps",
  }),
  memory("resize_token_embeddings_to_32x", null, "boolean", "vocabulary", { nullable: true }),
  memory("qat", null, "map", "lossy", { nullable: true }),
  memory("layer_offloading", null, "boolean", "offload-param", { nullable: true }),
  memory("galore_rank", null, "any", "projector", { nullable: true }),
  memory("optim_target_modules", "optim_target_modules", "any", "projector", { nullable: true }),
  memory("lisa_n_layers", null, "integer", "block", { nullable: true }),

  memory("shrink_embeddings", null, "boolean", "vocabulary", { nullable: true }),
  memory("trl.max_prompt_length", "max_prompt_length", "integer", "sequence", { nullable: true }),
  memory("trl.vllm_gpu_memory_utilization", "vllm_gpu_memory_utilization", "number", "vllm", { nullable: true }),
  memory("trl.vllm_mode", "vllm_mode", "string", "engine-part", { nullable: true }),
  memory("trl.vllm_enable_sleep_mode", "vllm_enable_sleep_mode", "boolean", "engine-part", { nullable: true }),
  memory("eval_sequence_len", "eval_sequence_length", "integer", "eval-sequence", { min: 1, nullable: true }),
  ...touching(
    "fused-kernel",
    "fused_attn_kernel experts_implementation use_kernels liger_rms_norm_gated flash_optimum",
  ),
  ...touching("quantization", "model_quantization_config model_quantization_config_kwargs.dequantize"),
  // Which modules of each kind are trained is in files of signal-to-noise ratios (axolotl/integrations/spectrum).
  ...touching("frozen", "spectrum_top_fraction"),
  other("spectrum_model_name", null, "string", "harmless"),
  ...touching("attention", "gemma4_hybrid_attn_impl"),
  ...touching("adapter", "relora_prune_ratio jagged_restart_steps"),
  ...touching("experts", "model_config.output_router_logits"),
  ...touching("lossy", "qat.weight_dtype qat.activation_dtype qat.group_size"),
  other("gpu_memory_limit", null, "any", "gpu_memory_limit", { nullable: true }),
  ...harmless(
    "model_type ddp_find_unused_parameters experimental_skip_move_to_device gptq_disable_exllama jagged_restart_warmup_steps jagged_restart_anneal_steps lisa_layers_attribute lora_fan_in_fan_out nvfp4_merge_aware reinit_weights tokens tokens.bos_token tokens.eos_token tokens.pad_token tokens.unk_token eval_sample_packing liger_rope excess_length_strategy group_by_length embedding_lr vllm.tensor_parallel_size vllm.max_model_len vllm.dtype trl.sync_ref_model ddp_bucket_cap_mb sequence_len_overflow_handling low_cpu_mem_usage quantization fsdp_config.cpu_ram_efficient_loading fsdp_config.fsdp_cpu_ram_efficient_loading fsdp_config.fsdp_sync_module_states fsdp_config.sync_module_states fsdp_config.limit_all_gathers fsdp_config.fsdp_limit_all_gathers",
  ),
  memory("fsdp_config.backward_prefetch", "fsdp_backward_prefetch", "any", "fsdp_backward_prefetch", {
    aliases: ["fsdp_config.fsdp_backward_prefetch"],
  }),
  memory("fsdp_config.use_orig_params", "fsdp_use_orig_params", "boolean", "fsdp_use_orig_params", {
    aliases: ["fsdp_config.fsdp_use_orig_params"],
  }),
  memory("fsdp_config.state_dict_type", "fsdp_state_dict_type", "any", "fsdp_state_dict_type", {
    aliases: ["fsdp_config.fsdp_state_dict_type"],
  }),
  memory("fsdp_config.auto_wrap_policy", null, "string", "fsdp_auto_wrap_policy", {
    aliases: ["fsdp_config.fsdp_auto_wrap_policy"],
    default: "TRANSFORMER_BASED_WRAP",
  }),
  other("datasets", null, "any", "data", { nullable: true }),
  other("val_set_size", "validation_share", "number", "val_set_size", { nullable: true }),
];
