/** What a loop other than the Trainer's does with a micro-batch's results and with the gradients. */

import { factsOf } from "../../core/graph/facts";
import type { ModelConfig, Task, TrainingRun } from "../../core/training/run";
import { holds } from "../frameworks/versions";
import { handsOutTuples } from "../models/families";
import type { ResolveContext } from "./context";
import { runsBody } from "./model";
import { evenBatches } from "./padding";

/** Tasks whose models write texts, token after token where they generate. */
const WRITES: ReadonlySet<Task> = new Set(["causal-lm", "seq2seq-lm", "image-text-to-text", "speech-seq2seq"]);

/** Tasks whose batches are texts, padded to their longest one. */
const READS: ReadonlySet<Task> = new Set([...WRITES, "masked-lm", "seq-cls", "token-cls", "qa"]);

/** What a loop's names hold of a micro-batch. */
export function loopOf(c: ResolveContext, task: Task): Pick<TrainingRun, "loop"> {
  const held = c.settings.string("loop_holds");
  if (held !== "nothing" && held !== "loss" && held !== "outputs") return {};
  const first = c.framework.longestFirst !== undefined && holds(c.framework.longestFirst, c.libraries);
  const trains = c.framework.setsTraining !== undefined && holds(c.framework.setsTraining, c.libraries);
  return {
    loop: {
      holds: first ? "nothing" : held,
      ...(held === "outputs" && !first && READS.has(task) && !evenBatches(c) ? { variesLengths: true } : {}),
      ...(c.settings.on("loop_zeros_late") ? { zerosLate: true } : {}),
      ...(c.settings.on("loop_evaluates") && !trains ? { evaluates: true } : {}),
      ...(c.settings.on("loop_keeps_dtype") ? { keepsDtype: true } : {}),
    },
  };
}

/**
 * Whether models that write keep a cache in their outputs (`use_cache` of their config), which checkpointing switches off in training
 * (`if self.gradient_checkpointing and self.training and use_cache`, models/phi/modeling_phi.py of 4.48). The Trainer's arguments do since
 * 5.0 (transformers/trainer.py); a plain Trainer of before has it until its loss is returned. Heads on a decoder hand its body's cache out
 * (modeling_phi3.py of 4.48, Phi3ForSequenceClassification). Models with an encoder keep none where they are given labels
 * (modeling_bart.py), which label smoothing takes out of the batch (trainer.py, compute_loss).
 */
export function cacheOf(
  c: ResolveContext,
  task: Task,
  config: ModelConfig,
  checkpointed: boolean,
): Pick<TrainingRun, "keepsCache" | "evaluationKeepsCache" | "handsOutCache"> {
  const loops = c.settings.string("loop_holds") !== undefined && c.settings.on("loop_keeps_cache");
  const trains = c.trains && !c.ownLoop && c.framework.trainer === "plain" && holds("transformers<5", c.libraries);
  // A module of the script's own has no config for the Trainer to switch it off in.
  const module = c.ownLoss()?.module !== undefined;
  const decodes = c.inputs.graphs?.graphs.some((graph) => graph.task === "causal-lm") === true;
  const unlabelled = trains && task === "seq2seq-lm" && (c.settings.number("label_smoothing") ?? 0) > 0;
  const caches =
    (loops || trains || (module && c.trains)) &&
    (WRITES.has(task) || (decodes && (module ? runsBody(c) : READS.has(task)))) &&
    (!checkpointed || trains) &&
    (unlabelled || factsOf(String(config["model_type"])).cacheless?.includes(task) !== true) &&
    (c.settings.boolean("use_cache") ?? config["use_cache"]) !== false;
  // transformers/cache_utils.py: DynamicLayer.update joins them to nothing since 4.56, which copies them
  if (!caches) return {};
  const handsOutCache = handsOutTuples(config, c.libraries.transformers);
  const kept = holds("transformers<4.56", c.libraries) ? "as-made" : "copies";
  return {
    ...(checkpointed ? { evaluationKeepsCache: kept } : { keepsCache: kept }),
    ...(handsOutCache ? { handsOutCache } : {}),
  };
}

/**
 * Whether embeddings are told to require grad. Checkpointing does it since 5.0; before, only peft where checkpointing was on when it
 * wrapped the model, and scripts themselves (transformers/modeling_utils.py, gradient_checkpointing_enable).
 */
export function toldOf(
  c: ResolveContext,
  checkpointed: boolean,
): Pick<TrainingRun, "tellsInputs" | "tellsTextsAlone" | "tellsModules"> {
  const modules = c.settings.list("outputs_require_grad");
  return { ...embeddingsTold(c, checkpointed), ...(modules === undefined ? {} : { tellsModules: modules }) };
}

function embeddingsTold(
  c: ResolveContext,
  checkpointed: boolean,
): Pick<TrainingRun, "tellsInputs" | "tellsTextsAlone"> {
  const told = c.settings.boolean("embeddings_require_grad");
  const earlier = holds("transformers<5", c.libraries);
  const alone = earlier && (checkpointed || told === true) ? { tellsTextsAlone: true as const } : {};
  if (told === undefined || c.framework.trainer !== "plain") return alone;
  if (told) return checkpointed ? alone : { ...alone, tellsInputs: true };
  return checkpointed && earlier ? { tellsInputs: false } : {};
}

/** The norm gradients are clipped to: the Trainer's default is 1, loops clip where they say so (0: not). */
export function clippingOf(c: ResolveContext): number {
  return c.ownLoop ? (c.settings.number("max_grad_norm") ?? 0) : Number(c.value("max_grad_norm", 1));
}

/**
 * How long the Trainer's loop keeps micro-batches on the device. It takes all of a step's at once since 4.46 (transformers/trainer.py,
 * get_batch_samples).
 */
export function keptBatchesOf(c: ResolveContext): Pick<TrainingRun, "keepsBatches"> {
  if (!c.trains || c.ownLoop) return {};
  return { keepsBatches: holds("transformers>=4.46", c.libraries) ? "step" : "micro-batch" };
}
