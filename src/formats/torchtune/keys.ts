/**
 * torchtune's recipes (OmegaConf YAML; components by `_component_`).
 * Source: `torchtune/recipes/*.py`, `recipes/configs` at bd2a0fc.
 */
import { table } from "../../terms/table";
import { EFFECT, memory, other, PRECISION, STORAGE, touching } from "../effects";
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
  memory("model", null, "any", EFFECT.model),
  memory(
    "model._component_",
    "model_component",
    "string",
    "Builder of the model: `lora_…` and `qlora_…` train adapters.",
    { aliases: ["policy_model._component_", "student_model._component_"] },
  ),
  memory("model.lora_rank", "lora_rank", "integer", EFFECT.rank, { min: 1, aliases: ["student_model.lora_rank"] }),
  memory("model.lora_alpha", "lora_alpha", "number", EFFECT.alpha),
  memory("model.lora_dropout", "lora_dropout", "number", EFFECT.dropout, { min: 0, max: 1 }),
  memory("model.lora_attn_modules", "lora_target_modules", "list", EFFECT.targets),
  memory("model.apply_lora_to_mlp", "lora_on_mlp", "boolean", EFFECT.targets),
  memory("model.apply_lora_to_output", "lora_on_output", "boolean", EFFECT.targets),
  memory("model.quantize_base", "quantization", "boolean", EFFECT.quantization, {
    means: { true: "nf4", false: "none" },
  }),
  memory("model.use_dora", "use_dora", "boolean", "DoRA: a magnitude vector and larger activations per module."),
  other("checkpointer.checkpoint_dir", "model_directory", "string", "Directory of the weights."),
  memory("batch_size", "micro_batch_size", "integer", EFFECT.microBatch, { min: 1 }),
  memory("gradient_accumulation_steps", "gradient_accumulation_steps", "integer", EFFECT.accumulation, {
    default: 1,
    min: 1,
  }),
  memory("tokenizer.max_seq_len", "sequence_length", "integer", "Longest sample in tokens; null is unbounded.", {
    nullable: true,
    min: 1,
  }),
  memory("max_seq_len", "sequence_length", "integer", EFFECT.sequence, { nullable: true, min: 1 }),
  memory("dataset.packed", "packing", "boolean", EFFECT.packing),
  memory("dtype", "load_dtype", "string", "Weights, gradients and optimizer states are all kept in this dtype.", {
    means: STORAGE,
    also: [{ name: "compute_dtype", means: PRECISION }],
  }),
  memory("enable_activation_checkpointing", "gradient_checkpointing", "boolean", EFFECT.checkpointing, {
    default: false,
  }),
  memory("enable_activation_offloading", "offload_activations", "boolean", EFFECT.offloadActivations, {
    default: false,
  }),
  memory("ac_mode", "checkpoint_mode", "string", "Selective checkpointing keeps some layers' activations.", {
    nullable: true,
  }),
  memory("ac_option", "checkpoint_every_n_layers", "integer", "Checkpoints only every n-th layer.", { nullable: true }),
  memory("optimizer", null, "any", EFFECT.optimizer),
  memory("optimizer._component_", "optimizer", "string", EFFECT.optimizer, { means: OPTIMIZERS }),
  memory("optimizer.fused", "optimizer_fused", "boolean", "The fused step keeps no temporaries.", { nullable: true }),
  memory(
    "optimizer_in_bwd",
    "optimizer_in_backward",
    "boolean",
    "Steps each parameter in backward: gradients are never all alive.",
    { default: false },
  ),
  memory("clip_grad_norm", "max_grad_norm", "number", EFFECT.clipping, { nullable: true, min: 0 }),
  memory("fsdp_cpu_offload", "offload_param", "boolean", EFFECT.offloadParam, {
    default: false,
    means: { true: "cpu", false: "none" },
    also: [{ name: "offload_optimizer", means: { true: "cpu", false: "none" } }],
  }),
  memory(
    "fsdp_reshard_after_forward",
    "fsdp_reshard_after_forward",
    "boolean",
    "Frees a unit's gathered parameters after its forward.",
    { default: true, also: [{ name: "fsdp", means: { true: "full_shard", false: "shard_grad_op" } }] },
  ),
  memory("custom_sharded_layers", null, "list", "Layers sharded as units of their own."),
  memory("tensor_parallel_dim", "tensor_parallel", "integer", EFFECT.tensor, { default: 1, min: 1 }),
  memory("context_parallel_dim", "context_parallel", "integer", EFFECT.context, { default: 1, min: 1 }),
  memory(
    "data_parallel_shard_dim",
    "dp_shard_size",
    "integer",
    "GPUs the parameters are sharded over; -1 is all that remain.",
  ),
  memory("data_parallel_replicate_dim", "dp_replicate_size", "integer", "Copies of the sharded model.", { min: 1 }),
  memory("compile", "torch_compile", "any", EFFECT.compile, { nullable: true }),
  memory("loss.num_output_chunks", "loss_chunks", "integer", "Pieces of the sequence the loss is computed over.", {
    min: 1,
  }),
  memory("loss._component_", "loss_component", "string", "Chunked and linear losses never hold all logits at once."),
  memory("enable_fp8_training", "fp8", "boolean", "Matrix products in 8 bits."),
  memory("fp8_recipe_name", "fp8_recipe", "string", "How 8-bit products are scaled.", { nullable: true }),
  memory("teacher_model._component_", "teacher_model", "string", EFFECT.teacher, { nullable: true }),
  memory("batch_size_val", "eval_batch_size", "integer", EFFECT.evalBatch, { nullable: true }),
  memory("forward_batch_size", null, "integer", EFFECT.scoringRows, { nullable: true }),
  memory("ppo_batch_size", null, "integer", EFFECT.microBatch, { nullable: true }),
  memory("fsdp.cpu_offload", null, "boolean", EFFECT.offloadParam, { nullable: true }),
  memory("model.decoder_trainable", null, "any", EFFECT.frozen, { nullable: true }),
  memory("model.encoder_trainable", null, "any", EFFECT.frozen, { nullable: true }),
  memory("model.fusion_trainable", null, "any", EFFECT.frozen, { nullable: true }),
  memory("model.image_size", null, "integer", EFFECT.image, { nullable: true }),
  memory("tokenizer.image_size", null, "integer", EFFECT.image, { nullable: true }),
  memory("tokenizer.max_num_tiles", null, "integer", EFFECT.image, { nullable: true }),
  memory("max_generated_tokens", "max_completion_length", "integer", EFFECT.sequence, { nullable: true }),
  memory("reward_and_value_model._component_", null, "string", EFFECT.teacher, { nullable: true }),
  memory("ref_policy_model._component_", null, "string", EFFECT.reference, { nullable: true }),
  memory("quantizer._component_", null, "string", EFFECT.lossy, { nullable: true }),
  memory("dataset_val.packed", null, "boolean", EFFECT.packing, { nullable: true }),
  memory("enable_kv_cache", null, "boolean", EFFECT.enginePart, { nullable: true }),
  memory("num_generations", "num_generations", "integer", EFFECT.generations, {
    aliases: ["grpo_samples", "grpo_size"],
    min: 1,
  }),
  memory("ref_checkpointer", "ref_model", "any", EFFECT.reference, { nullable: true }),
  ...touching(EFFECT.reference, "ref_checkpointer.checkpoint_dir ref_policy_checkpointer.checkpoint_dir"),
  ...touching(
    EFFECT.teacher,
    "teacher_checkpointer.checkpoint_dir value_checkpointer.checkpoint_dir reward_checkpointer.checkpoint_dir reward_and_value_model.num_layers reward_and_value_model.vocab_size reward_and_value_model.max_seq_len",
  ),
  ...touching(EFFECT.tensor, "tensor_parallel_plan._component_"),
];
