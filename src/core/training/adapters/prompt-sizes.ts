/** What the dimensions of a model say of the vectors that are trained before its tokens. */
import { DIMENSIONS } from "../../graph/dimensions";
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
  const hidden = numberOf(scope, ...DIMENSIONS.hidden);
  const layers = numberOf(scope, ...DIMENSIONS.layers);
  const heads = numberOf(scope, ...DIMENSIONS.heads, "encoder_attention_heads");
  const keyHeads = numberOf(scope, "num_key_value_heads") || heads || 1;
  const keyWidth = numberOf(scope, "head_dim") || (heads > 0 ? hidden / heads : hidden);
  return { hidden, layers, keyHeads, keyWidth };
}
