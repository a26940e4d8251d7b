/**
 * torchtune's recipes (OmegaConf YAML; components by `_component_`).
 * Source: `torchtune/recipes/*.py`, `recipes/configs` at bd2a0fc.
 */
import { table } from "../../terms/table";
import { memory, other, PRECISION, STORAGE, touching } from "../effects";
import type { KeySpec } from "../types";

/** Optimizer components by the name of the same optimizer in transformers. */
const OPTIMIZERS: Readonly<Record<string, string>> = table({
  "torch.optim.AdamW": "adamw_torch",
  "torch.optim.Adam": "adamw_torch",
  "torch.optim.SGD": "sgd",
  "torch.optim.RMSprop": "rmsprop",
  "torch.optim.Adagrad": "adagrad",
  "bitsandbytes.optim.AdamW8bit": "adamw_bnb_8bit",
  "bitsandbytes.optim.PagedAdamW": "paged_adamw_32bit",
  "bitsandbytes.optim.PagedAdamW32bit": "paged_adamw_32bit",
  "bitsandbytes.optim.PagedAdamW8bit": "paged_adamw_8bit",
  "bitsandbytes.optim.Lion": "lion_32bit",
  "bitsandbytes.optim.Lion8bit": "lion_8bit",
  "bitsandbytes.optim.PagedLion": "paged_lion_32bit",
  "bitsandbytes.optim.PagedLion8bit": "paged_lion_8bit",
  "torchao.optim.AdamW8bit": "adamw_torch_8bit",
  "torchao.optim.AdamW4bit": "adamw_torch_4bit",
  "torchao.prototype.low_bit_optim.AdamW8bit": "adamw_torch_8bit",
  "torchao.prototype.low_bit_optim.AdamW4bit": "adamw_torch_4bit",
});

export const TORCHTUNE_KEYS: readonly KeySpec[] = [
  memory("model", null, "any", "model"),
  memory("model._component_", "model_component", "string", "_component_", {
    aliases: ["policy_model._component_", "student_model._component_"],
  }),
  memory("model.embed_dim", "hidden_size", "integer", "width", { min: 1 }),
  memory("model.num_layers", "num_layers", "integer", "layers", { min: 1 }),
  memory("model.num_heads", "num_attention_heads", "integer", "heads", { min: 1 }),
  memory("model.num_kv_heads", "num_query_groups", "integer", "heads", { min: 1 }),
  memory("model.head_dim", "kv_channels", "integer", "kv_channels", { nullable: true, min: 1 }),
  memory("model.intermediate_dim", "ffn_hidden_size", "integer", "width", { nullable: true, min: 1 }),
  memory("model.vocab_size", "vocab_size", "integer", "vocabulary", { min: 1 }),
  memory("model.max_seq_len", "max_position_embeddings", "integer", "max_position_embeddings", { min: 1 }),
  memory("model.tie_word_embeddings", "tied_embeddings", "boolean", "tie_word_embeddings"),
  memory("model.lora_rank", "lora_rank", "integer", "rank", { min: 1, aliases: ["student_model.lora_rank"] }),
  memory("model.lora_alpha", "lora_alpha", "number", "alpha"),
  memory("model.lora_dropout", "lora_dropout", "number", "dropout", { min: 0, max: 1 }),
  memory("model.lora_attn_modules", "lora_target_modules", "list", "targets"),
  memory("model.apply_lora_to_mlp", "lora_on_mlp", "boolean", "targets"),
  memory("model.apply_lora_to_output", "lora_on_output", "boolean", "targets"),
  memory("model.quantize_base", "quantization", "boolean", "quantization", {
    means: { true: "nf4", false: "none" },
  }),
  memory("model.use_dora", "use_dora", "boolean", "use_dora"),
  other("checkpointer.checkpoint_dir", "model_directory", "string", "checkpoint_dir"),
  memory("batch_size", "micro_batch_size", "integer", "micro-batch", { min: 1 }),
  memory("gradient_accumulation_steps", "gradient_accumulation_steps", "integer", "accumulation", {
    default: 1,
    min: 1,
  }),
  memory("tokenizer.max_seq_len", "sequence_length", "integer", "max_seq_len", {
    nullable: true,
    min: 1,
  }),
  memory("max_seq_len", "sequence_length", "integer", "sequence", { nullable: true, min: 1 }),
  memory("dataset.packed", "packing", "boolean", "packing"),
  memory("dtype", "load_dtype", "string", "torchtune.dtype", {
    means: STORAGE,
    also: [{ name: "compute_dtype", means: PRECISION }],
  }),
  memory("enable_activation_checkpointing", "gradient_checkpointing", "boolean", "checkpointing", {
    default: false,
  }),
  memory("enable_activation_offloading", "offload_activations", "boolean", "offload-activations", {
    default: false,
  }),
  memory("ac_mode", "checkpoint_mode", "string", "ac_mode", {
    nullable: true,
  }),
  memory("ac_option", "checkpoint_every_n_layers", "integer", "every_n_layers", { nullable: true }),
  memory("optimizer", null, "any", "optimizer"),
  memory("optimizer._component_", "optimizer", "string", "optimizer", { means: OPTIMIZERS }),
  memory("optimizer.fused", "optimizer_fused", "boolean", "torch_adam_is_fused", { nullable: true }),
  memory("optimizer_in_bwd", "optimizer_in_backward", "boolean", "early_step_in_backward", { default: false }),
  memory("clip_grad_norm", "max_grad_norm", "number", "clipping", { nullable: true, min: 0 }),
  memory("fsdp_cpu_offload", "offload_param", "boolean", "offload-param", {
    default: false,
    means: { true: "cpu", false: "none" },
    also: [{ name: "offload_optimizer", means: { true: "cpu", false: "none" } }],
  }),
  memory("fsdp_reshard_after_forward", "fsdp_reshard_after_forward", "boolean", "reshard_after_forward", {
    default: true,
    also: [{ name: "fsdp", means: { true: "full_shard", false: "shard_grad_op" } }],
  }),
  memory("custom_sharded_layers", null, "list", "custom_sharded_layers"),
  memory("tensor_parallel_dim", "tensor_parallel", "integer", "tensor", { default: 1, min: 1 }),
  memory("context_parallel_dim", "context_parallel", "integer", "context", { default: 1, min: 1 }),
  memory("data_parallel_shard_dim", "dp_shard_size", "integer", "data_parallel_shard_degree"),
  memory("data_parallel_replicate_dim", "dp_replicate_size", "integer", "dp_replicate_size", { min: 1 }),
  memory("compile", "torch_compile", "any", "compile", { nullable: true }),
  memory("loss.num_output_chunks", "loss_chunks", "integer", "num_output_chunks", {
    min: 1,
  }),
  memory("loss._component_", "loss_component", "string", "loss._component_"),
  memory("enable_fp8_training", "fp8", "boolean", "fp8_config"),
  memory("fp8_recipe_name", "fp8_recipe", "string", "fp8_recipe", { nullable: true }),
  memory("teacher_model._component_", "teacher_model", "string", "teacher", { nullable: true }),
  memory("batch_size_val", "eval_batch_size", "integer", "eval-batch", { nullable: true }),
  memory("forward_batch_size", null, "integer", "scoring-rows", { nullable: true }),
  memory("ppo_batch_size", null, "integer", "micro-batch", { nullable: true }),
  memory("fsdp.cpu_offload", null, "boolean", "offload-param", { nullable: true }),
  memory("model.decoder_trainable", null, "any", "frozen", { nullable: true }),
  memory("model.encoder_trainable", null, "any", "frozen", { nullable: true }),
  memory("model.fusion_trainable", null, "any", "frozen", { nullable: true }),
  memory("model.image_size", null, "integer", "image", { nullable: true }),
  memory("tokenizer.image_size", null, "integer", "image", { nullable: true }),
  memory("tokenizer.max_num_tiles", null, "integer", "image", { nullable: true }),
  memory("max_generated_tokens", "max_completion_length", "integer", "sequence", { nullable: true }),
  memory("reward_and_value_model._component_", null, "string", "teacher", { nullable: true }),
  memory("ref_policy_model._component_", null, "string", "reference", { nullable: true }),
  memory("quantizer._component_", null, "string", "lossy", { nullable: true }),
  memory("dataset_val.packed", null, "boolean", "packing", { nullable: true }),
  memory("enable_kv_cache", null, "boolean", "engine-part", { nullable: true }),
  memory("num_generations", "num_generations", "integer", "generations", {
    aliases: ["grpo_samples", "grpo_size"],
    min: 1,
  }),
  memory("ref_checkpointer", "ref_model", "any", "reference", { nullable: true }),
  ...touching("reference", "ref_checkpointer.checkpoint_dir ref_policy_checkpointer.checkpoint_dir"),
  ...touching(
    "teacher",
    "teacher_checkpointer.checkpoint_dir value_checkpointer.checkpoint_dir reward_checkpointer.checkpoint_dir reward_and_value_model.num_layers reward_and_value_model.vocab_size reward_and_value_model.max_seq_len",
  ),
  ...touching("tensor", "tensor_parallel_plan._component_"),
];
