/** What models of several parts read and write beside the words of a text: facts of their processors. */
import type { ModelConfig, Task } from "../../core/training/run";

type Part = Readonly<Record<string, unknown>>;

export function partOf(config: ModelConfig, key: string): Part {
  const part = config[key];
  return typeof part === "object" && part !== null ? (part as Part) : {};
}

/** Frames of the encoder that one token of the text stands for, by models that answer recordings of a fixed window. */
const FRAMES_PER_TOKEN: ReadonlyMap<string, number> = new Map([
  ["voxtral", 4], // `audio_config.intermediate_size` of four frames (modeling_voxtral.py, get_audio_features)
  ["qwen2_audio", 2], // `avg_pooler` (modeling_qwen2_audio.py)
  ["audioflamingo3", 2], // `avg_pooler` (modeling_audioflamingo3.py)
  ["glmasr", 4], // `merge_factor` (modeling_glmasr.py)
]);

/** Models that hear frames of a fixed window, whatever a recording's length. */
export function hearsFixedWindow(config: ModelConfig): boolean {
  const kind = String(config["model_type"]);
  return FRAMES_PER_TOKEN.has(kind) || kind === "whisper" || kind === "audio-spectrogram-transformer";
}

/** Thirty seconds in frames of the encoder, where a config leaves them out. */
const FRAMES = 1500;

const SAMPLES_PER_FRAME = 160;

/** Frames behind convolutions with a stride of two. */
function halved(frames: number, times: number): number {
  let left = frames;
  for (let k = 0; k < times; k++) left = Math.floor((left - 1) / 2) + 1;
  return left;
}

/** An eighth of the frames, counted for each second apart (`_get_feat_extract_output_lengths` of modeling_qwen3_asr.py). */
const eighths = (frames: number) => 13 * Math.floor(frames / 100) + halved(frames % 100, 3);

/** Tokens that a recording of so many frames is, by models that answer recordings of any length. */
const TOKENS_OF_FRAMES: ReadonlyMap<string, (frames: number) => number> = new Map([
  ["qwen3_asr", eighths],
  ["qwen3_omni_moe_thinker", eighths],
  // Six frames of 25 ms, every one beside its neighbours (feature_extraction_fun_asr_nano.py, Kaldi's frames).
  ["fun_asr_nano", (frames) => Math.ceil((frames - 2) / 6)],
  // Eight frames of 10 ms (`audio_length_per_tok` of configuration_voxtral_realtime.py).
  ["voxtral_realtime", (frames) => Math.ceil(frames / 8)],
  // One convolution with a stride of two, and pairs of what it gives (modeling_qwen2_5_omni.py).
  ["qwen2_5_omni_thinker", (frames) => Math.floor(halved(frames, 1) / 2)],
]);

/** Models that write a token for every token they hear: their texts are as long as the recording. */
export function writesWhileHearing(config: ModelConfig): boolean {
  return config["model_type"] === "voxtral_realtime";
}

/** Tokens of a recording among those of the text that answers it. */
export function recordingTokens(config: ModelConfig, samples: number): number {
  const kind = String(config["model_type"]);
  const counted = TOKENS_OF_FRAMES.get(kind);
  if (counted !== undefined) return counted(Math.floor(samples / SAMPLES_PER_FRAME));
  const each = FRAMES_PER_TOKEN.get(kind);
  const audio = partOf(config, "audio_config");
  const frames = audio["max_source_positions"] ?? audio["max_position_embeddings"];
  return each === undefined ? 0 : Math.floor((typeof frames === "number" ? frames : FRAMES) / each);
}

/** Models that read pictures and write targets of their own (`decoder_input_ids`), with a prompt beside the picture or without. */
const WRITES: ReadonlyMap<string, { readonly prompt: boolean }> = new Map([
  ["florence2", { prompt: true }],
  ["vision-encoder-decoder", { prompt: false }],
]);

const of = (config: ModelConfig, task: Task) =>
  task === "image-text-to-text" ? WRITES.get(String(config["model_type"])) : undefined;

export function writesTargets(config: ModelConfig, task: Task): boolean {
  return of(config, task) !== undefined;
}

/** Whether the model is given a text to read. */
export function readsPrompt(config: ModelConfig, task: Task): boolean {
  return of(config, task)?.prompt !== false;
}

/**
 * Side in pixels that the processor published with a model brings every picture to, where its config says another one or none: DINOv2
 * reads up to 518 pixels, and its processor crops 224 of them (facebook/dinov2-base, preprocessor_config.json, `crop_size`).
 */
export const PROCESSED_SIDES: ReadonlyMap<string, number> = new Map([
  ["florence2", 768],
  ["dinov2", 224],
  ["dinov2_with_registers", 224],
]);
