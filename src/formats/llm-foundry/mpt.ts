/** llm-foundry's MPT (`llmfoundry/models/mpt/modeling_mpt.py`) from what its configs say beside the dimensions. */

type Config = Readonly<Record<string, unknown>>;

/** What is asked of a run's settings. */
interface Settings {
  boolean(name: "alibi" | "learned_positions" | "no_bias" | "rope"): boolean | undefined;
  number(name: "clip_qkv" | "num_query_groups"): number | undefined;
  string(name: "attention" | "ffn_type" | "loss_kernel" | "norm_type"): string | undefined;
}

/** Positions of its table where no key says them (`max_seq_len` of configuration_mpt.py). */
const POSITIONS = 2048;
/** Norms where no key says them. */
const LOW = "low_precision_layernorm";

/**
 * Its own code for an MPT, and the config with what the branches ask. What no capture has (rotary positions, gated feed-forwards, other
 * norms) meets no graph's condition, so that the report says what stands in.
 */
export function mptCode(
  config: Config,
  settings: Settings,
): { readonly code: string; readonly config: Config } | undefined {
  if (config["model_type"] !== "mpt") return undefined;
  const alibi = settings.boolean("alibi") === true;
  return {
    code: "llm-foundry.mpt",
    config: {
      max_seq_len: POSITIONS,
      ...config,
      kv_n_heads: settings.number("num_query_groups") ?? config["n_heads"],
      tie_word_embeddings: config["tie_word_embeddings"] !== false,
      alibi,
      learned_pos_emb: settings.boolean("learned_positions") ?? true,
      clips_qkv: (settings.number("clip_qkv") ?? 0) > 0,
      rope: settings.boolean("rope") === true,
      gated: (settings.string("ffn_type") ?? "mptmlp") !== "mptmlp",
      low_precision_norm: (settings.string("norm_type") ?? LOW).toLowerCase() === LOW,
      no_bias: settings.boolean("no_bias") === true,
      fused_loss: settings.string("loss_kernel") !== "torch_crossentropy",
    },
  };
}
