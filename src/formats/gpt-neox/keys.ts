/**
 * gpt-neox: model and launch arguments with all of DeepSpeed's keys beside them, dashes and underscores alike.
 * Source: `megatron/neox_arguments/{neox_args,deepspeed_args}.py` at ea7aefd.
 */
import { DEEPSPEED_KEYS } from "../deepspeed/keys";
import { harmless, memory, other, PRECISION, touching } from "../effects";
import type { KeySpec } from "../types";

const OWN: readonly KeySpec[] = [
  memory("num_layers", "num_layers", "layers"),
  memory("hidden_size", "hidden_size", "width"),
  memory("intermediate_size", "ffn_hidden_size", "width", { min: 0 }),
  memory("num_attention_heads", "num_attention_heads", "heads"),
  memory("num_kv_heads", "num_query_groups", "heads", { min: 0 }),
  memory("seq_length", "sequence_length", "sequence"),
  memory("max_position_embeddings", "max_position_embeddings"),
  memory("make_vocab_size_divisible_by", "vocab_divisor", { default: 128 }),
  memory("no_weight_tying", "untied_embeddings"),
  memory("pipe_parallel_size", "pipeline_parallel", "pipeline", { default: 0, min: 0 }),
  memory("model_parallel_size", "tensor_parallel", "tensor", { default: 1 }),
  memory("context_parallel_size", "context_parallel", "context", { default: 1 }),
  memory("moe_num_experts", "num_experts", "experts", { min: 1 }),
  memory("moe_expert_parallel_size", "expert_parallel", "expert"),
  memory("gas", "gradient_accumulation_steps", "accumulation", { default: 1 }),
  memory("precision", "compute_dtype", "string", "compute", { writes: { bf16: "bfloat16" }, means: PRECISION }),
  memory("checkpoint_activations", "gradient_checkpointing", "checkpointing", { default: false }),
  memory("checkpoint_num_layers", "checkpoint_num_layers", { default: 1, min: 1 }),
  memory("partition_activations", null, "boolean", "gpt-neox.partition_activations"),
  memory("sequence_parallel", "sequence_parallelism", "sequence-parallel"),
  memory("attention_config", "attention_config"),
  memory("te_fp8_format", "fp8_format", "fp8_config", {
    also: [{ name: "compute_dtype", means: { hybrid: "fp8", e4m3: "fp8" }, only: true }],
  }),
  memory("num_gpus", "world_size", "devices"),
  other("train_iters", null, "integer"),
  ...touching(
    "fused-kernel",
    "scaled_upper_triang_masked_softmax_fusion scaled_masked_softmax_fusion bias_gelu_fusion layernorm_fusion rmsnorm_fusion rope_fusion use_flashattn_swiglu",
  ),
  ...touching("masks", "hidden_dropout attention_dropout"),
  ...touching("width", "ffn_hidden_size"),
  // The captured graph has rotary positions, attention beside the feed-forward and LayerNorms with biases.
  memory("norm", null, "string", "width", { computed: ["layernorm"] }),
  memory("pos_emb", null, "string", "width", { computed: ["rotary"] }),
  memory("attention_type", null, "string", "attention", { computed: ["multihead", "groupedquery"] }),
  ...touching("width", "use_bias_in_norms use_bias_in_attn_linear use_bias_in_mlp use_qk_layernorm"),
  ...touching("attention", "sliding_window_width"),
  ...harmless(
    "rotary_pct rotary_emb_base rotary_save_freqs_buffer gpt_j_residual gpt_j_tied output_layer_parallelism synchronize_each_layer " +
      "deepspeed_mosaic fp16.fp16 te_fp8_amax_compute_algo te_fp8_amax_history_len te_fp8_margin",
  ),
  ...touching("fused-kernel", "te_layernorm_mlp te_mha te_columnparallel te_rowparallel te_fp8_mha te_fp8_wgrad"),
  memory("use_bnb_optimizer", null, "boolean", "optimizer"),
  ...touching("attention", "sparsity_config"),
  ...touching("states-dtype", "fp32_allreduce"),
];

const OWN_NAMES = new Set(OWN.map((key) => key.key));

export const GPT_NEOX_KEYS: readonly KeySpec[] = [...OWN, ...DEEPSPEED_KEYS.filter((key) => !OWN_NAMES.has(key.key))];
