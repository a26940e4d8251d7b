/** Which class trains a model whose file has another name for it, or holds more than is trained. */
import { factsOf, isKnownFamily } from "../core/graph/facts";

type Config = Readonly<Record<string, unknown>>;

/** Models whose files hold a part that reads, sees and hears beside parts that speak (configuration_qwen2_5_omni.py). */
const SPEAK: ReadonlySet<unknown> = new Set(["qwen2_5_omni", "qwen3_omni_moe"]);
const THINKER = "_thinker";

/**
 * Second names of another family's class (transformers/models/auto/modeling_auto.py): ShieldGemma 2's own class classifies
 * pictures and computes no loss; to write text about them it is Gemma 3's.
 */
const SECOND_NAMES: ReadonlyMap<unknown, Config> = new Map([
  ["shieldgemma2", { model_type: "gemma3", architectures: ["Gemma3ForConditionalGeneration"] }],
]);

/** The config of what is trained: of a model that speaks its thinker, which has the loss. */
export function trainedPart(config: Config): Config {
  const second = SECOND_NAMES.get(config["model_type"]);
  if (second !== undefined) return { ...config, ...second };
  const part = config["thinker_config"];
  if (!SPEAK.has(config["model_type"]) || typeof part !== "object" || part === null) return config;
  return { ...part, model_type: `${String(config["model_type"])}${THINKER}` };
}

/** Whether a family is such a part. */
export function isThinker(family: string): boolean {
  return family.endsWith(THINKER) && SPEAK.has(family.slice(0, -THINKER.length));
}

/**
 * The config of what a class loads of a model: `AutoModelForCausalLM` loads the text side of some that read pictures, too.
 *
 * @param loaded name of the class, where a script says it
 */
export function partLoadedAs(config: Config, loaded: string | undefined): Config {
  const side = factsOf(String(config["model_type"])).textSide;
  const text = config["text_config"];
  if (
    loaded !== "AutoModelForCausalLM" ||
    side === undefined ||
    !isKnownFamily(side) ||
    typeof text !== "object" ||
    text === null
  )
    return config;
  return { ...text, model_type: side };
}
