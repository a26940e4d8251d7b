/** Batch, sequence and image sizes. */

import { factsOf } from "../../core/graph/facts";
import { isTraced } from "../../core/graph/own";
import type { ModelConfig, Task, TrainingRun } from "../../core/training/run";
import { say } from "../../words/message";
import { defaultOf, keyFor } from "../frameworks/defaults";
import { familyOf } from "../models/families";
import type { ResolveContext } from "./context";
import { evenBatches, LONGEST_KEY, longestSample, multipleOf } from "./padding";
import { partOf, readsPrompt, recordingTokens, writesTargets } from "./sides";

/** Tokens per sequence when nothing says it. */
const ASSUMED_SEQUENCE = 2048;
const ASSUMED_TARGET = 128;
/** Seconds of a recording, and samples a second of every speech encoder's checkpoints, when nothing says them. */
const ASSUMED_SECONDS = 10;
const SAMPLING_RATE = 16_000;

/** Tasks by what their models read besides labels. */
const READS_TOKENS: ReadonlySet<Task> = new Set([
  "causal-lm",
  "masked-lm",
  "seq-cls",
  "token-cls",
  "qa",
  "multiple-choice",
  "seq2seq-lm",
  "image-text-to-text",
  "contrastive",
]);
const READS_IMAGES: ReadonlySet<Task> = new Set([
  "image-cls",
  "image-segmentation",
  "masked-image",
  "contrastive",
  "image-text-to-text",
]);
const HEARS: ReadonlySet<Task> = new Set(["ctc", "audio-cls", "speech-seq2seq"]);
const WRITES_TARGETS: ReadonlySet<Task> = new Set(["seq2seq-lm", "speech-seq2seq", "ctc"]);

/**
 * Sizes of one sample: what the task's models read and write; zero for what they do not.
 *
 * @param generated tokens of a prompt and its completion, where the trainer has the model write them
 */
export function sampleSizesOf(
  c: ResolveContext,
  config: ModelConfig,
  task: Task,
  generated: number | null,
): Pick<TrainingRun, "sequenceLength" | "targetLength" | "imageSize" | "audioSamples"> {
  const audioSamples = HEARS.has(task) && familyOf(config).hearsWindow !== true ? audioSamplesOf(c) : 0;
  const convolutions = config["conv_kernel"] ?? partOf(config, "encoder")["conv_kernel"];
  if (audioSamples > 0 && (Array.isArray(convolutions) || familyOf(config).hearsWaves === true))
    supposeFrozenFeatures(c);
  return {
    sequenceLength:
      READS_TOKENS.has(task) && readsPrompt(config, task) ? (generated ?? sequenceLengthOf(c, config)) : 0,
    targetLength: WRITES_TARGETS.has(task) || writesTargets(config, task) ? targetLengthOf(c, config, audioSamples) : 0,
    imageSize: READS_IMAGES.has(task) ? imageSizeOf(c, config, task) : 0,
    audioSamples,
  };
}

export function batchOf(c: ResolveContext): number | null {
  const stated = c.keepNumber("micro_batch_size");
  if (stated !== undefined) return stated;
  if (!c.trains) return derivedBatch(c);
  if (c.ownLoop) {
    c.obstacles.push({ code: "invalid-value", message: say("obstacle.no-batch") });
    return null;
  }
  const invalid = c.inputs.main.read.problems.some(
    (found) => found.code === "invalid-value" && found.message.args["key"] === "per_device_train_batch_size",
  );
  const open = c.settings.open("micro_batch_size");
  if (invalid || open?.unknown !== undefined) {
    c.put(
      "micro_batch_size",
      null,
      open?.from ?? "document",
      open?.key ?? "per_device_train_batch_size",
      open?.place ?? null,
    );
    c.obstacles.push({ code: "invalid-value", message: say("obstacle.batch") });
    return null;
  }
  return Number(c.value("micro_batch_size", 8));
}

/** DeepSpeed's batch triple: micro = global / (accumulation × world). */
function derivedBatch(c: ResolveContext): number | null {
  const open = c.settings.open("micro_batch_size");
  const total = c.settings.find("global_batch_size");
  if (typeof total?.value === "number") {
    const steps = c.settings.number("gradient_accumulation_steps") ?? 1;
    const world = c.settings.number("world_size") ?? c.choice.deviceCount ?? 1;
    const micro = Math.floor(total.value / (steps * world));
    if (micro >= 1) {
      c.put("micro_batch_size", micro, "auto", total.key, total.place);
      return micro;
    }
  }
  if (open?.auto) c.put("micro_batch_size", null, "auto", open.key, open.place);
  const id = open?.auto ? "obstacle.auto-batch" : "obstacle.no-batch";
  c.obstacles.push({ code: "unresolved-auto", message: say(id) });
  return null;
}

/** Micro-batches per step; frameworks with loops of their own count them from the global batch. */
export function accumulationOf(c: ResolveContext, micro: number | null, replicas: number): number {
  const total = c.settings.find("global_batch_size");
  const open = c.framework.ownCode === true && c.settings.all("gradient_accumulation_steps").length === 0;
  const steps = open && micro !== null && typeof total?.value === "number" ? total.value / (micro * replicas) : 0;
  if (total === undefined || steps < 1 || !Number.isInteger(steps))
    return Number(c.value("gradient_accumulation_steps", 1));
  c.put("gradient_accumulation_steps", steps, "auto", total.key, total.place);
  return steps;
}

export function globalBatch(c: ResolveContext, micro: number | null, steps: number, world: number): void {
  const open = c.settings.open("global_batch_size");
  if (open?.auto && !c.trains) c.put("global_batch_size", null, "auto", open.key, open.place);
  const stated = c.keepStated("global_batch_size");
  if (micro !== null && typeof stated?.value !== "number" && c.trains)
    c.put("global_batch_size", micro * steps * world, "auto", "global_batch_size", null);
}

/** `max_length` of TRL's configs. */
const TRL_LENGTH = 1024;

/** The one size that a graph of somebody's own was traced for: a run that says none is taken to have it, which is said with the graph. */
function tracedSize(c: ResolveContext, letter: "S" | "I"): number | undefined {
  const { graphs } = c.inputs;
  if (graphs === undefined || !isTraced(graphs)) return undefined;
  const sizes = graphs.graphs.flatMap(({ when }) => when.map((one) => one.split(" == ")));
  return sizes.map(([name, size]) => (name === letter ? Number(size) : Number.NaN)).find(Number.isSafeInteger);
}

/** Tokens of the longest batch: what samples are cut to, or the longest there is where the pins know it. */
function sequenceLengthOf(c: ResolveContext, config: ModelConfig): number {
  const longest = evenBatches(c) ? undefined : longestSample(c);
  const traced = c.settings.find("sequence_length") === undefined ? tracedSize(c, "S") : undefined;
  if (longest === undefined && traced !== undefined) return traced;
  // The longest sample is filled up, too (transformers/tokenization_utils_base.py, `_pad`); packed ones are full.
  const limit = filledUp(c, limitOf(c, config, longest !== undefined));
  if (longest === undefined || longest >= limit) return limit;
  c.put("sequence_length", longest, "pin", LONGEST_KEY, null);
  return longest;
}

function filledUp(c: ResolveContext, length: number): number {
  return c.settings.on("packing") ? length : Math.ceil(length / multipleOf(c)) * multipleOf(c);
}

/** The padding's id where a config has none (config classes of RoBERTa and its kin). */
const PADDING = 1;

/** Positions that the model has for tokens, its text side's where it has sides; `standard`: what the config class has where the file says nothing. */
function positionsOf(config: ModelConfig, standard: Readonly<Record<string, unknown>> = {}): number {
  const text = partOf(config, "text_config");
  const family = String(config["model_type"]);
  const stated = config["max_position_embeddings"] ?? config["n_positions"] ?? text["max_position_embeddings"];
  const reserved = factsOf(family).countsFromPadding ? Number(config["pad_token_id"] ?? PADDING) + 1 : 0;
  const own = stated ?? familyOf(config).textPositions;
  const sided = config["text_config"] !== undefined;
  const usual = sided ? undefined : (standard["max_position_embeddings"] ?? standard["n_positions"]);
  return Number(own ?? usual ?? Number.POSITIVE_INFINITY) - reserved;
}

/** Every sequence is as long as it may be; a length beyond all numbers has no estimate to be said of. */
function supposeFull(c: ResolveContext, length: number, key: string): void {
  if (Number.isFinite(length)) c.suppose(say("assume.full-length", { length, key }), "sequence_length");
}

/** What samples are cut to; `settled`: the pins say how long they are. */
function limitOf(c: ResolveContext, config: ModelConfig, settled: boolean): number {
  const limit = positionsOf(config, c.inputs.graphs?.defaults);
  const pinned = c.settings
    .all("sequence_length")
    .find((setting) => setting.from === "pin" && typeof setting.value === "number");
  const stated = c.settings.find("sequence_length");
  const filled = evenBatches(c);
  const strongest = pinned ?? stated;
  if (typeof strongest?.value === "number") {
    c.keep("sequence_length", strongest);
    const said = stated?.from === "document" || stated?.from === "linked";
    if (strongest === stated && said && !filled && !settled) {
      supposeFull(c, strongest.value, c.written(strongest));
    }
    return strongest.value;
  }
  const unlimited = c.settings.open("sequence_length");
  if (c.namedTrainer && unlimited === undefined) {
    const standard = Number(c.ofTrainer("sequence_length") ?? TRL_LENGTH);
    c.put("sequence_length", Math.min(standard, limit), "default", "max_length", null);
    if (settled) return Math.min(standard, limit);
    c.suppose(say("assume.full-length", { length: standard, key: "max_length" }), "sequence_length", {
      sequence_length: String(2 * standard),
    });
    return Math.min(standard, limit);
  }
  const standard = unlimited === undefined ? keyFor(c.inputs.format, "sequence_length", c.libraries) : undefined;
  const known = standard === undefined ? undefined : defaultOf(standard, c.libraries);
  if (standard !== undefined && typeof known === "number") {
    const length = Math.min(known, limit);
    c.put("sequence_length", length, "default", standard.key, null);
    if (!filled) supposeFull(c, length, standard.key);
    return length;
  }
  const script = c.settings.find("sequence_limit");
  if (typeof script?.value === "number") {
    const length = Math.min(script.value, limit);
    c.put("sequence_length", length, "default", script.key, null);
    if (!filled) supposeFull(c, length, script.key);
    return length;
  }
  const length = Math.min(ASSUMED_SEQUENCE, limit);
  // A model nobody knows may read no tokens at all.
  if (c.inputs.model?.kind !== "found") return length;
  c.put("sequence_length", length, "assumed", unlimited?.key ?? "sequence_length", unlimited?.place ?? null);
  c.suppose(say("assume.sequence-length", { length }), "sequence_length", {
    sequence_length: String(Math.max(1, Math.floor(length / 2))),
  });
  return length;
}

/** Tokens that are written; of a text that answers a recording, with the recording's. */
function targetLengthOf(c: ResolveContext, config: ModelConfig, samples: number): number {
  const stated = c.keepNumber("target_length");
  if (stated !== undefined) return filledUp(c, stated);
  const heard = recordingTokens(config, samples);
  if (familyOf(config).writesWhileHearing === true) return heard;
  const length = heard + ASSUMED_TARGET;
  c.suppose(say("assume.target-length", { length }), "target_length", {
    target_length: String(heard + 2 * ASSUMED_TARGET),
  });
  return length;
}

function audioSamplesOf(c: ResolveContext): number {
  const stated = c.keepNumber("audio_seconds");
  if (stated !== undefined) return Math.round(stated * SAMPLING_RATE);
  c.suppose(say("assume.audio-seconds", { seconds: ASSUMED_SECONDS }), "audio_seconds", {
    audio_seconds: String(2 * ASSUMED_SECONDS),
  });
  return ASSUMED_SECONDS * SAMPLING_RATE;
}

/** The library's examples train such encoders with `model.freeze_feature_encoder()`, as their graphs are captured. */
function supposeFrozenFeatures(c: ResolveContext): void {
  c.suppose(say("assume.feature-encoder"), "freeze_feature_encoder");
}

/** Side of a classifier's pictures, and of a photograph given to a model that takes any size, when nothing says them. */
const ASSUMED_SIDE = 224;
const ASSUMED_PHOTOGRAPH = 768;

function imageSizeOf(c: ResolveContext, config: ModelConfig, task: Task): number {
  const vision = partOf(config, "vision_config");
  const unit = anySizeUnit(config, vision);
  const { anySize, processedSide, patchesASide, assumedSide = ASSUMED_SIDE } = familyOf(config);
  const limit = anySize?.most ?? Infinity;
  const whole = (side: number): number =>
    unit === null ? side : Math.min(limit, Math.max(1, Math.round(side / unit))) * unit;
  const stated = c.settings.number("image_size");
  const alone = knowsTextsAlone(c) && (stated === 0 || (stated === undefined && givenTextsAlone(c)));
  if (alone && stated === undefined)
    c.suppose(say("assume.texts-alone"), "image_size", { image_size: String(whole(ASSUMED_PHOTOGRAPH)) });
  if (alone) return 0;
  if (stated !== undefined && stated > 0) return whole(stated);
  const traced = tracedSize(c, "I");
  if (traced !== undefined) return traced;
  const own =
    config["image_size"] ??
    processedSide ??
    (patchesASide === undefined
      ? (vision["image_size"] ?? sideOfPair(config))
      : patchesASide * pixels(vision["patch_size"], 16));
  if (unit === null && typeof own === "number") {
    if (task !== "image-segmentation") return own;
    // Segmentation runs at any size, mostly a larger one than its encoder was made with.
    const size = Math.max(own, assumedSide);
    c.suppose(say("assume.image-size", { size }), "image_size", { image_size: String(2 * size) });
    return size;
  }
  // Processors of pictures of any size scale larger ones down to a number of pixels.
  const most = c.settings.number("image_max_pixels");
  const size = unit === null ? assumedSide : whole(Math.min(ASSUMED_PHOTOGRAPH, Math.sqrt(most ?? Infinity)));
  const message = unit === null ? say("assume.image-size", { size }) : say("assume.pictures", { size });
  c.suppose(message, "image_size", unit === null ? undefined : { image_size: String(2 * size) });
  return size;
}

/** Whether the model's family was captured on texts without pictures. */
function knowsTextsAlone(c: ResolveContext): boolean {
  return c.inputs.graphs?.graphs.some(({ when }) => when.includes("I == 0")) ?? false;
}

/**
 * Whether what prepares the samples knows words alone: a script with a tokenizer and no processor, axolotl without
 * `processor_type` (axolotl/utils/config/__init__.py, `cfg.is_multimodal`).
 */
function givenTextsAlone(c: ResolveContext): boolean {
  if (c.framework.namesProcessor === true) return c.settings.string("processor_type") === undefined;
  return c.settings.on("words_alone");
}

/** The side that a pair's encoder is made for (the first of two). */
function sideOfPair(config: ModelConfig): unknown {
  const own = partOf(config, "encoder")["image_size"];
  return Array.isArray(own) ? own[0] : own;
}

/** Pixels that sides of pictures are rounded to by models that read pictures of any size, or null for models with pictures of one size. */
function anySizeUnit(config: ModelConfig, vision: Readonly<Record<string, unknown>>): number | null {
  const { anySize } = familyOf(config);
  if (anySize === undefined) return null;
  const { tile, patch = 1, merged, pooled } = anySize;
  if (tile !== undefined) {
    const own = vision["image_size"];
    const side = Number(Array.isArray(own) ? own[0] : own);
    return side > 0 ? side : tile;
  }
  const each = pixels(vision["patch_size"] ?? config["patch_size"], patch);
  if (pooled !== undefined) return each * pixels(vision["pooling_kernel_size"], pooled);
  if (merged === undefined) return each;
  return each * pixels(vision["spatial_merge_size"] ?? config["spatial_merge_size"], merged);
}

/** Largest side of a picture that a config's numbers may ask for. */
const MOST_PIXELS = 2 ** 20;

/** A number of pixels as a config states it; the usual one where it states none that pictures can have. */
function pixels(stated: unknown, usual: number): number {
  const own = Number(stated ?? usual);
  return Number.isInteger(own) && own >= 1 && own <= MOST_PIXELS ? own : usual;
}
