/** Which model is trained, on what task, on which devices. */

import { TABLE_SIDE } from "../../core/graph/interpolated";
import { deviceSpec, findDevice } from "../../core/hardware/devices";
import type { Part } from "../../core/training/parts";
import { type DeviceSpec, type ModelConfig, TASKS, type Task, type TrainingRun } from "../../core/training/run";
import { floatNamed } from "../../terms/dtypes";
import type { SettingName } from "../../terms/settings";
import { sizeIn } from "../../terms/sizes";
import { say } from "../../words/message";
import { keyFor } from "../frameworks/defaults";
import { runsOwnCode } from "../frameworks/frameworks";
import type { Setting } from "../frameworks/settings";
import { holds } from "../frameworks/versions";
import { overheadOn } from "../linking/receipts";
import { size } from "../messages/units";
import { familyOf } from "../models/families";
import type { ModelFound } from "../models/model-found";
import { isThinker } from "../models/trained-part";
import { linksOf } from "../pins/machine";
import type { ResolveContext } from "./context";
import { usesAllVisible } from "./one-process";
import { MOST_COUNTED } from "./ranges";
import type { Resolution } from "./types";

/** Task of the model class that a config's `architectures` names. */
const TASK_OF_CLASS: readonly (readonly [RegExp, Task])[] = [
  [/ForCausalLM$|LMHeadModel$/, "causal-lm"],
  [/ForMaskedLM$|ForPreTraining$/, "masked-lm"],
  [/ForSequenceClassification$/, "seq-cls"],
  [/ForTokenClassification$/, "token-cls"],
  [/ForQuestionAnswering(Simple)?$/, "qa"],
  [/ForMultipleChoice$/, "multiple-choice"],
  [/ForImageClassification$/, "image-cls"],
  [/ForSemanticSegmentation$/, "image-segmentation"],
  [/ForMaskedImageModeling$/, "masked-image"],
  [/^(CLIP|Siglip2?)Model$/, "contrastive"],
  [/ForCTC$/, "ctc"],
  [/ForAudioClassification$/, "audio-cls"],
  [/ForSpeechSeq2Seq$/, "speech-seq2seq"],
  [/ForSeq2SeqLM$/, "seq2seq-lm"],
  [/ForImageTextToText$|ForVision2Seq$|^VisionEncoderDecoderModel$/, "image-text-to-text"],
  [/^SpeechEncoderDecoderModel$|ForSpeechToText$/, "speech-seq2seq"],
  [/^EncoderDecoderModel$/, "seq2seq-lm"],
];

/**
 * `…ForConditionalGeneration` says only that something is generated from something else; what the model reads is seen in
 * its config: a picture's encoder, or the frames of a spectrogram.
 */
function conditionalTask(config: ModelConfig): Task {
  if (nests(config, "vision_config")) return "image-text-to-text";
  if (
    typeof config["num_mel_bins"] === "number" ||
    nests(config, "audio_config") ||
    familyOf(config).transcribes === true
  )
    return "speech-seq2seq";
  return "seq2seq-lm";
}

function nests(config: ModelConfig, key: string): boolean {
  return typeof config[key] === "object" && config[key] !== null;
}

/** What pretrained models of a family are trained further for where nothing says it, the likeliest first. */
const LIKELIEST: readonly Task[] = [
  "image-text-to-text",
  "contrastive",
  "seq2seq-lm",
  "speech-seq2seq",
  "ctc",
  "masked-lm",
  "causal-lm",
  "token-cls",
  "image-cls",
  "image-segmentation",
  "audio-cls",
  "seq-cls",
];

/** Classes of transformers that have no head, and what is mostly put on them: a small one. */
const BODIES = /^(?!Fast)\w*Model$/;
/** What a small head is put on, the first that the family's graphs know. */
const OWN_HEADS: readonly Task[] = ["seq-cls", "image-cls", "audio-cls"];

/** Tasks that the graphs of the model's family, or of the one that stands in for it, know. */
function knownTasks(c: ResolveContext): ReadonlySet<string> {
  return new Set(c.inputs.graphs?.graphs.map(({ task }) => task));
}

/** The likeliest of the tasks that are known. */
function likeliest(c: ResolveContext, config: ModelConfig): Task {
  const known = knownTasks(c);
  return familyOf(config).likeliest ?? LIKELIEST.find((task) => known.has(task)) ?? "causal-lm";
}

type FoundModel = Extract<ModelFound, { kind: "found" }>;

export function modelOf(c: ResolveContext): TrainingRun["model"] | null {
  const { model } = c.inputs;
  const stated = c.settings.strongest(["config_name", "model"]);
  if (stated !== undefined) c.keep("model", stated);
  if (model === undefined) {
    const open = c.settings.open("model");
    if (open !== undefined) c.keep("model", open, null);
    c.obstacles.push({ code: "unknown-model", message: say("unknown-model.unstated") });
    c.suppose(say("assume.model"), "model");
    return null;
  }
  if (model.kind !== "found") {
    c.obstacles.push({ code: "unknown-model", message: say("unknown-model.missing", { name: model.name }) });
    c.suppose(say("assume.model"), "model");
    return null;
  }
  if (model.guessed === true && stated !== undefined)
    c.suppose(say("assume.model-name", { name: String(stated.value), published: model.name }), "model");
  const family = String(model.config["model_type"]);
  if (model.own !== undefined) supposeTraced(c, model.own);
  if (isThinker(family)) c.suppose(say("assume.thinker"), "model");
  const other = c.settings.string("other_model");
  const known = besideOf(c) !== undefined;
  if (other !== undefined)
    c.suppose(say(known ? "assume.other-weights" : "assume.other-model", { name: other }), "model");
  const own = model.code === undefined ? {} : { code: model.code };
  return { name: model.name, family, ...own, config: cropped(c, resized(c, model.config)), source: model.source };
}

/** What an estimate on a traced graph rests on: when it was traced and what of, its loss and the sizes that it holds for. */
function supposeTraced(c: ResolveContext, { traced, changed }: NonNullable<FoundModel["own"]>): void {
  const when = `${traced.when.slice(0, 16).replace("T", " ")} UTC`;
  const files = changed.length > 3 ? `${changed.slice(0, 3).join(", ")}, …` : changed.join(", ");
  if (changed.length > 0) c.suppose(say("assume.traced-changed", { entry: traced.entry, when, files }), "model");
  else c.suppose(say("assume.traced", { entry: traced.entry, when }), "model");
  if (traced.loss !== "returned") c.suppose(say("assume.traced-loss", { loss: traced.loss }), "model");
  if (traced.holds.length > 0) c.suppose(say("assume.traced-holds", { conditions: traced.holds.join(", ") }), "model");
}

/** A model that the script's own trainer runs beside the trained one, where its size is known. */
export function besideOf(c: ResolveContext): TrainingRun["beside"] {
  const found = c.inputs.companions.get("other_model");
  if (found?.kind !== "found" || found.parameters === undefined) return undefined;
  const stored = String(found.config["torch_dtype"] ?? found.config["dtype"] ?? "float32");
  const before = holds("transformers<5", c.libraries) ? "float32" : stored;
  const dtype = floatNamed(c.settings.string("other_model_dtype") ?? before);
  const { source } = found;
  // Both tell the same classes apart, or their answers could not be compared.
  const labels = c.settings.number("num_labels");
  const config = labels === undefined ? found.config : { ...found.config, num_labels: labels };
  const runs = {
    model: { name: found.name, family: String(config["model_type"]), config, source },
    loadDtype: dtype ?? "float32",
  };
  const after = c.settings.on("other_model_runs") || c.ownLoss() !== undefined;
  return { elements: found.parameters, dtype: dtype ?? "float32", ...(after ? { runs } : {}) };
}

/**
 * The config with the side of the pictures that the run has: what is stated, else what the processor crops larger ones to. The table
 * of positions stays as large as the config has it, which a file itself never says by our key.
 */
function cropped(c: ResolveContext, { [TABLE_SIDE]: _, ...config }: ModelConfig): ModelConfig {
  const side = familyOf(config).processedSide;
  const own = config["image_size"];
  if (side === undefined || typeof own !== "number") return config;
  const read = c.settings.number("image_size") ?? Math.min(own, side);
  return read === own ? config : { ...config, image_size: read, [TABLE_SIDE]: own };
}

/** The config with as many words as a script resizes the tables to. */
function resized(c: ResolveContext, config: ModelConfig): ModelConfig {
  const rows = c.settings.find("vocabulary_size");
  if (typeof rows?.value !== "number") return config;
  if (rows.value === 0) {
    c.suppose(say("assume.resized"), "vocabulary_size");
    return config;
  }
  const text = config["text_config"];
  return nests(config, "text_config")
    ? { ...config, text_config: { ...(text as object), vocab_size: rows.value } }
    : { ...config, vocab_size: rows.value };
}

function classTask(c: ResolveContext, architecture: string, config: ModelConfig): Task | undefined {
  const known = knownTasks(c);
  // Encoders of speech classify whole recordings with the class that texts use, too.
  const hears = known.has("audio-cls") && !known.has("seq-cls");
  if (/ForSequenceClassification$/.test(architecture) && hears) return "audio-cls";
  if (/ForConditionalGeneration$/.test(architecture)) return conditionalTask(config);
  // GIT writes about pictures under the name of a plain decoder.
  if (/ForCausalLM$/.test(architecture) && nests(config, "vision_config")) return "image-text-to-text";
  return TASK_OF_CLASS.find(([pattern]) => pattern.test(architecture))?.[1];
}

/** Whether a loss of the script's own is made of the states of a model that is loaded without a head. */
export function runsBody(c: ResolveContext): boolean {
  const loaded = c.settings.find("model_class");
  const named = loaded !== undefined && c.settings.string("task") === undefined;
  return named && ownHeadOf(c, String(loaded.value)) !== undefined && c.ownLoss() !== undefined;
}

/**
 * The task of a model without a head that a small one is put on; undefined: its class has a head, or none is known. What `AutoModel`
 * makes of models of two towers has a loss of its own (transformers/models/auto/modeling_auto.py, MODEL_MAPPING_NAMES), which trains
 * where the script has none.
 */
function ownHeadOf(c: ResolveContext, loaded: string): Task | undefined {
  if (!BODIES.test(loaded) || TASK_OF_CLASS.some(([pattern]) => pattern.test(loaded))) return undefined;
  const known = knownTasks(c);
  if (known.has("contrastive") && c.ownLoss() === undefined) return "contrastive";
  return OWN_HEADS.find((task) => known.has(task));
}

export function taskOf(c: ResolveContext, config: ModelConfig): Task {
  const of = c.inputs.model;
  // A traced graph is of one task, whatever the class that the script makes is called.
  const traced = of?.kind === "found" && of.own !== undefined && TASKS.find((name) => name === of.task);
  if (traced) return traced;
  const stated = c.settings.string("task");
  if (stated !== undefined) return stated as Task;
  const loaded = c.settings.find("model_class");
  const ofClass = loaded === undefined ? undefined : classTask(c, String(loaded.value), config);
  if (loaded !== undefined && ofClass !== undefined) {
    c.keep("task", loaded, ofClass);
    return ofClass;
  }
  const headed = loaded === undefined ? undefined : ownHeadOf(c, String(loaded.value));
  if (headed !== undefined) {
    if (headed !== "contrastive" && !runsBody(c))
      c.suppose(say("assume.own-head", { class: String(loaded?.value) }), "task");
    return headed;
  }
  const architecture = Array.isArray(config["architectures"]) ? String(config["architectures"][0] ?? "") : "";
  const named = classTask(c, architecture, config);
  if (named !== undefined) return named;
  const { model } = c.inputs;
  const published = TASKS.find((name) => model?.kind === "found" && model.task === name);
  // Pretrained encoders are mostly trained further for something else.
  if (published !== undefined && published !== "masked-lm") return published;
  const task = published ?? likeliest(c, config);
  // Where a framework writes the models itself it has a program for each task.
  const isOpen = !c.namedTrainer && !runsOwnCode(c.framework, c.settings);
  if (isOpen && model?.kind === "found") c.suppose(say("assume.task", { task }), "task");
  return task;
}

/** Settings that keep a part of a model of pictures and text as it is. */
const FREEZES: readonly (readonly [SettingName, Part])[] = [
  ["freeze_vision_tower", "vision"],
  ["freeze_projector", "projector"],
  ["freeze_language_model", "language"],
];

/** Parts the trainer leaves untrained; only trainers that know such models have settings for it. */
export function frozenPartsOf(c: ResolveContext, task: Task): readonly Part[] {
  if (task !== "image-text-to-text") return [];
  const known = FREEZES.filter(
    ([name]) => keyFor(c.inputs.format, name, c.libraries) !== undefined || c.settings.find(name) !== undefined,
  );
  return known.filter(([name]) => c.value(name, false) === true).map(([, part]) => part);
}

export function deviceOf(c: ResolveContext): Resolution["device"] {
  const chosen = c.choice.device;
  const override = c.settings.all("device").find((setting) => setting.place === null);
  const asked = override ?? c.settings.find("device");
  const text =
    override !== undefined
      ? String(override.value)
      : (chosen ?? (asked === undefined ? c.choice.defaultDevice : String(asked.value)));
  const match = text === undefined || text === "" ? null : findDevice(text);
  const byHand = override !== undefined || chosen !== undefined || asked === undefined;
  const source = match === null ? "none" : byHand ? "setting" : asked.from === "pin" ? "pin" : "config";
  const occupiedBytes = sizeIn(c.settings.string("device_occupied"));
  if (match === null) return { spec: null, source, asked };
  const measuredOverhead = c.choice.learns === false ? {} : measuredOn(c, match.device.name);
  // A job says how many GPUs it gets of the machine that it names.
  const count = source === "config" && c.settings.number("granted_devices") !== undefined ? { count: 1 } : {};
  const links = linksOf(c.settings);
  const spec = {
    ...deviceSpec(match),
    ...count,
    ...(occupiedBytes > 0 ? { occupiedBytes } : {}),
    ...(links === undefined ? {} : { links }),
    ...measuredOverhead,
  };
  return { spec, source, asked };
}

/** What receipts of a card say of context and libraries, which is stated. */
function measuredOn(c: ResolveContext, name: string): Pick<DeviceSpec, "measuredOverhead"> {
  const isCard = (other: string): boolean => findDevice(other)?.device.name === name;
  const [alone, together] = [1, 2].map((worldSize) => overheadOn(c.inputs.receipts ?? [], isCard, worldSize));
  const shown = alone ?? together;
  if (shown == null) return {};
  c.suppose(
    say("assume.measured-overhead", { size: size(shown.bytes), card: shown.card, date: shown.when.slice(0, 10) }),
    "receipts",
  );
  return {
    measuredOverhead: {
      ...(alone == null ? {} : { alone: alone.bytes }),
      ...(together == null ? {} : { together: together.bytes }),
    },
  };
}

/** Sizes of a mesh of ranks, whose product is every rank (accelerate/parallelism_config.py, `total_size`). */
const MESH: readonly SettingName[] = [
  "dp_shard_size",
  "dp_replicate_size",
  "tensor_parallel",
  "context_parallel",
  "pipeline_parallel",
];

/** Ranks of the mesh that the config lays out: all of them when it says over how many the parameters are shared or copied. */
function meshOf(
  c: ResolveContext,
): { readonly stated: Setting; readonly ranks: number; readonly all: boolean } | undefined {
  const sizes = MESH.flatMap((name) => {
    const stated = c.settings.find(name);
    return typeof stated?.value === "number" && stated.value > 1 ? [{ stated, size: Math.floor(stated.value) }] : [];
  });
  const [first] = sizes;
  if (first === undefined) return undefined;
  const ranks = sizes.reduce((product, { size }) => product * size, 1);
  return { stated: first.stated, ranks, all: first.stated.name.startsWith("dp_") };
}

export function worldSizeOf(c: ResolveContext, device: DeviceSpec | null): number {
  const stated = c.keepNumber("world_size", 1);
  if (stated !== undefined) return Math.floor(stated);
  const chosen = c.choice.deviceCount ?? (device !== null && device.count > 1 ? device.count : undefined);
  if (chosen !== undefined) {
    c.put("world_size", chosen, "pin", "device.count", null);
    return chosen;
  }
  const mesh = meshOf(c);
  if (mesh?.all === true) {
    c.keep("world_size", mesh.stated, mesh.ranks);
    return mesh.ranks;
  }
  if (mesh !== undefined && mesh.ranks <= MOST_COUNTED) {
    c.put("world_size", mesh.ranks, "assumed", "device.count", null);
    c.suppose(say("assume.fewest-gpus", { count: mesh.ranks }), "device.count");
    return mesh.ranks;
  }
  const least = c.settings.find("least_devices");
  if (typeof least?.value === "number" && least.value <= MOST_COUNTED) {
    c.put("world_size", least.value, "assumed", "device.count", null);
    // One alone is what a launcher starts at the least that is not told how many, or told from outside.
    const { key, value: count } = least;
    const alone = key.startsWith("--")
      ? say("assume.count-unread", { key })
      : say("assume.all-gpus", { launcher: key });
    const said = count > 1 ? say("assume.one-machine", { count }) : alone;
    c.suppose(said, "device.count", count > 1 ? undefined : { world_size: "8" });
    return count;
  }
  const visible = c.settings.find("visible_devices");
  if (visible !== undefined && usesAllVisible(c)) {
    c.keep("world_size", visible);
    return Number(visible.value);
  }
  c.put("world_size", 1, "assumed", "device.count", null);
  const spread = c.settings.find("spread_by");
  if (spread !== undefined)
    c.suppose(say("assume.ranks-open", { call: spread.key }), "device.count", { world_size: "8" });
  else if (c.inputs.deepspeed !== undefined || c.settings.string("fsdp_options") !== undefined) {
    c.suppose(say("assume.world-size"), "device.count", { world_size: "8" });
  }
  return 1;
}
