/**
 * Attributes of a model's config that the call which loads it sets beside: `from_pretrained("gpt2", n_layer=6, attn_pdrop=0)`.
 * Source: transformers/configuration_utils.py, PreTrainedConfig.from_dict.
 */
import type { LocatedSetting } from "../formats/types";
import type { Entry } from "../syntax/tree";
import { table } from "../terms/table";

type Config = Readonly<Record<string, unknown>>;

/** Published configs leave dropouts out where they are what the class has. */
const DROPOUT = /(?:dropout|dropout_prob|dropout_rate|_pdrop)$/;

/** Names that every config answers to, with what families call them (`attribute_map` of their config classes). */
const ALIASES: Readonly<Record<string, readonly string[]>> = table({
  hidden_size: ["n_embd", "d_model", "dim"],
  num_hidden_layers: ["n_layer", "n_layers", "num_layers", "encoder_layers"],
  num_attention_heads: ["n_head", "n_heads", "num_heads", "encoder_attention_heads"],
  max_position_embeddings: ["n_positions"],
});

/** The name that a config has for an attribute; undefined: it has none. */
function ownName(config: Config, key: string): string | undefined {
  if (Object.hasOwn(config, key) || DROPOUT.test(key)) return key;
  return (Object.hasOwn(ALIASES, key) ? ALIASES[key] : undefined)?.find((name) => Object.hasOwn(config, name));
}

/** Arguments of the load that are numbers or switches of the config, by its own names. */
export function overridesOf(config: Config, settings: readonly LocatedSetting[]): readonly Entry[] {
  const node = settings.find(({ name }) => name === "config_overrides")?.node;
  if (node?.kind !== "map") return [];
  return node.entries.flatMap((entry) => {
    const { value } = entry;
    const sets = value.kind === "scalar" && (typeof value.value === "number" || typeof value.value === "boolean");
    const key = sets ? ownName(config, entry.key) : undefined;
    return key === undefined ? [] : [{ ...entry, key }];
  });
}

/** The config with what the load sets in it. */
export function overridden(config: Config, settings: readonly LocatedSetting[]): Config {
  const entries = overridesOf(config, settings);
  if (entries.length === 0) return config;
  const values = entries.map(({ key, value }) => [key, value.kind === "scalar" ? value.value : undefined] as const);
  return { ...config, ...Object.fromEntries(values) };
}
