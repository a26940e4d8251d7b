/**
 * nanotron's YAML: the whole run, architecture included.
 * Source: `nanotron/config/{config,parallelism_config,models_config}.py` at 2411b02.
 */
import type { SettingName } from "../../terms/settings";
import { EFFECT, memory, other, PRECISION, STORAGE } from "../effects";
import type { KeySpec } from "../types";

const ARCHITECTURE: readonly (readonly [string, SettingName, string])[] = [
  ["hidden_size", "hidden_size", EFFECT.width],
  ["intermediate_size", "ffn_hidden_size", EFFECT.width],
  ["num_hidden_layers", "num_layers", EFFECT.layers],
  ["num_attention_heads", "num_attention_heads", EFFECT.heads],
  ["num_key_value_heads", "num_query_groups", EFFECT.heads],
  ["vocab_size", "vocab_size", EFFECT.vocabulary],
  ["max_position_embeddings", "max_position_embeddings", "Longest position the model knows."],
];

export const NANOTRON_KEYS: readonly KeySpec[] = [
  memory("tokens.micro_batch_size", "micro_batch_size", "integer", EFFECT.microBatch, { min: 1 }),
  memory("tokens.sequence_length", "sequence_length", "integer", EFFECT.sequence, { min: 1 }),
  memory("tokens.batch_accumulation_per_replica", "gradient_accumulation_steps", "integer", EFFECT.accumulation, {
    min: 1,
  }),
  memory("parallelism.dp", "data_parallel", "integer", "Data-parallel copies.", { min: 1 }),
  memory("parallelism.tp", "tensor_parallel", "integer", EFFECT.tensor, { min: 1 }),
  memory("parallelism.pp", "pipeline_parallel", "integer", EFFECT.pipeline, { min: 1 }),
  memory("parallelism.context_parallel_size", "context_parallel", "integer", EFFECT.context, {
    min: 1,
    aliases: ["parallelism.cp"],
  }),
  memory("parallelism.expert_parallel_size", "expert_parallel", "integer", EFFECT.expert, { min: 1 }),
  memory("parallelism.pp_engine", null, "string", EFFECT.schedule),
  memory("parallelism.tp_mode", "tp_mode", "string", "REDUCE_SCATTER also splits norm and dropout activations."),
  memory("parallelism.recompute_layer", "gradient_checkpointing", "boolean", EFFECT.checkpointing, { default: false }),
  memory("parallelism.recompute_granularity", "recompute_granularity", "string", EFFECT.checkpointing, {
    nullable: true,
    also: [{ name: "gradient_checkpointing", means: { full: true, selective: true }, only: true }],
  }),
  memory("model", null, "map", EFFECT.model),
  memory("parallelism.tp_recompute_allgather", null, "boolean", EFFECT.recomputed, { nullable: true }),
  memory("parallelism.moe_layer_recompute", null, "boolean", EFFECT.recomputed, { nullable: true }),
  memory("model.model_config.residual_in_fp32", null, "boolean", EFFECT.statesDtype, { nullable: true }),
  memory("model.dtype", "load_dtype", "string", EFFECT.load, {
    writes: { bfloat16: "bfloat16", float16: "float16", float32: "float32" },
    means: STORAGE,
    also: [{ name: "compute_dtype", means: PRECISION }],
  }),
  other("model.ddp_bucket_cap_mb", null, "integer", "Size of the gradient buckets in MiB.", { min: 1 }),
  memory("model.model_config", null, "map", "Architecture of the model."),
  ...ARCHITECTURE.map(([key, name, effect]) => memory(`model.model_config.${key}`, name, "integer", effect)),
  memory(
    "model.model_config.tie_word_embeddings",
    "tied_embeddings",
    "boolean",
    "Shares the embedding with the output layer.",
  ),
  memory("optimizer.zero_stage", "zero_stage", "integer", EFFECT.zero, { min: 0, max: 1 }),
  memory(
    "optimizer.accumulate_grad_in_fp32",
    null,
    "boolean",
    "A float32 copy of the gradients: 4 bytes per parameter.",
    { also: [{ name: "grad_accum_dtype", means: { true: "float32", false: "none" }, only: true }] },
  ),
  memory("optimizer.clip_grad", "max_grad_norm", "number", EFFECT.clipping, { nullable: true, min: 0 }),
  memory("optimizer.optimizer_factory", null, "map", EFFECT.optimizer),
  memory("optimizer.optimizer_factory.name", "optimizer", "string", EFFECT.optimizer, {
    means: { adamW: "adamw_torch", sgd: "sgd" },
  }),
  memory(
    "optimizer.optimizer_factory.torch_adam_is_fused",
    "optimizer_fused",
    "boolean",
    "The fused step keeps no temporaries.",
  ),
  other("tokenizer.tokenizer_name_or_path", null, "string", "Tokenizer."),
];
