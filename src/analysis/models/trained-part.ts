/** Which class trains a model whose file has another name for it, or holds more than is trained. */
import { factsOf, isKnownFamily } from "../../core/graph/facts";
import { familyOf } from "./families";

type Config = Readonly<Record<string, unknown>>;

const THINKER = "_thinker";

/** The config of what is trained: of a model that speaks its thinker, which has the loss. */
export function trainedPart(config: Config): Config {
  const { means, speaks } = familyOf(config);
  if (means !== undefined) return { ...config, ...means };
  const part = config["thinker_config"];
  if (speaks !== true || typeof part !== "object" || part === null) return config;
  return { ...part, model_type: `${String(config["model_type"])}${THINKER}` };
}

/** Whether a family is such a part. */
export function isThinker(family: string): boolean {
  return family.endsWith(THINKER) && familyOf({ model_type: family.slice(0, -THINKER.length) }).speaks === true;
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
