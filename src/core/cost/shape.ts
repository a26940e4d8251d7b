/** Sizes of a model that decide what it sends, generates and counts as tokens, read from any family's `config.json`. */
import { DIMENSIONS } from "../graph/dimensions";
import type { ModelConfig, TrainingRun } from "../training/run";
import { sequencesPerSample } from "../training/trainers";

export interface ModelShape {
  readonly hidden: number;
  /** Encoder and decoder layers together. */
  readonly layers: number;
  /** Heads × head size, which may differ from the hidden size. */
  readonly attention: number;
  readonly heads: number;
  /** Tokens that a layer attends to at most, averaged over the layers; infinite without a window. */
  readonly window: number;
  /** Parameters that a token does not touch: experts it is not sent to. */
  readonly idleExperts: number;
}

/** Spellings of the same size over the families, most common first. */
const NAMES = {
  hidden: [...DIMENSIONS.hidden, "embed_dim"],
  inner: ["intermediate_size", "ffn_dim", "n_inner", "hidden_dim", "d_ff", "encoder_ffn_dim", "block_ff_dim"],
  layers: [...DIMENSIONS.layers, "encoder_layers", "depth"],
  heads: [...DIMENSIONS.heads, "encoder_attention_heads"],
  experts: DIMENSIONS.experts,
} as const;

function first(config: ModelConfig, names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = config[name];
    if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
  }
  return undefined;
}

function nested(config: ModelConfig): ModelConfig {
  const text = config["text_config"] ?? config["decoder"];
  return typeof text === "object" && text !== null ? { ...config, ...(text as ModelConfig) } : config;
}

/** null when the config does not even say how wide and deep the model is. */
export function shapeOf(run: TrainingRun): ModelShape | null {
  const config = nested(run.model.config);
  const hidden = first(config, NAMES.hidden);
  const depth = first(config, NAMES.layers);
  if (hidden === undefined || depth === undefined) return null;
  const decoder = first(config, ["decoder_layers", "num_decoder_layers"]);
  const layers = isEncoderDecoder(run) ? depth + (decoder ?? depth) : depth;
  const heads = first(config, NAMES.heads) ?? Math.max(1, Math.round(hidden / 64));
  const inner = first(config, NAMES.inner) ?? 4 * hidden;
  const head = first(config, ["head_dim", "d_kv"]) ?? hidden / heads;
  const window = first(config, ["sliding_window", "local_attention"]);
  return {
    hidden,
    layers,
    attention: heads * head,
    heads,
    window: window ?? Number.POSITIVE_INFINITY,
    idleExperts: idleExperts(config, hidden, inner, depth),
  };
}

/** Gated experts have three matrices; the router picks a few of them for each token. */
function idleExperts(config: ModelConfig, hidden: number, inner: number, layers: number): number {
  const experts = first(config, NAMES.experts) ?? 0;
  const chosen = first(config, ["num_experts_per_tok", "moe_top_k"]) ?? experts;
  const width = first(config, ["moe_intermediate_size"]) ?? inner;
  const dense = first(config, ["first_k_dense_replace"]) ?? 0;
  const every = first(config, ["expert_layer_period", "decoder_sparse_step"]) ?? 1;
  return (Math.max(0, experts - chosen) * 3 * hidden * width * Math.max(0, layers - dense)) / every;
}

/** Encoder-decoders, also of pictures: each side sees its own tokens only. */
function isEncoderDecoder(run: TrainingRun): boolean {
  if (run.task === "image-text-to-text") return run.targetLength > 0;
  return run.task === "seq2seq-lm" || run.task === "speech-seq2seq";
}

/** Samples of a wave that one frame of its encoder stands for: the product of the published strides. */
const SAMPLES_PER_FRAME = 320;

/** Positions that the encoder (or the only stack) attends over: tokens, patches of a picture, frames of sound. */
function encoderLength(run: TrainingRun): number {
  const config = nested(run.model.config);
  switch (run.task) {
    case "image-cls":
    case "image-segmentation":
    case "masked-image":
      return Math.ceil(run.imageSize / (first(config, ["patch_size"]) ?? 16)) ** 2 + 1;
    case "speech-seq2seq":
      return first(config, ["max_source_positions"]) ?? 1500;
    case "ctc":
    case "audio-cls":
      return Math.ceil((run.audioSamples ?? 0) / SAMPLES_PER_FRAME);
    default:
      return run.sequenceLength;
  }
}

/** Tokens (or patches, or frames) that one sample puts through the layers. */
export function tokensPerSample(run: TrainingRun): number {
  const sequences = sequencesPerSample(run);
  return sequences * (encoderLength(run) + (isEncoderDecoder(run) ? run.targetLength : 0));
}
