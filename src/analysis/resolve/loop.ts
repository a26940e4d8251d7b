/** What a loop other than the Trainer's does with a micro-batch's results and with the gradients. */
import { factsOf } from "../../core/graph/facts";
import type { ModelConfig, Task, TrainingRun } from "../../core/training/run";
import { holds } from "../versions";
import type { ResolveContext } from "./context";

/** Tasks whose models write texts, token after token where they generate. */
const WRITES: ReadonlySet<Task> = new Set(["causal-lm", "seq2seq-lm", "image-text-to-text", "speech-seq2seq"]);

/**
 * What the loop's names hold. Without checkpointing, which switches it off, models that write keep a cache (`use_cache` of their
 * config; the Trainer's argument of that name is false).
 */
export function loopOf(
  c: ResolveContext,
  task: Task,
  config: ModelConfig,
  checkpointed: boolean,
): Pick<TrainingRun, "loop"> {
  const held = c.settings.string("loop_holds");
  if (held !== "nothing" && held !== "loss" && held !== "outputs") return {};
  // transformers/cache_utils.py: DynamicLayer.update joins them to nothing since 4.56, which copies them
  const keepsCache = holds("transformers<4.56", c.libraries) ? "as-made" : "copies";
  const caches =
    WRITES.has(task) &&
    !checkpointed &&
    factsOf(String(config["model_type"])).cacheless?.includes(task) !== true &&
    (c.settings.boolean("use_cache") ?? config["use_cache"]) !== false;
  return {
    loop: {
      holds: held,
      ...(c.settings.boolean("loop_zeros_late") === true ? { zerosLate: true } : {}),
      ...(c.settings.boolean("loop_keeps_dtype") === true ? { keepsDtype: true } : {}),
      ...(c.settings.boolean("loop_keeps_cache") === true && caches ? { keepsCache } : {}),
    },
  };
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
