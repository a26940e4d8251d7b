/**
 * Attributes of a model's config that the call which loads it sets beside: `from_pretrained("gpt2", n_layer=6, attn_pdrop=0)`.
 * Source: transformers/configuration_utils.py, PreTrainedConfig.from_dict.
 */
import type { LocatedSetting } from "../formats/types";
import type { Entry } from "../syntax/tree";

type Config = Readonly<Record<string, unknown>>;

/** Published configs leave dropouts out where they are what the class has. */
const DROPOUT = /(?:dropout|dropout_prob|dropout_rate|_pdrop)$/;

/** Arguments of the load that are numbers or switches of the config. */
export function overridesOf(config: Config, settings: readonly LocatedSetting[]): readonly Entry[] {
  const node = settings.find(({ name }) => name === "config_overrides")?.node;
  return node?.kind !== "map"
    ? []
    : node.entries.filter(
        ({ key, value }) =>
          value.kind === "scalar" &&
          (typeof value.value === "number" || typeof value.value === "boolean") &&
          (Object.hasOwn(config, key) || DROPOUT.test(key)),
      );
}

/** The config with what the load sets in it. */
export function overridden(config: Config, settings: readonly LocatedSetting[]): Config {
  const entries = overridesOf(config, settings);
  if (entries.length === 0) return config;
  const values = entries.map(({ key, value }) => [key, value.kind === "scalar" ? value.value : undefined] as const);
  return { ...config, ...Object.fromEntries(values) };
}
