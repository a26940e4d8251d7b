/** What of a run `torch.compile` sees. */
import type { CompiledParts } from "../engine/compiled/tape";
import type { TrainingRun } from "./run";

/** Tasks whose batches come with a mask of padding. */
const MASKED: ReadonlySet<string> = new Set([
  "causal-lm",
  "masked-lm",
  "seq-cls",
  "multiple-choice",
  "token-cls",
  "seq2seq-lm",
]);

/** Whether the library's code builds a mask where it is traced: collators of text always say where padding is. */
function tracesMasks({ task, attention, ownCode }: TrainingRun): boolean {
  return ownCode === undefined && attention === "sdpa" && MASKED.has(task);
}

/**
 * How saved tensors are sent away. A model that is one function hands all it saves to the hooks when its forward has returned, and
 * gets all back before its backward (torch/_functorch/_aot_autograd/runtime_wrappers.py, CompiledFunction): the peak is as
 * without them.
 */
export function offloadsOf(run: TrainingRun): NonNullable<TrainingRun["offloadsActivations"]> | null {
  return run.compiled === "model" ? null : (run.offloadsActivations ?? null);
}

/** How the run's model is compiled; null where it runs eagerly. */
export function compilationOf(run: TrainingRun): CompiledParts | null {
  // Checkpoints that send their inputs away break the graph; layers one by one send what they save, as eager code does.
  return run.compiled === undefined || offloadsOf(run) !== null || run.checkpointing?.offloads === true
    ? null
    : { masks: tracesMasks(run), whole: run.compiled === "model", loss: run.compiled !== "layers" };
}
