/**
 * Kernels that Liger puts into a model by itself, by `model_type`: a type that is not here is left alone.
 * Source: liger_kernel/transformers/monkey_patch.py of 0.8.5 (MODEL_TYPE_TO_APPLY_LIGER_FN);
 * `python -m capture.facts.liger` writes this file.
 */
import { table } from "../../terms/table";

export type LigerKernel =
  | "cross_entropy"
  | "fused_linear_cross_entropy"
  | "geglu"
  | "layer_norm"
  | "relu_squared"
  | "rms_norm"
  | "rope"
  | "swiglu";

/** Names of kernels, separated by blanks. */
export const LIGER_FAMILIES: Readonly<Record<string, string>> = table({
  deepseek_v2: "fused_linear_cross_entropy rms_norm swiglu",
  deepseek_v3: "fused_linear_cross_entropy rms_norm swiglu",
  deepseek_v4: "fused_linear_cross_entropy rms_norm",
  exaone4: "fused_linear_cross_entropy rms_norm rope swiglu",
  falcon_h1: "fused_linear_cross_entropy rms_norm rope swiglu",
  gemma: "fused_linear_cross_entropy geglu rms_norm rope",
  gemma2: "fused_linear_cross_entropy geglu rms_norm rope",
  gemma3: "fused_linear_cross_entropy geglu layer_norm rms_norm rope",
  gemma3_text: "fused_linear_cross_entropy geglu rms_norm rope",
  gemma4: "fused_linear_cross_entropy geglu rms_norm",
  gemma4_text: "fused_linear_cross_entropy geglu rms_norm",
  glm4: "fused_linear_cross_entropy rms_norm swiglu",
  glm4v: "fused_linear_cross_entropy rms_norm swiglu",
  glm4v_moe: "fused_linear_cross_entropy rms_norm swiglu",
  gpt_oss: "fused_linear_cross_entropy rms_norm rope",
  granite: "cross_entropy rms_norm rope swiglu",
  hunyuan_v1_dense: "fused_linear_cross_entropy rms_norm rope swiglu",
  hunyuan_v1_moe: "fused_linear_cross_entropy rms_norm rope swiglu",
  internvl: "fused_linear_cross_entropy layer_norm rms_norm",
  llama: "fused_linear_cross_entropy rms_norm rope swiglu",
  llama4: "fused_linear_cross_entropy layer_norm rms_norm rope swiglu",
  llama4_text: "fused_linear_cross_entropy layer_norm rms_norm rope swiglu",
  llava: "fused_linear_cross_entropy",
  ministral: "fused_linear_cross_entropy rms_norm rope swiglu",
  mistral: "fused_linear_cross_entropy rms_norm rope swiglu",
  mixtral: "fused_linear_cross_entropy rms_norm rope swiglu",
  mllama: "fused_linear_cross_entropy layer_norm rms_norm rope swiglu",
  mllama_text_model: "fused_linear_cross_entropy layer_norm rms_norm rope swiglu",
  muse_glimmer: "fused_linear_cross_entropy layer_norm rms_norm rope swiglu",
  nemotron: "fused_linear_cross_entropy relu_squared",
  olmo2: "fused_linear_cross_entropy rms_norm rope swiglu",
  olmo3: "fused_linear_cross_entropy rms_norm rope swiglu",
  paligemma: "fused_linear_cross_entropy geglu layer_norm rms_norm rope",
  phi3: "fused_linear_cross_entropy rms_norm rope swiglu",
  pixtral: "rms_norm rope swiglu",
  qwen2: "fused_linear_cross_entropy rms_norm rope swiglu",
  qwen2_5_vl: "fused_linear_cross_entropy rms_norm rope swiglu",
  qwen2_5_vl_text: "fused_linear_cross_entropy rms_norm rope swiglu",
  qwen2_vl: "fused_linear_cross_entropy layer_norm rms_norm rope swiglu",
  qwen2_vl_text: "fused_linear_cross_entropy layer_norm rms_norm rope swiglu",
  qwen3: "fused_linear_cross_entropy rms_norm rope swiglu",
  qwen3_5: "fused_linear_cross_entropy rms_norm swiglu",
  qwen3_5_moe: "fused_linear_cross_entropy rms_norm swiglu",
  qwen3_5_moe_text: "fused_linear_cross_entropy rms_norm swiglu",
  qwen3_5_text: "fused_linear_cross_entropy rms_norm swiglu",
  qwen3_moe: "fused_linear_cross_entropy rms_norm rope swiglu",
  qwen3_next: "fused_linear_cross_entropy rms_norm swiglu",
  qwen3_vl: "fused_linear_cross_entropy rms_norm rope",
  qwen3_vl_moe: "fused_linear_cross_entropy rms_norm rope swiglu",
  qwen3_vl_moe_text: "fused_linear_cross_entropy rms_norm rope swiglu",
  qwen3_vl_text: "fused_linear_cross_entropy rms_norm rope",
  smollm3: "fused_linear_cross_entropy rms_norm rope swiglu",
  smolvlm: "fused_linear_cross_entropy layer_norm rms_norm",
});
