/**
 * A run of one of diffusers' training scripts: an accelerate loop around a denoiser, with an autoencoder and text encoders beside
 * it that nothing trains. Sources: `examples/text_to_image/train_*.py`, `examples/dreambooth/train_*.py`; `diffusers/loaders/peft.py`
 * (add_adapter), `diffusers/training_utils.py` (cast_training_params, EMAModel); `accelerate/accelerator.py` (autocast around the denoiser alone).
 */
import type { DType } from "../../core/engine/dtype";
import type { AdapterSpec, ModelConfig, TrainingRun } from "../../core/training/run";
import { floatNamed } from "../../terms/dtypes";
import { say } from "../../words/message";
import { DIFFUSION_SCRIPTS, type DiffusionScript } from "../linking/diffusion-scripts";
import type { ResolveContext } from "./context";
import { accumulationOf, globalBatch } from "./data";
import { deviceOf, modelOf, worldSizeOf } from "./model";
import { parallelOf } from "./parallel";
import { precisionOf, tf32Of } from "./precision";
import { outOfRange } from "./ranges";
import { checkpointingOf, optimizerOf } from "./step";
import type { Resolution } from "./types";
import { supposeUncounted } from "./uncounted";

/** Models beside the denoiser, by the names that pipelines have for them. */
const BESIDE = ["vae", "text_encoder", "text_encoder_2"] as const;
const DENOISER = "(?:unet|transformer)";

/** Switches with which a script trains, adapts or calls more than its graph was captured with. */
const OTHERWISE = ["train_text_encoder"] as const;

/** The script's row; null where it, or what it is asked for, is not followed, which is said. */
function scriptOf(c: ResolveContext): DiffusionScript | null {
  const name = c.settings.string("training_script") ?? "";
  const script = DIFFUSION_SCRIPTS[name];
  if (script === undefined) {
    c.obstacles.push({ code: "not-modelled", message: say("not-modelled.script", { script: name || "?" }) });
    return null;
  }
  const other = OTHERWISE.map((one) => c.settings.find(one)).find((found) => found?.value === true);
  if (other === undefined || script.textsAdapt !== undefined) return script;
  c.obstacles.push({ code: "not-modelled", message: say("not-modelled.switch", { key: other.key }) });
  return null;
}

/** LoRA as the scripts make it: `lora_alpha` is the rank, and factors are raised where the precision is float16 alone. */
function adapterOf(c: ResolveContext, script: DiffusionScript, precision: TrainingRun["autocast"]): AdapterSpec | null {
  const { adapts, alpha } = script;
  if (adapts === undefined) return null;
  const rank = Number(c.value("lora_rank", 4));
  if (c.settings.find("lora_rank") === undefined) c.put("lora_rank", rank, "default", "rank", null);
  c.put("adapter", "lora", "default", "rank", null);
  const spelled = (names: readonly string[]) => names.map((name) => name.replaceAll(".", "\\.")).join("|");
  const { textsAdapt } = script;
  const texts =
    trainsTexts(c, script) && Array.isArray(textsAdapt) ? `|text_encoder.*\\.(?:${spelled(textsAdapt)})` : "";
  const own = script.own === true;
  return {
    type: "lora",
    rank,
    alpha: c.settings.number("lora_alpha") ?? alpha ?? rank,
    dropout: 0,
    targetModules: `${DENOISER}\\..*\\.(?:${spelled(adapts)})${texts}`,
    modulesToSave: [],
    bias: "none",
    useRslora: false,
    autocastAdapterDtype: precision === "float16",
    ...(own ? { keepsInput: true, castTo: floatNamed(c.settings.string("trained_dtype")) ?? "float32" } : {}),
  };
}

/** Pictures of a micro-batch; the script's own default where nothing says it. */
function batchOf(c: ResolveContext, { batch }: DiffusionScript): number {
  const stated = c.keepNumber("micro_batch_size", 1);
  if (stated !== undefined) return Math.floor(stated);
  c.put("micro_batch_size", batch, "default", "train_batch_size", null);
  return batch;
}

/** Tokens of a prompt, where a script's texts have a length of their own. */
function tokensOf(c: ResolveContext, { tokens }: DiffusionScript): number {
  if (tokens === undefined) return 0;
  c.keepStated("sequence_length");
  return tokens.before + (c.settings.number("sequence_length") ?? tokens.own);
}

/** Dtype of the denoiser's weights. */
function loadDtypeOf(c: ResolveContext, { adapts }: DiffusionScript, half: DType): DType {
  if (adapts === undefined) return floatNamed(c.settings.string("trained_dtype")) ?? "float32";
  return c.settings.string("load_dtype") === "float8" ? "float8" : half;
}

/** A program with networks of its own, whose checkpoint is told by the program: a published pipeline stands for it. */
function supposeOwn(c: ResolveContext, { keepsScores }: DiffusionScript): void {
  c.suppose(say("assume.own-code", { framework: c.framework.name, code: "diffusers" }), "model");
  const [model, published] = [c.settings.string("model"), c.settings.string("config_name")];
  if (published !== undefined && model !== published)
    c.suppose(say("assume.checkpoint", { name: model ?? "?", published }), "model");
  if (keepsScores === true && c.settings.find("attention") === undefined)
    c.suppose(say("assume.no-kernel", { framework: c.framework.name }), "xformers");
}

/** Dtypes of the models beside the denoiser, where they are not those of its weights. */
function partDtypes(
  c: ResolveContext,
  script: DiffusionScript,
  load: DType,
  half: DType,
): Readonly<Record<string, DType>> {
  const named = c.settings.find("autoencoder") !== undefined;
  const texts = script.textsAdapt === true && trainsTexts(c, script) ? "float32" : half;
  const whole = script.wholeAutoencoder === "always" || (script.wholeAutoencoder === "own" && !named);
  const dtypes = BESIDE.map((part): [string, DType] => [part, part === "vae" ? (whole ? "float32" : half) : texts]);
  return Object.fromEntries(dtypes.filter(([, dtype]) => dtype !== load));
}

/** Weights on the device besides those of the models that a step calls. */
type Others = Pick<TrainingRun, "beside" | "embeds">;

/**
 * A copy of the denoiser in float32 whose weights follow the trained ones (`EMAModel`, moved to the device), or text encoders whose
 * prompts are embedded anew in every step without being in the graph.
 */
function besideOf(c: ResolveContext, script: DiffusionScript, config: ModelConfig, half: DType): Others {
  const { denoiser_parameters: denoiser, text_parameters: texts } = config;
  if (script.own === true) return ownBesideOf(c, script, config, half);
  if (c.settings.on("use_ema") && typeof denoiser === "number")
    return { beside: { elements: denoiser, dtype: "float32" } };
  if (script.texts === "encoded" || typeof texts !== "number") return {};
  if (hasCaptions(c)) {
    c.suppose(say("assume.text-encoders"), "caption_column");
    return { beside: { elements: texts, dtype: half } };
  }
  // An adapted denoiser is on the device by then, one that is trained whole is not.
  return script.adapts === undefined ? {} : { embeds: { elements: texts, dtype: half } };
}

/** Text encoders that are in no graph stay on the device unless their answers are kept. */
function ownBesideOf(c: ResolveContext, script: DiffusionScript, config: ModelConfig, half: DType): Others {
  const { text_parameters: texts } = config;
  if (script.tokens === undefined || typeof texts !== "number" || c.settings.on("cached_texts")) return {};
  c.suppose(say("assume.text-encoders"), "cached_texts");
  return { beside: { elements: texts, dtype: c.settings.on("texts_quantized") ? "float8" : half } };
}

/** Every picture has a prompt of its own (`custom_instance_prompts`). */
function hasCaptions(c: ResolveContext): boolean {
  return c.settings.find("caption_column") !== undefined;
}

/** Whether the text encoders that a step calls are adapted or trained, too. */
function trainsTexts(c: ResolveContext, { trainsTexts: standard, texts }: DiffusionScript): boolean {
  return texts === "encoded" && (c.settings.boolean("train_text_encoder") ?? standard) === true;
}

/** A program's own row, with what it is asked to make once before it trains: the models for that lie on the host then. */
function withCaches(c: ResolveContext, script: DiffusionScript): DiffusionScript {
  if (script.own !== true) return script;
  const cached = (name: "cached_latents" | "cached_texts"): boolean => c.settings.on(name);
  const texts = cached("cached_texts") && !trainsTexts(c, script) ? "given" : script.texts;
  const latents = cached("cached_latents") || texts !== script.texts ? "given" : script.latents;
  return {
    ...script,
    latents,
    texts,
    ...(c.settings.on("whole_autoencoder") ? { wholeAutoencoder: "always" } : {}),
  };
}

/** The script's row, with texts embedded in every step where they differ and the text encoders are in a graph. */
function withCaptions(c: ResolveContext, script: DiffusionScript): DiffusionScript {
  return script.texts === "given" && script.adapts !== undefined && script.tokens === undefined && hasCaptions(c)
    ? { ...script, texts: "encoded" }
    : script;
}

function diffusionRun(c: ResolveContext, device: ReturnType<typeof deviceOf>): TrainingRun | null {
  const model = modelOf(c);
  const row = scriptOf(c);
  if (model === null || row === null) return null;
  const script = withCaches(c, withCaptions(c, row));
  if (script.own === true) supposeOwn(c, script);
  const precision = precisionOf(c);
  const half = precision ?? "float32";
  const loadDtype = loadDtypeOf(c, script, half);
  const config = { ...model.config, latents: script.latents, texts: script.texts };
  const worldSize = worldSizeOf(c, device.spec);
  const microBatchSize = batchOf(c, script);
  const gradientAccumulationSteps = accumulationOf(c, microBatchSize, worldSize);
  globalBatch(c, microBatchSize, gradientAccumulationSteps, worldSize);
  c.put("load_dtype", loadDtype, "default", "mixed_precision", null);
  const side = c.settings.number("image_size");
  const checkpointing = checkpointingOf(c);
  const frozen = script.textsAdapt === true && trainsTexts(c, script) ? BESIDE.slice(0, 1) : BESIDE;
  return {
    model: { ...model, config },
    task: "diffusion",
    microBatchSize,
    sequenceLength: tokensOf(c, script),
    targetLength: 0,
    imageSize: side ?? script.resolution,
    // pictures of the class stand in the same batch (`collate_fn`)
    ...(c.settings.on("with_prior_preservation") ? { choices: 2 } : {}),
    gradientAccumulationSteps,
    loadDtype,
    partDtypes: partDtypes(c, script, loadDtype, half),
    autocast: precision,
    ...(tf32Of(c) ? { tf32: true } : {}),
    attention: "sdpa",
    // models/modeling_utils.py, enable_gradient_checkpointing
    checkpointing: checkpointing === null ? null : { useReentrant: false },
    optimizer:
      c.settings.find("optimizer") === undefined
        ? { name: "adamw_torch", args: {}, oneGroup: true }
        : { ...optimizerOf(c, config), oneGroup: true },
    maxGradNorm: Number(c.value("max_grad_norm", 1)),
    adapter: adapterOf(c, script, precision),
    trained: { rules: frozen.map((part) => ({ pattern: `^${part}\\.`, trained: false })) },
    ...(script.own === true ? { standsFor: c.framework.name } : {}),
    quantization: null,
    fusedLoss: false,
    labelSmoothing: 0,
    loop: { holds: "outputs", keepsDtype: true },
    ...besideOf(c, script, config, half),
    parallel: parallelOf(c, config, precision, worldSize),
    libraries: c.libraries,
    expandableSegments: c.settings.on("expandable_segments"),
    device: device.spec === null ? null : { ...device.spec, count: Math.max(device.spec.count, worldSize) },
  };
}

/** The whole resolution of such a run. */
export function resolveDiffusion(c: ResolveContext): Resolution {
  const device = deviceOf(c);
  const run = diffusionRun(c, device);
  if (run !== null) {
    c.obstacles.push(...outOfRange(c, run.model.config));
    supposeUncounted(c);
  }
  return c.resolution({ run: c.obstacles.length > 0 ? null : run, device, trainer: "trainer", padding: null });
}
