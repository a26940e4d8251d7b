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
function tracesMasks({ task, attention, standsFor }: TrainingRun): boolean {
  return standsFor === undefined && attention === "sdpa" && MASKED.has(task);
}

/** How the run's model is compiled; null where it runs eagerly. */
export function compilationOf(run: TrainingRun): CompiledParts | null {
  // Hooks that send saved tensors away break the graph around everything they see.
  return run.compiled === undefined || run.offloadsActivations !== undefined || run.checkpointing?.offloads === true
    ? null
    : { masks: tracesMasks(run), whole: run.compiled === "model", loss: run.compiled !== "layers" };
}
