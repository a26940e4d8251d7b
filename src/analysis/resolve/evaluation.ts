/**
 * Whether a run evaluates while its optimizer's states are on the device, and how. Sources: transformers/
 * training_args.py (eval_strategy), transformers/trainer.py (evaluate: without `compute_metrics` only the loss is kept),
 * axolotl/core/builders/base.py (a validation set alone makes it evaluate every epoch).
 */

import type { EvaluationSpec, GenerationSpec, Task } from "../../core/training/run";
import { isProgram } from "../../syntax/dispatch";
import type { SettingName } from "../../terms/settings";
import { say } from "../../words/message";
import { holds } from "../frameworks/versions";
import type { ResolveContext } from "./context";

/** Settings any of which makes the Trainer evaluate. */
const SWITCHES: readonly SettingName[] = ["do_eval", "eval_on_start"];

/** What the trained model's batches look like. */
interface Sizes {
  readonly microBatchSize: number;
  readonly sequenceLength: number;
  readonly targetLength: number;
}

function evaluates(c: ResolveContext): boolean {
  if (c.settings.string("evaluates_after") !== undefined) return true;
  const strategy = c.settings.find("eval_strategy");
  if (strategy !== undefined) return strategy.value !== "no" && strategy.value !== false;
  if (c.framework.evaluatesValidation === true) return (c.settings.number("validation_share") ?? 0) > 0;
  return SWITCHES.some((name) => c.settings.on(name));
}

/** Whether a metric other than the loss chooses the best model: then somebody computes it. */
function namesMetric(c: ResolveContext): boolean {
  const metric = c.settings.string("metric_for_best_model");
  return metric !== undefined && !/(?:^|_)loss$/.test(metric);
}

/** What stays of each batch besides the loss. */
function keptOf(c: ResolveContext): EvaluationSpec["keeps"] {
  if (c.settings.on("prediction_loss_only") || c.namedTrainer) return "loss";
  // LLaMA-Factory's accuracy takes the most likely token of each position (train/sft/metric.py, eval_logit_processor).
  if (c.settings.on("compute_accuracy")) return "argmax";
  const { text, config } = c.inputs.main;
  const code = isProgram(config?.languageId);
  if (code && /\bpreprocess_logits_for_metrics\s*=/.test(text)) return "argmax";
  // Nothing tells `predict` that the loss is enough (transformers/trainer.py).
  if (c.settings.string("evaluates_after") === "predict") return "logits";
  const metrics = c.settings.on("batch_eval_metrics") || namesMetric(c);
  return metrics || (code && /\bcompute_metrics\s*=/.test(text)) ? "logits" : "loss";
}

/** Batches whose predictions are kept when the size of the evaluation set is unknown: two show what each one adds. */
const UNKNOWN_BATCHES = 2;

export function evaluationOf(c: ResolveContext, sizes: Sizes, world: number): EvaluationSpec | null {
  if (!c.trains || c.ownLoop || !evaluates(c)) return null;
  const stated = c.keepStated("eval_batch_size");
  const given = stated?.value ?? c.formatDefault("eval_batch_size");
  const batchSize = typeof given === "number" ? given : sizes.microBatchSize;
  const keeps = keptOf(c);
  const samples = c.settings.number("max_eval_samples");
  if (keeps !== "loss" && samples === undefined)
    c.suppose(say("assume.evaluation-batches", { batches: UNKNOWN_BATCHES }), "max_eval_samples");
  return {
    batchSize,
    sequenceLength: sizes.sequenceLength && (c.settings.number("eval_sequence_length") ?? sizes.sequenceLength),
    targetLength: sizes.targetLength,
    keeps,
    accumulationSteps: c.settings.on("batch_eval_metrics") ? 1 : (c.settings.number("eval_accumulation_steps") ?? null),
    batches: samples === undefined ? UNKNOWN_BATCHES : Math.max(1, Math.ceil(samples / (batchSize * world))),
    emptiesCache: holds("transformers>=4.41", c.libraries),
    concatenates: c.settings.boolean("eval_do_concat_batches") ?? true,
  };
}

/** `max_length` of a generation config that nobody changed (transformers/generation/configuration_utils.py). */
const DEFAULT_LENGTH = 20;

/**
 * Text that evaluation generates (`predict_with_generate` of Seq2SeqTrainer): its lengths include the prompt for decoders,
 * and count the target alone for encoder-decoders.
 */
export function generationOf(c: ResolveContext, task: Task, evaluation: EvaluationSpec | null): GenerationSpec | null {
  if (evaluation === null || c.settings.boolean("predict_with_generate") !== true) return null;
  if (c.settings.on("prediction_loss_only") || (task !== "causal-lm" && task !== "seq2seq-lm")) return null;
  const stated = c.settings.number("generation_max_length") ?? c.settings.number("generation_target_length");
  const total = stated ?? DEFAULT_LENGTH;
  const prompt = evaluation.sequenceLength;
  // A default that the framework has of its own counts unless a whole length is stated.
  const own = stated === undefined ? c.formatDefault("generation_new_tokens") : undefined;
  const added =
    c.settings.number("generation_new_tokens") ??
    (typeof own === "number" ? own : undefined) ??
    (task === "causal-lm" ? total - prompt : total - 1);
  if (stated === undefined && c.settings.number("generation_new_tokens") === undefined)
    c.suppose(say("assume.generation-length", { tokens: Math.max(1, added) }), "generation_max_length");
  return {
    batchSize: evaluation.batchSize,
    promptLength: prompt,
    newTokens: Math.max(1, added),
    beams: Math.max(1, c.settings.number("generation_num_beams") ?? 1),
    samples: c.framework.samples === true,
    cache: "dynamic",
  };
}
