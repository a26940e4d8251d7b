/**
 * nanotron's YAML: the whole run, architecture included.
 * Source: `nanotron/config/{config,parallelism_config,models_config}.py` at 2411b02.
 */

import type { SettingName } from "../../terms/settings";
import type { EffectId } from "../../words/message";
import { harmless, memory, other, PRECISION, STORAGE, touching } from "../effects";
import type { KeySpec } from "../types";

const ARCHITECTURE: readonly (readonly [string, SettingName, EffectId])[] = [
  ["hidden_size", "hidden_size", "width"],
  ["intermediate_size", "ffn_hidden_size", "width"],
  ["num_hidden_layers", "num_layers", "layers"],
  ["num_attention_heads", "num_attention_heads", "heads"],
  ["num_key_value_heads", "num_query_groups", "heads"],
  ["vocab_size", "vocab_size", "vocabulary"],
  ["max_position_embeddings", "max_position_embeddings", "max_position_embeddings"],
];

export const NANOTRON_KEYS: readonly KeySpec[] = [
  memory("tokens.micro_batch_size", "micro_batch_size", "micro-batch"),
  memory("tokens.sequence_length", "sequence_length", "sequence"),
  memory("tokens.batch_accumulation_per_replica", "gradient_accumulation_steps", "accumulation"),
  memory("parallelism.dp", "data_parallel", "dp_size", { min: 1 }),
  memory("parallelism.tp", "tensor_parallel", "tensor"),
  memory("parallelism.pp", "pipeline_parallel", "pipeline"),
  memory("parallelism.context_parallel_size", "context_parallel", "context", { aliases: ["parallelism.cp"] }),
  memory("parallelism.expert_parallel_size", "expert_parallel", "expert"),
  memory("parallelism.pp_engine", null, "string", "schedule"),
  memory("parallelism.tp_mode", "tp_mode"),
  memory("parallelism.recompute_layer", "gradient_checkpointing", "checkpointing", { default: false }),
  memory("parallelism.recompute_granularity", "recompute_granularity", "checkpointing", {
    also: [{ name: "gradient_checkpointing", means: { full: true, selective: true }, only: true }],
  }),
  memory("model", null, "map"),
  memory("parallelism.tp_recompute_allgather", null, "boolean", "recomputed"),
  memory("parallelism.moe_layer_recompute", null, "boolean", "recomputed"),
  memory("model.model_config.residual_in_fp32", null, "boolean", "states-dtype"),
  memory("model.dtype", "load_dtype", "load", {
    writes: { bfloat16: "bfloat16", float16: "float16", float32: "float32" },
    means: STORAGE,
    also: [{ name: "compute_dtype", means: PRECISION }],
  }),
  other("model.ddp_bucket_cap_mb", null, "integer", "model.ddp_bucket_cap_mb", { min: 1 }),
  memory("model.model_config", null, "map"),
  ...ARCHITECTURE.map(([key, name, effect]) => memory(`model.model_config.${key}`, name, "integer", effect)),
  memory("model.model_config.tie_word_embeddings", "tied_embeddings"),
  memory("model.model_config._attn_implementation", "attention", "attention"),
  // Mixtures of experts and state-space layers are other classes there (nanotron/models); none is captured.
  ...touching("width", "model.model_config.d_model model.model_config.hidden_act model.model_config.ssm_cfg"),
  ...touching("experts", "model.model_config.moe_num_experts model.model_config.moe_config"),
  ...touching("vocabulary", "model.model_config.pad_vocab_size_multiple"),
  ...touching("fused-kernel", "model.model_config.fused_add_norm"),
  ...harmless(
    "model.model_config.dtype model.model_config.rms_norm model.model_config.rope_theta model.model_config.use_cache " +
      "model.model_config.num_experts_per_tok model.model_config.moe_capacity_factor parallelism.tp_linear_async_communication",
  ),
  memory("optimizer.torch_adam_is_fused", "optimizer_fused"),
  memory("optimizer.zero_stage", "zero_stage", "zero", { max: 1 }),
  memory("optimizer.accumulate_grad_in_fp32", null, "boolean", {
    also: [{ name: "grad_accum_dtype", means: { true: "float32", false: "none" }, only: true }],
  }),
  memory("optimizer.clip_grad", "max_grad_norm", "clipping"),
  memory("optimizer.optimizer_factory", null, "map", "optimizer"),
  memory("optimizer.optimizer_factory.name", "optimizer", "optimizer", { means: { adamW: "adamw_torch", sgd: "sgd" } }),
  memory("optimizer.optimizer_factory.torch_adam_is_fused", "optimizer_fused"),
  other("tokenizer.tokenizer_name_or_path", null, "string", "tokenizer_name"),
];
