/**
 * Attributes of a model's config that the call which loads it sets beside: `from_pretrained("gpt2", n_layer=6, attn_pdrop=0)`.
 * Source: transformers/configuration_utils.py, PreTrainedConfig.from_dict.
 */
import type { LocatedSetting } from "../../formats/types";
import type { Entry } from "../../syntax/tree";
import { layerCut, leftLayers } from "../../terms/layer-cut";
import { table } from "../../terms/table";

type Config = Readonly<Record<string, unknown>>;

/** Published configs leave dropouts out where they are what the class has. */
const DROPOUT = /(?:dropout|dropout_prob|dropout_rate|_pdrop)$/;

/** What the class is told beside its config (`add_pooling_layer=False`, models/bert/modeling_bert.py, BertModel.__init__). */
const OF_CLASS = "add_pooling_layer";

/** Names that every config answers to, with what families call them (`attribute_map` of their config classes). */
const ALIASES: Readonly<Record<string, readonly string[]>> = table({
  hidden_size: ["n_embd", "d_model", "dim"],
  num_hidden_layers: ["n_layer", "n_layers", "num_layers", "encoder_layers"],
  num_attention_heads: ["n_head", "n_heads", "num_heads", "encoder_attention_heads"],
  max_position_embeddings: ["n_positions"],
});

/** The name that a config has for an attribute; undefined: it has none. */
function ownName(config: Config, key: string): string | undefined {
  if (Object.hasOwn(config, key) || DROPOUT.test(key) || key === OF_CLASS) return key;
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

/** Most layers whose cutting is followed. */
const MOST_LAYERS = 10_000;

/** The config with the layers that a script leaves in the model; lists with an entry for each layer are cut, too. */
function cut(config: Config, settings: readonly LocatedSetting[]): Config {
  const node = settings.find(({ name }) => name === "layer_cuts")?.node;
  const key = ownName(config, "num_hidden_layers");
  const count = key === undefined ? undefined : config[key];
  if (node?.kind !== "list" || key === undefined || typeof count !== "number" || count > MOST_LAYERS) return config;
  const cuts = node.items.flatMap((item) => (item.kind === "scalar" ? (layerCut(String(item.value)) ?? []) : []));
  const left = leftLayers(count, cuts);
  const lists = Object.entries(config).flatMap(([name, value]) =>
    Array.isArray(value) && value.length === count ? [[name, left.map((layer) => value[layer] as unknown)]] : [],
  );
  return { ...config, ...Object.fromEntries(lists), [key]: left.length };
}

/** The config with what the load sets in it, and with the layers that are left of it. */
export function overridden(config: Config, settings: readonly LocatedSetting[]): Config {
  const entries = overridesOf(config, settings);
  const values = entries.map(({ key, value }) => [key, value.kind === "scalar" ? value.value : undefined] as const);
  return cut({ ...config, ...Object.fromEntries(values) }, settings);
}
