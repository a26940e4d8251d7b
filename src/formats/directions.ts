/**
 * Where keys that nothing is computed from move the memory, by what they do: a further copy or a larger part needs more, what is
 * split, sent away, recomputed or kept in fewer bits needs less. What may do either, or says only how much, is in neither list.
 */
import type { EffectId } from "../words/message";

export type Direction = "more" | "less";

const MORE: ReadonlySet<EffectId> = new Set<EffectId>([
  "MASK_ON",
  "calculate_entropy",
  "colocate_actor_ref",
  "colocate_all_models",
  "controlnet_model_name_or_path",
  "ema",
  "engine-part",
  "entropy_coeff",
  "expert-buffers",
  "experts",
  "fsdp_forward_prefetch",
  "lossy",
  "masks",
  "multi_scale",
  "overlap_grad_reduce",
  "overlap_param_gather",
  "parameter_alignment",
  "rampup_batch_size",
  "reference",
  "teacher",
  "torch_autocast",
  "upcast_before_saving",
  "upcast_layernorm",
  "upcast_lmhead_output",
  "vllm",
  "with_prior_preservation",
]);

const LESS: ReadonlySet<EffectId> = new Set<EffectId>([
  "adapter",
  "batch_flattening",
  "block",
  "cache_latents",
  "checkpointing",
  "context",
  "cross_entropy_loss_fusion",
  "deepspeed_enable_sleep",
  "diffusers.offload",
  "distribute_saved_activations",
  "entropy_checkpointing",
  "entropy_from_logits_with_chunking",
  "expert",
  "fp8_enable_fsdp_float8_all_gather",
  "frozen",
  "fused-kernel",
  "gpt-neox.partition_activations",
  "grad_offload",
  "offload-activations",
  "offload-optimizer",
  "offload-param",
  "offload_model",
  "optimizer_offload_fraction",
  "param_offload",
  "pre_compute_text_embeddings",
  "projector",
  "quantization",
  "quantize_moe_experts",
  "random-tokens",
  "recomputed",
  "s2_attention",
  "tensor",
  "tensor_parallel",
  "tiled_mlp",
  "use_precision_aware_optimizer",
  "zero",
  "zero_quantized_nontrainable_weights",
]);

/** Undefined: either, or unknown. */
export function directionOf(effect: EffectId): Direction | undefined {
  return MORE.has(effect) ? "more" : LESS.has(effect) ? "less" : undefined;
}
