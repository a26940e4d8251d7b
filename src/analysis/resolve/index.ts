/**
 * From settings to a `TrainingRun`: what the libraries would make of them, with the origin of every value and the
 * assumptions behind what nothing states.
 */
import { configuredWorkspaceBytes } from "../../core/hardware/context";
import { dataParallelSize } from "../../core/training/parallel/degrees";
import type { ModelConfig, Task, TrainerKind, TrainingRun } from "../../core/training/run";
import type { StepAction } from "../../terms/step-actions";
import { say } from "../../words/message";
import { codeName, runsOwnCode } from "../frameworks/frameworks";
import { OWN_LOSS, trainerOf } from "../frameworks/trainers";
import { holds, MODELS } from "../frameworks/versions";
import type { RunInputs } from "../linking/inputs";
import { adapterOf } from "./adapters";
import { ResolveContext } from "./context";
import { accumulationOf, batchOf, globalBatch, sampleSizesOf } from "./data";
import { resolveDiffusion } from "./diffusion";
import { evaluationOf, generationOf } from "./evaluation";
import { float8Of } from "./float8";
import { generatedLengths } from "./generating";
import { cacheOf, clippingOf, keptBatchesOf, loopOf, toldOf } from "./loop";
import { besideOf, deviceOf, frozenPartsOf, modelOf, runsBody, taskOf, worldSizeOf } from "./model";
import { resolveNnunet } from "./nnunet";
import { obstaclesOf } from "./not-modelled";
import { paddingOf } from "./padding";
import { copiesOf, parallelOf } from "./parallel";
import { supposePatterns } from "./patterns";
import { loadDtypeOf, precisionOf, tf32Of } from "./precision";
import { quantizationOf } from "./quantization";
import { quirksOf } from "./quirks";
import { outOfRange } from "./ranges";
import { releaseStoodFor } from "./release";
import { savingOf } from "./saving";
import {
  attentionOf,
  checkpointingOf,
  chunkedLossOf,
  compiledOf,
  fusedLayersOf,
  fusedLossOf,
  offloadsActivations,
  optimizerOf,
  recomputesModules,
  stateSpaceKernelsOf,
  steppedOf,
} from "./step";
import { trainedOf } from "./trained";
import { classified, trainerSpecOf } from "./trainer";
import type { Choice, Resolution } from "./types";
import { supposeUncounted } from "./uncounted";

export type { Choice, Obstacle, Resolution, Resolved, Supposition } from "./types";

/** Tasks whose head and loss TRL's SFT multiplies itself (trl/trainer/sft_trainer.py, add_fused_lm_head). */
const TAUGHT: ReadonlySet<Task> = new Set(["causal-lm", "image-text-to-text"]);

/**
 * What a trainer makes of the model: one that scores a text, or a body alone, whose graph is cut from one with a head; of an encoder with a
 * decoder the first alone is loaded.
 */
function headOf(kind: TrainerKind | undefined, config: ModelConfig): Task | undefined {
  if (kind !== "reward" && kind !== "embedding") return undefined;
  return kind === "embedding" && config["is_encoder_decoder"] === true ? "token-cls" : "seq-cls";
}

/** Resolves a run; pure, so that what-ifs and curves are the same function with other overrides. */
export function resolveRun(inputs: RunInputs, choice: Choice): Resolution {
  const c = new ResolveContext(inputs, choice);
  if (c.framework.plans === true) return resolveNnunet(c);
  if (c.framework.denoises === true) return resolveDiffusion(c);
  const trainer = trainerOf(c.inputs, c.settings);
  const flavour = c.framework.flavours?.[trainer];
  c.trainer = flavour?.kind ?? trainer;
  const ownLoss = OWN_LOSS[trainer];
  const found = modelOf(c);
  const headed = headOf(flavour?.kind, found?.config ?? {});
  const task = headed ?? ownLoss?.task ?? taskOf(c, found?.config ?? {});
  const labels = ownLoss?.labels ?? c.settings.number("num_labels") ?? 0;
  const model = classified(headed !== undefined || task === "multiple-choice" ? 1 : labels, found);
  const config = model?.config ?? {};
  const ownCode = runsOwnCode(c.framework, c.settings);
  const attention = attentionOf(c, config);
  const earlier = ownCode ? undefined : releaseStoodFor(c, task, attention);
  const stoodFor = ownCode && model?.code === undefined ? codeName(c.framework, c.settings) : earlier;
  if (c.inputs.model?.kind === "found" && c.inputs.model.source === "assumed")
    c.suppose(say("assume.vocabulary", { size: Number(config["vocab_size"]) }), "model");
  if (earlier !== undefined) c.suppose(say("assume.release-code", { release: earlier }), "libraries");
  else if (stoodFor !== undefined && model !== null)
    c.suppose(say("assume.own-code", { framework: stoodFor, code: MODELS }), "model");
  const device = deviceOf(c);
  const precision = precisionOf(c);
  const loadDtype = loadDtypeOf(c, config);
  const microBatchSize = batchOf(c);
  const generated = generatedLengths(c, trainer, task === "image-text-to-text");
  const sizes = sampleSizesOf(c, config, task, generated && generated.prompt + generated.completion);
  const checkpointing = checkpointingOf(c);
  const compiled = compiledOf(c);
  const offloads = offloadsActivations(c);
  const chosen = optimizerOf(c, config);
  const quantization = quantizationOf(c, config, trainer, loadDtype);
  const float8 = float8Of(c);
  const adapter = adapterOf(c, quantization, config, headed !== undefined || ownLoss ? null : task);
  const maxGradNorm = clippingOf(c);
  // Only the Trainer's loss takes them; a loop of the script's own writes its loss itself.
  const labelSmoothing = c.trains && !c.ownLoop ? (c.settings.number("label_smoothing") ?? 0) : 0;
  // The Trainer takes the labels that Liger's fused loss would need (transformers/trainer.py, compute_loss).
  const takesLabels = c.settings.on("loss_of_tokens");
  const fusedLoss = fusedLossOf(c, trainer, model?.family) && labelSmoothing === 0 && !takesLabels;
  const chunkedLoss = chunkedLossOf(c);
  const beside = besideOf(c);
  const pieceBytes = c.settings.number("loss_piece_bytes");
  // Weights stored in the dtype the framework computes in need no autocast.
  const pure = !c.trains && c.framework.part !== "engine" && loadDtype === precision;
  const parallel = parallelOf(c, config, precision, worldSizeOf(c, device.spec));
  const optimizer = steppedOf(c, chosen, parallel);
  c.keepStated("packing");
  const replicas = dataParallelSize(parallel);
  const gradientAccumulationSteps = accumulationOf(c, microBatchSize, replicas);
  globalBatch(c, microBatchSize, gradientAccumulationSteps, replicas);
  if (c.settings.on("use_unsloth")) c.suppose(say("assume.unsloth"), "");
  c.obstacles.push(...obstaclesOf(c.inputs, c.settings, trainer), ...outOfRange(c, config));
  const evaluation = evaluationOf(c, { ...sizes, microBatchSize: microBatchSize ?? 1 }, parallel.worldSize);
  const padding = paddingOf(c, task);
  const generation = generationOf(c, task, evaluation);
  const saving = savingOf(c, parallel);
  const spec = trainerSpecOf(c, trainer, sizes.sequenceLength, adapter !== null, {
    micro: microBatchSize ?? 1,
    accumulation: gradientAccumulationSteps,
    world: parallel.worldSize,
    deviceBytes: device.spec?.memoryBytes ?? null,
    generated,
    loadDtype,
  });
  const stated = (["fused_loss", "fused_head"] as const).some((name) => c.settings.on(name));
  if (fusedLoss && spec === null && !stated) c.suppose(say("assume.fused-loss"), "loss_type");
  const trained = trainedOf(c, adapter !== null);
  const run: TrainingRun | null =
    model === null || c.obstacles.length > 0 || microBatchSize === null
      ? null
      : {
          model,
          task,
          microBatchSize,
          ...sizes,
          ...(task === "multiple-choice" ? { choices: choicesOf(c) } : {}),
          gradientAccumulationSteps,
          // Half-precision parameters are cast once, before the first step.
          loadDtype: parallel.mainParameters?.dtype ?? loadDtype,
          autocast: parallel.deepspeed !== null || parallel.mainParameters !== undefined || pure ? null : precision,
          ...(tf32Of(c) ? { tf32: true } : {}),
          attention,
          // TRL forces the reentrant kind for adapters under ZeRO-3.
          checkpointing:
            spec?.kind === "ppo"
              ? null
              : checkpointing !== null && c.namedTrainer && adapter !== null && parallel.deepspeed?.zeroStage === 3
                ? { ...checkpointing, useReentrant: true }
                : checkpointing,
          ...(recomputesModules(c, attention) ? { recomputesModules: true } : {}),
          ...(offloads === null ? {} : { offloadsActivations: offloads }),
          optimizer,
          maxGradNorm,
          ...quirksOf(c.libraries, parallel),
          adapter,
          frozenParts: frozenPartsOf(c, task),
          ...(trained === undefined ? {} : { trained }),
          quantization,
          ...(float8 === null ? {} : { float8 }),
          ...prunedOf(c),
          // Losses of their own never take Liger's: TRL leaves its layers only. SFT's is as good as fused.
          fusedLoss: fusedLoss && (spec === null || spec.kind === "sft"),
          ...(beside === undefined ? {} : { beside }),
          ...ownLossRun(c),
          ...(runsBody(c) || spec?.kind === "embedding" ? { body: true as const } : {}),
          ...weightCopiesOf(c),
          ...stepActionsOf(c),
          ...(pieceBytes === undefined ? {} : { fusedPieceBytes: pieceBytes }),
          ...(chunkedLoss === null ? {} : { chunkedLoss }),
          fusedLayers: fusedLayersOf(c, model?.family),
          ...stateSpaceKernelsOf(c, quantization),
          labelSmoothing,
          ...(takesLabels ? { takesLabels } : {}),
          trainer: TAUGHT.has(task) || spec?.kind !== "sft" ? spec : null,
          parallel: copiesOf(c, parallel, { adapted: adapter !== null, recomputes: checkpointing !== null }),
          libraries: c.libraries,
          ...(compiled === null ? {} : { compiled }),
          expandableSegments: c.settings.on("expandable_segments"),
          ...allocatorOf(c),
          ...emptyingOf(c),
          ...workspaceOf(c),
          ...(evaluation === null || spec?.kind === "ppo" ? {} : { evaluation }),
          ...(generation === null ? {} : { generation }),
          ...(saving === null ? {} : { saving }),
          ...(ownCode ? { ownCode: true as const } : {}),
          ...(stoodFor === undefined ? {} : { standsFor: stoodFor }),
          ...keptBatchesOf(c),
          ...loopOf(c, task),
          ...cacheOf(c, task, config, checkpointing !== null),
          ...toldOf(c, checkpointing !== null),
          ...(c.settings.on("replaces_embedding") ? { replacesEmbedding: true } : {}),
          device:
            device.spec === null ? null : { ...device.spec, count: Math.max(device.spec.count, parallel.worldSize) },
        };
  if (run !== null) supposePatterns(c, run);
  if (run !== null) supposeUncounted(c);
  return c.resolution({ run, device, trainer, padding });
}

/** Choices of a question when nothing says them: as many as SWAG and RACE have. */
const ASSUMED_CHOICES = 4;

function choicesOf(c: ResolveContext): number {
  const stated = c.settings.find("choices");
  if (typeof stated?.value === "number" && stated.value >= 1) {
    c.keep("choices", stated);
    if (c.settings.on("queries_apart")) c.suppose(say("assume.queries-apart"), stated.key);
    return stated.value;
  }
  c.suppose(say("assume.choices", { choices: ASSUMED_CHOICES }), "choices", { choices: String(ASSUMED_CHOICES + 1) });
  return ASSUMED_CHOICES;
}

/** Weights whose zeros are kept by masks (llmcompressor's ConstantPruningModifier). */
function prunedOf(c: ResolveContext): Pick<TrainingRun, "prunedWeights"> {
  const prunedWeights = c.settings.list("pruning_targets");
  return prunedWeights === undefined ? {} : { prunedWeights };
}

/** Copies of the weights that a script keeps. */
function weightCopiesOf(c: ResolveContext): Pick<TrainingRun, "weightCopies"> {
  const copies = c.settings.string("weight_copies");
  return copies === "trained" || copies === "all" ? { weightCopies: copies } : {};
}

/** What a script's own step does behind its first gradients. */
function stepActionsOf(c: ResolveContext): Pick<TrainingRun, "stepActions"> {
  const text = c.settings.string("step_actions");
  return text === undefined ? {} : { stepActions: JSON.parse(text) as readonly StepAction[] };
}

/** The loss that a script writes itself, or that it writes one which is not read. */
function ownLossRun(c: ResolveContext): Pick<TrainingRun, "ownLoss" | "lossNotFollowed"> {
  const ownLoss = c.ownLoss();
  if (ownLoss !== undefined) return { ownLoss };
  return c.settings.string("own_loss") === undefined ? {} : { lossNotFollowed: true };
}

/** What the allocator's environment variable says besides expandable segments. */
function allocatorOf(c: ResolveContext): Pick<TrainingRun, "allocator"> {
  const split = c.settings.number("max_split_size_mb");
  const divisions = c.settings.number("roundup_power2_divisions");
  if (split === undefined && divisions === undefined) return {};
  return {
    allocator: {
      ...(split === undefined ? {} : { maxSplitBytes: split * 2 ** 20 }),
      ...(divisions === undefined ? {} : { roundupDivisions: divisions }),
    },
  };
}

/** `torch_empty_cache_steps`, which the Trainer refuses below 1; 4.41 emptied the cache in every step (transformers/trainer.py). */
function emptyingOf(c: ResolveContext): Pick<TrainingRun, "emptyCacheSteps"> {
  if (c.trains && !c.ownLoop && holds("transformers>=4.41", c.libraries) && holds("transformers<4.42", c.libraries))
    return { emptyCacheSteps: 1 };
  const emptyCacheSteps = c.settings.number("empty_cache_steps");
  return emptyCacheSteps === undefined || emptyCacheSteps < 1 ? {} : { emptyCacheSteps };
}

function workspaceOf(c: ResolveContext): Pick<TrainingRun, "blasWorkspaceBytes"> {
  const blasWorkspaceBytes = configuredWorkspaceBytes(c.settings.string("blas_workspace") ?? "");
  return blasWorkspaceBytes === undefined ? {} : { blasWorkspaceBytes };
}
