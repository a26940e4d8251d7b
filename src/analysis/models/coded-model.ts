/** The `config.json` that a script's own call of a config class amounts to (`LlamaConfig(hidden_size=512)`). */
import { plainValue } from "../../formats/table";
import type { LocatedSetting } from "../../formats/types";
import type { Setting } from "../frameworks/settings";
import type { Architecture } from "./architecture";
import type { Catalogue } from "./catalogue";

/** A family's name without what spellings differ in: `GPTNeoX` and `gpt_neox`. */
const bare = (name: string): string => name.replace(/[-_.]/g, "").toLowerCase();

/** Family of a config class, by the models that are published with it. */
function familyOf(callee: string, catalogue: Catalogue): string | undefined {
  const wanted = bare(callee.replace(/^.*\./, "").replace(/Config$/, ""));
  for (const { config } of catalogue.spellings.values()) {
    const family = String(config["model_type"]);
    if (bare(family) === wanted) return family;
  }
  return undefined;
}

/**
 * The model a script makes from a config of its own; what is not stated has the config class's default.
 *
 * @param stated the model that settings name: a pin wins
 */
export function codedModel(
  settings: readonly LocatedSetting[],
  stated: Setting | undefined,
  catalogue: Catalogue,
): Architecture | undefined {
  const made = settings.find(({ name }) => name === "model_config");
  if (made?.node.kind !== "map" || stated?.from === "pin") return undefined;
  const known = made.node.entries.filter(({ value }) => value.kind !== "unknown");
  const told = known.find(({ key }) => key === "model_type")?.value;
  // A network that is no class of transformers says what family its graph is written by.
  const family = told?.kind === "scalar" ? String(told.value) : familyOf(made.key, catalogue);
  if (family === undefined) return undefined;
  const config = Object.fromEntries(known.map(({ key, value }) => [key, plainValue(value)]));
  return {
    name: `${told === undefined ? family : made.key.replace(/^.*\./s, "")} of the script`,
    config: { ...config, model_type: family },
    // The length of a tokenizer is mostly not known here.
    assumedVocabulary: made.node.entries.some(({ key, value }) => key === "vocab_size" && value.kind === "unknown"),
  };
}
