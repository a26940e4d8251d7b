/**
 * Names that configs have for the same dimension, most common first.
 * Source: transformers/models/<family>/configuration_<family>.py.
 */
export const DIMENSIONS = {
  hidden: ["hidden_size", "n_embd", "d_model", "dim"],
  layers: ["num_hidden_layers", "n_layer", "num_layers", "n_layers"],
  heads: ["num_attention_heads", "n_head", "num_heads", "n_heads"],
  inner: ["intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner"],
  expertInner: ["moe_intermediate_size", "shared_expert_intermediate_size"],
  experts: ["num_local_experts", "num_experts", "n_routed_experts"],
} as const;
