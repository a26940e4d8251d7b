/**
 * Axolotl's YAML beyond TrainingArguments.
 * Source: `axolotl/utils/schemas/{config,training,peft,model,fsdp}.py`, `core/builders/base.py` of 0.18.
 */
import { SHARDING } from "../accelerate/keys";
import { EFFECT, memory, onlyWhenOn, other } from "../effects";
import type { SchemaKey } from "../schema";

const ON_ATTENTION = (value: string): NonNullable<SchemaKey["also"]> => [
  { name: "attention", means: onlyWhenOn(value), only: true },
];

export const AXOLOTL_KEYS: readonly SchemaKey[] = [
  memory("base_model", "model", "string", EFFECT.model, { link: "model" }),
  other("base_model_config", "config_name", "string", "Config to build the model from instead of the model's own.", {
    nullable: true,
  }),
  memory("micro_batch_size", "micro_batch_size", "integer", EFFECT.microBatch, { default: 1, min: 1 }),
  memory("gradient_accumulation_steps", "gradient_accumulation_steps", "integer", EFFECT.accumulation, {
    default: 1,
    min: 1,
  }),
  memory(
    "batch_size",
    "batch_size_per_gpu",
    "integer",
    "Micro-batch times accumulation on each GPU; give the two instead.",
    { min: 1, nullable: true },
  ),
  memory("eval_batch_size", "eval_batch_size", "integer", EFFECT.evalBatch, { min: 1, nullable: true }),
  memory(
    "sequence_len",
    "sequence_length",
    "integer",
    "Tokens per row; with packing every step is micro_batch_size × sequence_len tokens.",
    { default: 512, min: 1 },
  ),
  memory("sample_packing", "packing", "boolean", EFFECT.packing, { nullable: true }),
  memory("eval_sample_packing", null, "boolean", "Packing in evaluation.", { nullable: true }),
  memory("pad_to_sequence_len", "pad_to_sequence_length", "boolean", "Every step has the full length.", {
    nullable: true,
  }),
  memory("batch_flattening", null, "any", "Micro-batch without padding.", { nullable: true }),
  memory("bf16", "bf16", "any", "bfloat16 weights and autocast; `auto` picks it where the GPU has it.", {
    auto: true,
    nullable: true,
    means: { full: true, True: true },
    also: [{ name: "load_dtype", means: onlyWhenOn("bfloat16"), only: true }],
  }),
  memory("fp16", "fp16", "any", "float16 weights and autocast.", {
    auto: true,
    nullable: true,
    also: [{ name: "load_dtype", means: onlyWhenOn("float16"), only: true }],
  }),
  memory("bfloat16", "bfloat16_without_autocast", "boolean", "bfloat16 throughout, no autocast.", {
    nullable: true,
    also: [{ name: "load_dtype", means: onlyWhenOn("bfloat16"), only: true }],
  }),
  memory("float16", "float16_without_autocast", "boolean", "float16 throughout, no autocast.", {
    nullable: true,
    also: [{ name: "load_dtype", means: onlyWhenOn("float16"), only: true }],
  }),
  other("tf32", "tf32", "any", "TensorFloat-32 matrix products: faster, no memory.", { auto: true, nullable: true }),
  memory("fp8", "fp8", "boolean", "Matrix products in 8 bits.", {
    nullable: true,
    also: [{ name: "compute_dtype", means: onlyWhenOn("fp8"), only: true }],
  }),
  memory("torch_dtype", "load_dtype", "string", EFFECT.load, { nullable: true }),
  memory("gradient_checkpointing", "gradient_checkpointing", "any", EFFECT.checkpointing, {
    default: false,
    nullable: true,
    means: { offload: true, offload_disk: true, unsloth: true },
  }),
  memory("gradient_checkpointing_kwargs", null, "map", "How gradient checkpointing runs.", { nullable: true }),
  memory(
    "gradient_checkpointing_kwargs.use_reentrant",
    "use_reentrant",
    "boolean",
    "Old (reentrant) or new implementation of checkpointing.",
  ),
  memory("activation_offloading", "offload_activations", "any", EFFECT.offloadActivations, { nullable: true }),
  memory("optimizer", "optimizer", "string", EFFECT.optimizer, { default: "adamw_torch_fused" }),
  memory("optim_args", "optim_args", "any", "Extra arguments of the optimizer.", { nullable: true }),
  memory("max_grad_norm", "max_grad_norm", "number", EFFECT.clipping, { nullable: true, min: 0 }),
  memory("attn_implementation", "attention", "string", EFFECT.attention, { nullable: true }),
  memory("flash_attention", null, "boolean", EFFECT.attention, {
    nullable: true,
    also: ON_ATTENTION("flash_attention_2"),
  }),
  memory("sdp_attention", null, "boolean", EFFECT.attention, { nullable: true, also: ON_ATTENTION("sdpa") }),
  memory("flex_attention", null, "boolean", EFFECT.attention, { nullable: true, also: ON_ATTENTION("flex_attention") }),
  memory("eager_attention", null, "boolean", EFFECT.attention, { nullable: true, also: ON_ATTENTION("eager") }),
  memory("xformers_attention", null, "boolean", EFFECT.attention, { nullable: true }),
  memory("s2_attention", null, "boolean", "Shifted sparse attention.", { nullable: true }),
  memory("adapter", "adapter", "any", EFFECT.adapter, { nullable: true, means: { null: "none", "": "none" } }),
  memory("load_in_4bit", "load_in_4bit", "boolean", EFFECT.quantization, { default: false, nullable: true }),
  memory("load_in_8bit", "load_in_8bit", "boolean", EFFECT.quantization, { default: false, nullable: true }),
  memory("gptq", null, "any", EFFECT.quantization, {
    nullable: true,
    also: [{ name: "quantization", means: onlyWhenOn("gptq"), only: true }],
  }),
  memory("lora_r", "lora_rank", "integer", EFFECT.rank, { min: 1, nullable: true }),
  memory("lora_alpha", "lora_alpha", "number", EFFECT.alpha, { nullable: true }),
  memory("lora_dropout", "lora_dropout", "number", EFFECT.dropout, { default: 0, min: 0, max: 1, nullable: true }),
  memory("lora_target_modules", "lora_target_modules", "any", EFFECT.targets, { nullable: true }),
  memory("lora_target_linear", null, "boolean", "Adapters on all linear layers.", {
    nullable: true,
    also: [{ name: "lora_target_modules", means: onlyWhenOn("all-linear"), only: true }],
  }),
  memory("lora_modules_to_save", "lora_modules_to_save", "list", EFFECT.toSave, { nullable: true }),
  memory("peft_use_dora", "use_dora", "boolean", "DoRA: a magnitude vector and larger activations per module.", {
    nullable: true,
  }),
  memory("peft_use_rslora", "use_rslora", "boolean", "Rank-stabilised scaling: no memory.", { nullable: true }),
  memory("lora_model_dir", "lora_model_dir", "string", "Adapter to continue from.", {
    nullable: true,
    link: "adapter",
  }),
  memory("bnb_config_kwargs", null, "map", "Options of bitsandbytes.", { nullable: true }),
  memory(
    "bnb_config_kwargs.bnb_4bit_use_double_quant",
    "double_quantization",
    "boolean",
    "Quantizes the scales too: 0.05 byte less per weight.",
  ),
  memory("bnb_config_kwargs.bnb_4bit_quant_type", "bnb_4bit_quant_type", "string", "4-bit number format."),
  memory("unfrozen_parameters", "unfrozen_parameters", "list", "Trains these weights only.", { nullable: true }),
  memory("deepspeed", "deepspeed", "map", EFFECT.deepspeed, { nullable: true, link: "deepspeed" }),
  memory("fsdp", "fsdp_options", "any", EFFECT.fsdp, { nullable: true }),
  other("fsdp_version", "fsdp_version", "integer", "FSDP 1 (flat parameters) or 2 (per parameter).", {
    min: 1,
    max: 2,
  }),
  memory("fsdp_config", null, "map", EFFECT.fsdp, { nullable: true }),
  memory("fsdp_config.fsdp_version", "fsdp_version", "integer", "FSDP 1 or 2.", { min: 1, max: 2 }),
  memory("fsdp_config.sharding_strategy", "fsdp", "any", EFFECT.fsdp, {
    aliases: ["fsdp_config.fsdp_sharding_strategy"],
    means: SHARDING,
  }),
  memory(
    "fsdp_config.reshard_after_forward",
    "fsdp_reshard_after_forward",
    "boolean",
    "Frees a unit's gathered parameters after its forward.",
    { aliases: ["fsdp_config.fsdp_reshard_after_forward"] },
  ),
  memory("fsdp_config.offload_params", "fsdp_cpu_offload", "boolean", "Keeps the shards in host memory.", {
    aliases: ["fsdp_config.fsdp_offload_params"],
    also: [
      { name: "offload_param", means: { true: "cpu", false: "none" } },
      { name: "offload_optimizer", means: { true: "cpu", false: "none" } },
    ],
  }),
  memory("fsdp_config.activation_checkpointing", "fsdp_activation_checkpointing", "boolean", EFFECT.checkpointing, {
    aliases: ["fsdp_config.fsdp_activation_checkpointing"],
  }),
  memory(
    "fsdp_config.transformer_layer_cls_to_wrap",
    "fsdp_wrap_class",
    "any",
    "Class of the units that are gathered one at a time.",
    { aliases: ["fsdp_config.fsdp_transformer_layer_cls_to_wrap"] },
  ),
  memory("dp_shard_size", "dp_shard_size", "integer", "GPUs the parameters are sharded over.", { nullable: true }),
  memory("dp_replicate_size", "dp_replicate_size", "integer", "Copies of the sharded model.", { nullable: true }),
  memory("tensor_parallel_size", "tensor_parallel", "integer", EFFECT.tensor, { nullable: true, min: 1 }),
  memory("context_parallel_size", "context_parallel", "integer", EFFECT.context, {
    nullable: true,
    min: 1,
    aliases: ["sequence_parallel_degree"],
  }),
  memory("expert_parallel_size", "expert_parallel", "integer", EFFECT.expert, { nullable: true, min: 1 }),
  memory("rl", "rl", "string", "Preference or reinforcement training: other models may be loaded beside the policy.", {
    nullable: true,
  }),
  memory("trl", null, "map", "Options of TRL's trainer.", { nullable: true }),
  memory("trl.beta", "beta", "number", "Weight of the KL term: 0 in GRPO means no reference model."),
  memory("trl.num_generations", "num_generations", "integer", EFFECT.generations, { min: 1 }),
  memory("trl.max_completion_length", "max_completion_length", "integer", "Longest completion in tokens.", { min: 1 }),
  memory("trl.use_vllm", "use_vllm", "boolean", "Generates with vLLM."),
  memory("vllm", null, "map", "Options of vLLM.", { nullable: true }),
  memory("vllm.gpu_memory_utilization", "vllm_gpu_memory_utilization", "number", EFFECT.vllm, { min: 0, max: 1 }),
  memory("torch_compile", "torch_compile", "any", EFFECT.compile, { nullable: true }),
  memory("tiled_mlp", null, "boolean", "Computes the MLP in slices of the sequence: smaller temporaries.", {
    nullable: true,
  }),
  memory("chunked_cross_entropy", "fused_loss", "boolean", EFFECT.fusedLoss, { nullable: true }),
  memory("liger_fused_linear_cross_entropy", "liger_fused_loss", "boolean", EFFECT.fusedLoss, { nullable: true }),
  memory("cut_cross_entropy", "cut_cross_entropy", "boolean", EFFECT.fusedLoss, { nullable: true }),
  memory("plugins", "plugins", "list", "Plugins: Liger and Cut Cross Entropy act only when they are listed.", {
    nullable: true,
  }),
  memory("quantize_moe_experts", null, "boolean", "Quantizes the experts too.", { nullable: true }),
  other("gpu_memory_limit", null, "any", "Upper bound of the weights' placement.", { nullable: true }),
  other("datasets", null, "any", EFFECT.data, { nullable: true }),
  other("val_set_size", "validation_share", "number", "Share kept for evaluation.", { nullable: true }),
];
