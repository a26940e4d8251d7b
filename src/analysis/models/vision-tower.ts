/**
 * A model put together by the script that trains it: a language model, and a vision tower of another repository whose states a
 * projector maps to the words' (LLaVA's llava/model/llava_arch.py; transformers' `llava` is the same network). The tower runs
 * without gradients (llava/model/multimodal_encoder/clip_encoder.py).
 */

import type { Settings } from "../frameworks/settings";
import type { Catalogue } from "./catalogue";
import { familyOf } from "./families";
import type { ModelFound } from "./model-found";

/** The projector that the network has: two linear layers with a GELU between them. */
const PROJECTORS: ReadonlySet<string> = new Set(["mlp2x_gelu"]);

/** Language models of the layers that the network's graph has; others' (Phi's) are not those. */
const LAYERS: ReadonlySet<string> = new Set(["llama", "mistral", "qwen2"]);

/** The model with its tower; undefined: none is named, or it is none that the network can be written of. */
export function withTower(found: ModelFound, settings: Settings, catalogue: Catalogue): ModelFound | undefined {
  const tower = settings.string("vision_tower");
  if (found.kind !== "found" || tower === undefined) return undefined;
  const whole = catalogue.find(tower)?.config;
  const type = whole && familyOf(whole).tower;
  const own = found.config["vision_config"];
  if (own !== undefined) return isOf(own, type) ? undefined : { ...found, otherTower: true };
  if (!LAYERS.has(String(found.config["model_type"]))) return undefined;
  if (!PROJECTORS.has(settings.string("projector") ?? "")) return undefined;
  const vision = whole?.["vision_config"];
  if (type === undefined || typeof vision !== "object" || vision === null) return undefined;
  const config = {
    model_type: "llava",
    torch_dtype: found.config["torch_dtype"],
    tie_word_embeddings: found.config["tie_word_embeddings"] === true,
    text_config: found.config,
    vision_config: { ...vision, model_type: type },
  };
  return { ...found, config, parameters: undefined, task: "image-text-to-text" };
}

/** Whether a checkpoint that sees by itself does so with a tower of this type. */
function isOf(vision: unknown, type: string | undefined): boolean {
  return typeof vision === "object" && vision !== null && "model_type" in vision && vision.model_type === type;
}
