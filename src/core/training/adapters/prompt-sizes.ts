/** What the dimensions of a model say of the vectors that are trained before its tokens. */
import type { Scope } from "../../graph/expression";

/** What the model's dimensions say of the vectors. */
export interface PromptSizes {
  readonly hidden: number;
  readonly layers: number;
  /** Heads of keys and values, and their width. */
  readonly keyHeads: number;
  readonly keyWidth: number;
}

/** The first of some config keys that has a number. */
function numberOf(scope: Scope, ...keys: readonly string[]): number {
  return keys.map((key) => Number(scope(key))).find((value) => value > 0) ?? 0;
}

/** Dimensions of virtual tokens (peft/utils/other.py, _prepare_prompt_learning_config). */
export function promptSizes(scope: Scope): PromptSizes {
  const hidden = numberOf(scope, "hidden_size", "n_embd", "d_model", "dim");
  const layers = numberOf(scope, "num_hidden_layers", "n_layer", "num_layers", "n_layers");
  const heads = numberOf(scope, "num_attention_heads", "n_head", "num_heads", "n_heads", "encoder_attention_heads");
  const keyHeads = numberOf(scope, "num_key_value_heads") || heads || 1;
  const keyWidth = numberOf(scope, "head_dim") || (heads > 0 ? hidden / heads : hidden);
  return { hidden, layers, keyHeads, keyWidth };
}
