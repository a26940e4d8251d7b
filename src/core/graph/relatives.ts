/**
 * Stand-ins for architectures nobody captured: the captured family whose code is nearest by what the config says, with
 * the config's own names brought to that family's. The estimate then states the substitution and widens its band.
 */
import { table } from "../../terms/table";
import type { ModelConfig } from "../training/run";

/** Other names of the keys every transformer has. */
const NAMES: Readonly<Record<string, readonly string[]>> = table({
  hidden_size: ["n_embd", "d_model", "dim", "model_dim", "embed_dim"],
  num_hidden_layers: ["n_layer", "n_layers", "num_layers", "num_decoder_layers", "decoder_layers", "depth"],
  num_attention_heads: ["n_head", "n_heads", "num_heads", "decoder_attention_heads"],
  num_key_value_heads: ["n_head_kv", "num_kv_heads", "multi_query_group_num", "n_kv_heads"],
  intermediate_size: [
    "n_inner",
    "d_ff",
    "ffn_dim",
    "ffn_hidden_size",
    "mlp_hidden_size",
    "decoder_ffn_dim",
    "moe_intermediate_size",
  ],
  num_local_experts: ["num_experts", "n_routed_experts", "moe_num_experts"],
  num_experts_per_tok: ["num_experts_per_token", "moe_top_k", "moe_k"],
  max_position_embeddings: ["n_positions", "max_sequence_length", "n_ctx", "seq_length"],
});

const has = (config: ModelConfig, ...keys: string[]): boolean =>
  keys.some((key) => [key, ...(NAMES[key] ?? [])].some((name) => typeof config[name] === "number"));

/** Family that stands in when all its conditions hold; the first match is the nearest. */
const RELATIVES: readonly { readonly family: string; readonly when: (config: ModelConfig) => boolean }[] = [
  // Experts are most of a model's weights: nothing without them is near.
  { family: "t5", when: (config) => config["is_encoder_decoder"] === true && !has(config, "num_local_experts") },
  {
    family: "vit",
    when: (config) => has(config, "image_size") && has(config, "patch_size") && !has(config, "vocab_size"),
  },
  { family: "mixtral", when: (config) => has(config, "num_local_experts") && has(config, "num_attention_heads") },
  { family: "bert", when: (config) => has(config, "type_vocab_size") || config["is_decoder"] === false },
  {
    family: "llama",
    when: (config) => typeof config["rms_norm_eps"] === "number" || has(config, "num_key_value_heads"),
  },
  { family: "gpt2", when: (config) => typeof config["n_embd"] === "number" },
  { family: "gpt_neox", when: (config) => has(config, "hidden_size") && has(config, "num_hidden_layers") },
];

/** The captured family nearest to an unknown model, or undefined when its config does not look like a transformer. */
export function relativeOf(config: ModelConfig): string | undefined {
  const text = textConfig(config);
  if (!has(text, "hidden_size") || !has(text, "num_hidden_layers")) return undefined;
  return RELATIVES.find(({ when }) => when(text))?.family;
}

/** Family of the language part of a multimodal config, or undefined: nearer than any other where it is captured. */
export function innerFamilyOf(config: ModelConfig): string | undefined {
  const text = textConfig(config);
  return text !== config && typeof text["model_type"] === "string" ? text["model_type"] : undefined;
}

/** The language part of a multimodal config, which holds most of the memory; else the config itself. */
export function textConfig(config: ModelConfig): ModelConfig {
  const inner = config["text_config"] ?? config["llm_config"] ?? config["language_config"];
  return typeof inner === "object" && inner !== null && !Array.isArray(inner) ? (inner as ModelConfig) : config;
}

/** The config in the names the stand-in's expressions use. */
export function configForRelative(config: ModelConfig): ModelConfig {
  const text = textConfig(config);
  const renamed: Record<string, unknown> = { ...text };
  for (const [name, others] of Object.entries(NAMES)) {
    if (typeof renamed[name] === "number") continue;
    const other = others.find((key) => typeof text[key] === "number");
    if (other !== undefined) renamed[name] = text[other];
  }
  // A two-layer feed-forward of the usual width, where the config leaves it out.
  if (typeof renamed["intermediate_size"] !== "number" && typeof renamed["hidden_size"] === "number")
    renamed["intermediate_size"] = 4 * renamed["hidden_size"];
  return renamed;
}
