/**
 * The `config.json` that a run's own settings amount to: frameworks that train from scratch write the architecture
 * beside the batch size. Formats name its kind (`model_type`) and its dimensions canonically; here they get the keys of
 * the captured family.
 */

import type { ModelConfig } from "../../core/training/run";
import type { Format } from "../../formats/types";
import { table } from "../../terms/table";
import type { Settings } from "../frameworks/settings";

/** Sizes of GPT-2's vocabulary, which these frameworks' examples and defaults use. */
const ASSUMED_VOCABULARY = 50_257;

export interface Architecture {
  readonly name: string;
  readonly config: ModelConfig;
  /** No document says the vocabulary's size. */
  readonly assumedVocabulary: boolean;
}

interface Dimensions {
  readonly hidden: number;
  readonly layers: number;
  readonly heads: number;
  readonly groups: number;
  readonly inner: number | undefined;
  readonly headSize: number | undefined;
  readonly vocabulary: number;
  readonly positions: number | undefined;
  readonly tied: boolean;
  readonly experts: number | undefined;
  readonly expertsPerToken: number | undefined;
}

/** Keys of a decoder, as most families call them. */
const decoder = (d: Dimensions, inner = 4 * d.hidden): ModelConfig => ({
  hidden_size: d.hidden,
  intermediate_size: d.inner ?? inner,
  num_hidden_layers: d.layers,
  num_attention_heads: d.heads,
  vocab_size: d.vocabulary,
  tie_word_embeddings: d.tied,
  ...(d.positions === undefined ? {} : { max_position_embeddings: d.positions }),
});

/** Decoders with gated feed-forwards and grouped heads. */
const gated = (d: Dimensions): ModelConfig => ({
  // Two thirds of four times the width keep the count of an ungated feed-forward.
  ...decoder(d, Math.round((8 * d.hidden) / 3)),
  num_key_value_heads: d.groups,
  // Without a head there is none to be as wide as anything.
  head_dim: d.headSize ?? (d.heads > 0 ? d.hidden / d.heads : 0),
});

/** A config whose keys a family calls otherwise. */
const renamed = (config: ModelConfig, names: Readonly<Record<string, string>>): ModelConfig =>
  Object.fromEntries(Object.entries(config).map(([key, value]) => [names[key] ?? key, value]));

const GPT2_NAMES = table({
  hidden_size: "n_embd",
  intermediate_size: "n_inner",
  num_hidden_layers: "n_layer",
  num_attention_heads: "n_head",
  max_position_embeddings: "n_positions",
});

const MPT_NAMES = table({
  hidden_size: "d_model",
  num_hidden_layers: "n_layers",
  num_attention_heads: "n_heads",
  max_position_embeddings: "max_seq_len",
});

const FAMILIES: Readonly<Record<string, (d: Dimensions) => ModelConfig>> = table({
  llama: gated,
  mistral: gated,
  qwen2: gated,
  qwen3: gated,
  phi3: gated,
  gemma: gated,
  gemma2: gated,
  mixtral: (d) => ({
    ...gated(d),
    num_local_experts: d.experts ?? 8,
    num_experts_per_tok: d.expertsPerToken ?? 2,
  }),
  gpt_neox: (d) => decoder(d),
  gpt2: (d) => renamed(decoder(d), GPT2_NAMES),
  bert: (d) => ({ architectures: ["BertForPreTraining"], ...decoder(d) }),
  mpt: (d) => ({
    ...renamed(decoder(d), MPT_NAMES),
    expansion_ratio: d.inner === undefined ? 4 : d.inner / d.hidden,
  }),
});

/** The architecture that settings spell out, or undefined where they do not; a pinned model wins over it. */
export function architectureOf(settings: Settings, format: Format): Architecture | undefined {
  const type = settings.string("model_type");
  const family = type === undefined ? undefined : FAMILIES[type];
  const [hidden, layers, heads] = (["hidden_size", "num_layers", "num_attention_heads"] as const).map((name) =>
    settings.number(name),
  );
  const model = settings.find("model");
  if (type === undefined || family === undefined || model?.from === "pin") return undefined;
  if (hidden === undefined || layers === undefined || heads === undefined) return undefined;
  const written = settings.number("vocab_size");
  const untied = settings.boolean("untied_embeddings");
  const dimensions: Dimensions = {
    hidden,
    layers,
    heads,
    groups: settings.number("num_query_groups") ?? heads,
    inner: settings.number("ffn_hidden_size") ?? scaled(hidden, settings.number("expansion_ratio")),
    headSize: settings.number("kv_channels"),
    vocabulary: padded(written ?? ASSUMED_VOCABULARY, settings, format),
    positions: settings.number("max_position_embeddings"),
    tied: settings.boolean("tied_embeddings") ?? (untied === undefined ? true : !untied),
    experts: settings.number("num_experts"),
    expertsPerToken: settings.number("experts_per_token"),
  };
  return {
    name: `${type} ${layers} × ${hidden}`,
    config: { model_type: type, ...family(dimensions) },
    assumedVocabulary: written === undefined,
  };
}

const scaled = (size: number, factor: number | undefined) => (factor === undefined ? undefined : size * factor);

/** Padded to what tensor parallelism divides (megatron/training/vocab_utils.py, megatron/tokenizer of gpt-neox). */
function padded(vocabulary: number, settings: Settings, format: Format): number {
  const standard = format.keys.find((key) => key.name === "vocab_divisor")?.default;
  const divisor = settings.number("vocab_divisor") ?? (typeof standard === "number" ? standard : 1);
  const multiple = divisor * (settings.number("tensor_parallel") ?? 1);
  return multiple >= 1 ? Math.ceil(vocabulary / multiple) * multiple : vocabulary;
}
