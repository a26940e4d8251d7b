/** What the dimensions of a model say of the vectors that are trained before its tokens. */
import { DIMENSIONS } from "../../graph/dimensions";
import type { Scope } from "../../graph/expression";
import type { Task } from "../run";

/** What the model's dimensions say of the vectors. */
export interface PromptSizes {
  readonly hidden: number;
  readonly layers: number;
  /** Heads of keys and values, and their width. */
  readonly keyHeads: number;
  readonly keyWidth: number;
  /** Stacks of layers that vectors are made for (`num_transformer_submodules`): a decoder's stand behind the encoder's. */
  readonly stacks: number;
}

/** The first of some config keys that has a number. */
function numberOf(scope: Scope, ...keys: readonly string[]): number {
  return keys.map((key) => Number(scope(key))).find((value) => value > 0) ?? 0;
}

/** Dimensions of virtual tokens (peft/utils/other.py, `_prepare_prompt_learning_config`, which asks the task for the stacks). */
export function promptSizes(scope: Scope, task: Task): PromptSizes {
  const hidden = numberOf(scope, ...DIMENSIONS.hidden);
  const layers = numberOf(scope, ...DIMENSIONS.layers);
  const heads = numberOf(scope, ...DIMENSIONS.heads, "encoder_attention_heads");
  const keyHeads = numberOf(scope, "num_key_value_heads") || heads || 1;
  const keyWidth = numberOf(scope, "head_dim") || (heads > 0 ? hidden / heads : hidden);
  return { hidden, layers, keyHeads, keyWidth, stacks: task === "seq2seq-lm" ? 2 : 1 };
}
