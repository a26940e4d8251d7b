/**
 * A model put together by the script that trains it: a language model, and a vision tower of another repository whose states a
 * projector maps to the words' (LLaVA's llava/model/llava_arch.py; transformers' `llava` is the same network). The tower runs
 * without gradients (llava/model/multimodal_encoder/clip_encoder.py).
 */
import { table } from "../terms/table";
import type { Catalogue } from "./catalogue";
import type { ModelFound } from "./model";
import type { Settings } from "./settings";

/** Types of towers that transformers' network takes, by the type of the model that they are a part of. */
const TOWERS: Readonly<Record<string, string>> = table({ clip: "clip_vision_model", siglip: "siglip_vision_model" });
/** The projector that the network has: two linear layers with a GELU between them. */
const PROJECTORS: ReadonlySet<string> = new Set(["mlp2x_gelu"]);

/** The model with its tower; undefined: none is named, or it is none that the network can be written of. */
export function withTower(found: ModelFound, settings: Settings, catalogue: Catalogue): ModelFound | undefined {
  const tower = settings.string("vision_tower");
  if (found.kind !== "found" || tower === undefined || found.config["vision_config"] !== undefined) return undefined;
  if (!PROJECTORS.has(settings.string("projector") ?? "")) return undefined;
  const whole = catalogue.find(tower)?.config;
  const type = TOWERS[String(whole?.["model_type"])];
  const vision = whole?.["vision_config"];
  if (type === undefined || typeof vision !== "object" || vision === null) return undefined;
  const config = {
    model_type: "llava",
    torch_dtype: found.config["torch_dtype"],
    text_config: found.config,
    vision_config: { ...vision, model_type: type },
  };
  return { ...found, config, parameters: undefined, task: "image-text-to-text" };
}
