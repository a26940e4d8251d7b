/**
 * Parts of a model that reads pictures, as trainers freeze them: LLaMA-Factory's `freeze_vision_tower`,
 * `freeze_multi_modal_projector` and `freeze_language_model` (llamafactory/model/model_utils/visual.py), ms-swift's
 * `freeze_vit`, `freeze_aligner` and `freeze_llm` (swift/llm/model/model_arch.py).
 */
export type Part = "vision" | "projector" | "language";

/** Where the library puts each part, the first that fits; a projector inside the tower belongs to the projector. */
const PLACES: readonly (readonly [RegExp, Part])[] = [
  [/(^|\.)(multi_modal_projector|connector|visual\.(merger|deepstack_merger_list))(\.|$)/, "projector"],
  [/(^|\.)(visual|vision_tower|vision_model)(\.|$)/, "vision"],
  [/(^|\.)(language_model|text_model|lm_head)(\.|$)/, "language"],
];

/** The part that a parameter or module belongs to, by its path; null where a model has only one. */
export function partOf(path: string): Part | null {
  return PLACES.find(([pattern]) => pattern.test(path))?.[1] ?? null;
}
