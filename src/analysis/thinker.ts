/** Models that think and speak: which part of their config is the model that is trained. */

type Config = Readonly<Record<string, unknown>>;

/** Models whose files hold a part that reads, sees and hears beside parts that speak (configuration_qwen2_5_omni.py). */
const SPEAK: ReadonlySet<unknown> = new Set(["qwen2_5_omni", "qwen3_omni_moe"]);
const THINKER = "_thinker";

/** The config of what is trained: of a model that speaks, its thinker, which has the loss. */
export function trainedPart(config: Config): Config {
  const part = config["thinker_config"];
  if (!SPEAK.has(config["model_type"]) || typeof part !== "object" || part === null) return config;
  return { ...part, model_type: `${String(config["model_type"])}${THINKER}` };
}

/** Whether a family is such a part. */
export function isThinker(family: string): boolean {
  return family.endsWith(THINKER) && SPEAK.has(family.slice(0, -THINKER.length));
}
