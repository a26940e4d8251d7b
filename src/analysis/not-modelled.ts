/** What a run may be or do that the engine does not follow: then there is no number rather than a wrong one. */
import { frameworkOf, TRAINER_FORMATS } from "./frameworks";
import type { RunInputs } from "./inputs";
import { say } from "./problems";
import { MODELLED } from "./resolve/trainer";
import type { Obstacle } from "./resolve/types";
import type { Settings } from "./settings";

/**
 * Formats whose preference and reinforcement trainers are not TRL's newest: axolotl pins an older TRL, LLaMA-Factory and
 * ms-swift put losses of their own over one (llamafactory/train/dpo/trainer.py, swift/rlhf_trainers).
 */
const OWN_LOSSES: ReadonlySet<string> = new Set(["axolotl", "llama-factory", "ms-swift"]);

/** Switches that change memory in a way nothing here follows. */
const SWITCHES = ["use_llama_pro"];

/** Arguments of scripts that train a vision tower or projector beside the language model. */
const MULTIMODAL = /(?:^|\s)(?:--)?(?:vision_tower|mm_projector_type|pretrain_mm_mlp_adapter)\b/m;

/** Keys of a LLaMA-Factory file that merges or exports instead of training. */
const EXPORT = /^\s*export_dir\s*:/m;

export function obstaclesOf(inputs: RunInputs, settings: Settings, trainer: string): Obstacle[] {
  const found: Obstacle[] = [];
  const add = (id: string, args: Readonly<Record<string, string>> = {}): void => {
    found.push({ code: "not-modelled", message: say(id, args) });
  };
  const { format, main } = inputs;
  if (format.id === "accelerate") add("not-modelled.part");
  else if (!TRAINER_FORMATS.has(format.id) && format.id !== "deepspeed" && frameworkOf(format.id) === undefined)
    add("not-modelled.format", { format: format.id });
  const plain = trainer === "trainer" || trainer === "sft";
  if (!plain && !(format.id === "trl" && MODELLED.has(trainer)))
    add(OWN_LOSSES.has(format.id) ? "not-modelled.trainer-framework" : "not-modelled.trainer", {
      trainer: trainer.toUpperCase(),
      framework: format.id,
    });
  if (settings.boolean("use_cpu") === true) add("not-modelled.cpu");
  for (const name of SWITCHES) {
    const stated = settings.find(name);
    if (stated?.value === true) add("not-modelled.switch", { key: stated.key });
  }
  // BAdam's other mode keeps a share of every gradient's entries as sparse tensors.
  if (settings.boolean("use_badam") === true && settings.string("badam_mode") === "ratio")
    add("not-modelled.switch", { key: "badam_mode" });
  if (MULTIMODAL.test(main.text)) add("not-modelled.multimodal");
  if (format.id === "llama-factory" && EXPORT.test(main.text)) add("not-modelled.export");
  return found;
}
