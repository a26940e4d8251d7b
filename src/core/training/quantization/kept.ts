/**
 * Linear layers that are never packed: those a class keeps in float32, which quantizers leave as they are
 * (transformers/quantizers/base.py, get_modules_to_not_convert, given `_keep_in_fp32_modules` of the model's classes). Loaded in
 * float16 they are float32 (transformers/modeling_utils.py, _get_dtype_plan).
 */
import { table } from "../../../terms/table";

const OF_T5 = ["wo"];
const OF_INDEXER = ["indexer.weights_proj"];

/** Names that quantizers leave out, by `model_type`: how a module's path begins or ends. A class says those of its parts' classes, too. */
const KEPT: Readonly<Record<string, readonly string[]>> = table({
  t5: OF_T5,
  mt5: OF_T5,
  umt5: OF_T5,
  udop: OF_T5,
  pop2piano: OF_T5,
  instructblip: OF_T5,
  instructblipvideo: OF_T5,
  "blip-2": ["qformer", ...OF_T5],
  axk2: OF_INDEXER,
  deepseek_v32: OF_INDEXER,
  glm_moe_dsa: OF_INDEXER,
});

export function keptWhole(family: string): readonly string[] {
  return KEPT[family] ?? [];
}
