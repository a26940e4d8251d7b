/**
 * What is known of families beside their graphs and what the libraries were asked (`src/core/graph/family-facts.json`): what their
 * processors make of pictures and recordings, what they are trained for, what their files leave out. Code asks a trait, never a name.
 */
import { type FamilyFacts, factsOf } from "../../core/graph/facts";
import type { Task } from "../../terms/names";
import { table } from "../../terms/table";
import { recordedFor } from "../frameworks/versions";
import fusedSince from "../fused-since.json";
import handedCaches from "../handed-caches.json";

/** What the sides of a picture are rounded to, by models that read pictures of any size. Sides in pixels. */
export interface AnySize {
  /** The processor cuts pictures into tiles of this side; the config's own side goes before it. */
  readonly tile?: number;
  /** Side of a patch, where the config leaves it out. */
  readonly patch?: number;
  /** How many patches a side become one token (`spatial_merge_size`), where the config leaves it out. */
  readonly merged?: number;
  /** The same of a processor that pools (`pooling_kernel_size`). */
  readonly pooled?: number;
  /** Most tokens a side of a square. */
  readonly most?: number;
}

export interface Family extends Pick<FamilyFacts, "textPositions" | "speaks"> {
  readonly anySize?: AnySize;
  /** Side that the processor published with a model brings every picture to, where its config says another one or none. */
  readonly processedSide?: number;
  /** Side of its pictures where nothing says it, which is not the usual one. */
  readonly assumedSide?: number;
  /** The processor makes as many patches of every picture: so many a side of a square. */
  readonly patchesASide?: number;
  /** It hears frames of a fixed window, whatever a recording's length. */
  readonly hearsWindow?: true;
  /** It hears and writes, and its config names no spectrogram. */
  readonly transcribes?: true;
  /** It hears waves, and its files may leave the sizes of its convolutions out. */
  readonly hearsWaves?: true;
  /** Frames of that window that one token of the text stands for. */
  readonly framesPerToken?: number;
  /** Tokens that a recording of so many frames is, by models that hear recordings of any length. */
  readonly tokensOfFrames?: (frames: number) => number;
  /** It writes a token for every token it hears: its texts are as long as the recording. */
  readonly writesWhileHearing?: true;
  /** It reads pictures and writes targets of its own (`decoder_input_ids`), with a prompt beside the picture or without. */
  readonly writes?: { readonly prompt: boolean };
  /** What it is trained further for, other than most with its heads. */
  readonly likeliest?: Task;
  /** Type of its picture side, where `llava` takes that as its tower. */
  readonly tower?: string;
  /** A second name of another family's class: what its config says in that one's words. */
  readonly means?: Readonly<Record<string, unknown>>;
}

/** Frames behind convolutions with a stride of two. */
function halved(frames: number, times: number): number {
  let left = frames;
  for (let k = 0; k < times; k++) left = Math.floor((left - 1) / 2) + 1;
  return left;
}

/** An eighth of the frames, counted for each second apart (`_get_feat_extract_output_lengths` of modeling_qwen3_asr.py). */
const eighths = (frames: number) => 13 * Math.floor(frames / 100) + halved(frames % 100, 3);

/** At most 280 tokens of a picture: sixteen a side of a square (Gemma4ImageProcessor). */
const POOLED: Family = { anySize: { patch: 16, pooled: 3, most: 16 } };
const FAMILIES: Readonly<Record<string, Family>> = table({
  aya_vision: { anySize: { tile: 364 } },
  cohere2_vision: { anySize: { tile: 512 } },
  idefics2: { anySize: { tile: 980 } },
  idefics3: { anySize: { tile: 364 } },
  internvl: { anySize: { tile: 448 } },
  lfm2_vl: { anySize: { tile: 512 } },
  llava_onevision: { anySize: { tile: 384 } },
  ovis2: { anySize: { tile: 448 } },
  qianfan_ocr: { anySize: { tile: 448 } },
  smolvlm: { anySize: { tile: 512 } },
  gemma4: POOLED,
  gemma4_unified: POOLED,
  fuyu: { anySize: { patch: 30 } },
  // No patches of a picture are merged (VideoLlama3ImageProcessor, `merge_size`).
  video_llama_3: { anySize: { patch: 16 } },
  // `SegformerImageProcessor` (models/segformer/image_processing_segformer.py, `size`): a config says the side its encoder was made with.
  segformer: { assumedSide: 512 },
  // DINOv2 reads up to 518 pixels, and its processor crops 224 of them (facebook/dinov2-base, preprocessor_config.json, `crop_size`).
  // Cubes of this side are what MONAI's tutorials of volumes cut (spleen_segmentation_3d, swin_unetr_btcv_segmentation_3d).
  monai: { assumedSide: 96 },
  dinov2: { processedSide: 224 },
  dinov2_with_registers: { processedSide: 224 },
  florence2: { processedSide: 768, writes: { prompt: true } },
  "vision-encoder-decoder": { writes: { prompt: false } },
  clip: { tower: "clip_vision_model" },
  siglip: { tower: "siglip_vision_model" },
  // Siglip2ImageProcessor makes 256 patches of every size
  siglip2: { patchesASide: 16 },

  whisper: { hearsWindow: true, transcribes: true },
  moonshine: { transcribes: true },
  speech_to_text: { transcribes: true },
  cohere_asr: { transcribes: true },
  canary: { transcribes: true },
  speecht5: { hearsWaves: true },
  "speech-encoder-decoder": { hearsWaves: true },
  "audio-spectrogram-transformer": { hearsWindow: true },
  // `audio_config.intermediate_size` of four frames (modeling_voxtral.py, get_audio_features)
  voxtral: { hearsWindow: true, framesPerToken: 4 },
  // `avg_pooler` (modeling_qwen2_audio.py, modeling_audioflamingo3.py)
  qwen2_audio: { hearsWindow: true, framesPerToken: 2 },
  audioflamingo3: { hearsWindow: true, framesPerToken: 2 },
  // `merge_factor` (modeling_glmasr.py)
  glmasr: { hearsWindow: true, framesPerToken: 4 },
  qwen3_asr: { tokensOfFrames: eighths },
  qwen3_omni_moe_thinker: { tokensOfFrames: eighths },
  // Six frames of 25 ms, every one beside its neighbours (feature_extraction_fun_asr_nano.py, Kaldi's frames).
  fun_asr_nano: { tokensOfFrames: (frames) => Math.ceil((frames - 2) / 6) },
  // Eight frames of 10 ms (`audio_length_per_tok` of configuration_voxtral_realtime.py).
  voxtral_realtime: { tokensOfFrames: (frames) => Math.ceil(frames / 8), writesWhileHearing: true },
  // One convolution with a stride of two, and pairs of what it gives (modeling_qwen2_5_omni.py).
  qwen2_5_omni_thinker: { tokensOfFrames: (frames) => Math.floor(halved(frames, 1) / 2) },
  // Its own class classifies pictures and computes no loss (transformers/models/auto/modeling_auto.py); to write text about them it is
  // Gemma 3's.
  shieldgemma2: { means: { model_type: "gemma3", architectures: ["Gemma3ForConditionalGeneration"] } },

  // Pages of words and boxes are labelled word by word.
  layoutlm: { likeliest: "token-cls" },
});

/** Traits of the family that a config is of: what the library was asked, and what it was not. */
export function familyOf(config: Readonly<Record<string, unknown>>): Family {
  const family = String(config["model_type"]);
  const { anySize, textPositions, speaks } = factsOf(family);
  return {
    ...(anySize && { anySize }),
    ...(textPositions !== undefined && { textPositions }),
    ...(speaks && { speaks }),
    ...FAMILIES[family],
  };
}

const FUSED_SINCE: Readonly<Record<string, string>> = table(fusedSince.families);

/** The first release of transformers whose code of the family has the fused operator of attention; before it there is eager attention alone. */
export function fusedSinceOf(config: Readonly<Record<string, unknown>>): string | undefined {
  return FUSED_SINCE[String(config["model_type"])];
}

const HANDED: Readonly<Record<string, readonly string[]>> = table(handedCaches.releases);

/** Whether a release's models of the family hand out keys and values as tuples of tensors. */
export function handsOutTuples(config: Readonly<Record<string, unknown>>, transformers: string): boolean {
  const release = recordedFor(transformers);
  return release !== undefined && HANDED[release]?.includes(String(config["model_type"])) === true;
}
