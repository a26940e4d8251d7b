/**
 * Rows that a script gives the model's tables of words. Source: transformers/modeling_utils.py (`resize_token_embeddings`, which
 * rounds up to `pad_to_multiple_of`).
 */
import type { PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at, given, plain } from "./called";
import { callsBefore } from "./training";

const RESIZES = /(?:^|\.)resize_token_embeddings$/;

/** `vocabulary_size` as the last resizing before the training leaves it; 0: a number that is known only when the script runs. */
export function resizedVocabulary(python: PythonModule): readonly LocatedSetting[] {
  const call = callsBefore(python).findLast((one) => RESIZES.test(one.callee));
  if (call === undefined) return [];
  const node = call.positional[0] ?? given(call, "new_num_tokens");
  const rows = plain(node);
  if (typeof rows !== "number" || rows < 1) return [at("vocabulary_size", call, 0, node)];
  const multiple = plain(call.positional[1] ?? given(call, "pad_to_multiple_of"));
  const padded = typeof multiple === "number" && multiple > 0 ? Math.ceil(rows / multiple) * multiple : rows;
  return [at("vocabulary_size", call, padded, node)];
}
