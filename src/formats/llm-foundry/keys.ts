/**
 * llm-foundry (Composer) YAML.
 * Source: `llmfoundry/utils/config_utils.py`, `llmfoundry/command_utils/train.py` at 8c8dd48, Composer's FSDP config.
 */
import { SHARDING } from "../accelerate/keys";
import { EFFECT, harmless, memory, other, PRECISION, STORAGE, touching } from "../effects";
import type { KeySpec } from "../types";

export const LLM_FOUNDRY_KEYS: readonly KeySpec[] = [
  memory("max_seq_len", "sequence_length", "integer", EFFECT.sequence, { min: 1 }),
  memory("global_train_batch_size", "global_batch_size", "integer", EFFECT.globalBatch, { min: 1 }),
  memory(
    "device_train_microbatch_size",
    "micro_batch_size",
    "number",
    "Samples per GPU in one forward; `auto` halves it at run time until it fits.",
    { auto: true, min: 0 },
  ),
  memory("device_train_batch_size", null, "number", "Samples per GPU and step; the micro-batch decides the memory.", {
    min: 0,
  }),
  memory("device_eval_batch_size", "eval_batch_size", "number", EFFECT.evalBatch, { min: 0 }),
  memory("precision", "compute_dtype", "string", EFFECT.compute, {
    writes: { bf16: "amp_bf16", fp16: "amp_fp16", fp8: "amp_fp8" },
    means: PRECISION,
  }),
  memory("model", null, "any", EFFECT.model),
  memory(
    "model.name",
    "model_class",
    "string",
    "mpt_causal_lm takes its dimensions from here, hf_causal_lm from a checkpoint.",
  ),
  memory("model.pretrained_model_name_or_path", "model", "string", EFFECT.model, { link: "model" }),
  memory("model.d_model", "hidden_size", "integer", EFFECT.width, { min: 1 }),
  memory("model.n_layers", "num_layers", "integer", EFFECT.layers, { min: 1 }),
  memory("model.n_heads", "num_attention_heads", "integer", EFFECT.heads, { min: 1 }),
  memory("model.vocab_size", "vocab_size", "integer", EFFECT.vocabulary, { min: 1 }),
  memory("model.expansion_ratio", "expansion_ratio", "number", EFFECT.width, { min: 1 }),
  memory("model.attn_config", null, "map", EFFECT.attention),
  memory("model.attn_config.attn_impl", "attention", "string", EFFECT.attention, {
    means: { flash: "flash_attention_2", torch: "eager", triton: "flash_attention_2", flex: "flex_attention" },
  }),
  memory("model.use_flash_attention_2", null, "boolean", EFFECT.attention, {
    also: [{ name: "attention", means: { true: "flash_attention_2" }, only: true }],
  }),
  memory("model.peft_config", null, "map", EFFECT.adapter, { nullable: true }),
  memory("model.peft_config.peft_type", "adapter", "string", EFFECT.adapter, { means: { LORA: "lora" } }),
  memory("model.peft_config.r", "lora_rank", "integer", EFFECT.rank, { min: 1 }),
  memory("model.peft_config.lora_alpha", "lora_alpha", "number", EFFECT.alpha),
  memory("model.peft_config.lora_dropout", "lora_dropout", "number", EFFECT.dropout, { min: 0, max: 1 }),
  memory("model.peft_config.target_modules", "lora_target_modules", "any", EFFECT.targets),
  memory("model.ffn_config.moe_num_experts", "num_experts", "integer", EFFECT.experts, { min: 1 }),
  memory("model.ffn_config.moe_world_size", "expert_parallel", "integer", EFFECT.expert, { min: 1 }),
  memory("model.master_weights_dtype", "load_dtype", "string", EFFECT.load, { means: STORAGE }),
  memory("optimizer", null, "map", EFFECT.optimizer),
  memory("optimizer.name", "optimizer", "string", EFFECT.optimizer, {
    // Composer's own steps go over the parameters one by one (composer/optim/decoupled_weight_decay.py)
    means: { decoupled_adamw: "adamw_torch", decoupled_lionw: "lion_32bit", adam: "adamw_torch", adamw: "adamw_torch" },
  }),
  memory("fsdp_config", null, "map", EFFECT.fsdp, { nullable: true }),
  memory("fsdp_config.sharding_strategy", "fsdp", "string", EFFECT.fsdp, { means: SHARDING }),
  memory(
    "fsdp_config.mixed_precision",
    null,
    "any",
    "PURE keeps gathered weights and reductions low, DEFAULT only the weights, FULL nothing.",
  ),
  memory("fsdp_config.activation_checkpointing", "gradient_checkpointing", "boolean", EFFECT.checkpointing, {
    default: false,
  }),
  memory(
    "fsdp_config.activation_checkpointing_reentrant",
    "use_reentrant",
    "boolean",
    "Old (reentrant) or new implementation of checkpointing.",
  ),
  memory("fsdp_config.activation_cpu_offload", "offload_activations", "boolean", EFFECT.offloadActivations),
  memory("fsdp_config.cpu_offload", "offload_param", "boolean", EFFECT.offloadParam, {
    means: { true: "cpu", false: "none" },
    also: [{ name: "offload_optimizer", means: { true: "cpu", false: "none" } }],
  }),
  other("fsdp_config.limit_all_gathers", null, "boolean", "Bounds how many units are gathered ahead."),
  memory("fsdp_config.use_orig_params", null, "boolean", "Keeps the original parameters visible."),
  memory("algorithms", null, "any", "Composer's algorithms.", { nullable: true }),
  memory("algorithms.gradient_clipping", null, "map", EFFECT.clipping),
  memory("algorithms.gradient_clipping.clipping_threshold", "max_grad_norm", "number", EFFECT.clipping, { min: 0 }),
  other("train_loader", null, "map", EFFECT.data),
  memory("train_loader.dataset.packing_ratio", "packing", "any", EFFECT.packing, { auto: true, nullable: true }),
  memory("parallelism_config.fsdp.sharding_strategy", "fsdp", "string", EFFECT.fsdp, { means: SHARDING }),
  memory("parallelism_config.fsdp.activation_checkpointing", "gradient_checkpointing", "boolean", EFFECT.checkpointing),
  ...harmless(
    "variables.max_seq_len train_loader.dataset.max_seq_len eval_loader.dataset.max_seq_len model.max_seq_len model.config_overrides.max_seq_len fsdp_config.sync_module_states fsdp_config.state_dict_type",
  ),
  ...touching(EFFECT.attention, "model.config_overrides.attn_config.attn_impl"),
  ...touching(EFFECT.masks, "model.attn_pdrop model.resid_pdrop model.emb_pdrop"),
  ...touching(
    EFFECT.fsdp,
    "fsdp_config.data_parallel_shard_degree fsdp_config.forward_prefetch fsdp_config.backward_prefetch",
  ),
  memory(
    "expandable_segments",
    "expandable_segments",
    "boolean",
    "The allocator grows its segments: less is lost between them.",
  ),
  other("compute.gpus", "world_size", "integer", EFFECT.devices, { min: 1 }),
];
