/** A run of a family that nobody captured, on the code of the relative that stands in for it. */
import { configForRelative, innerFamilyOf } from "./graph/relatives";
import type { FamilyGraphs } from "./graph/types";
import type { Task, TrainingRun } from "./training/run";

/** Whether graphs are of the very code that the run's model is made of. */
export function isOwnCode({ model }: TrainingRun, { family }: FamilyGraphs): boolean {
  return family === (model.code ?? model.family);
}

const WRITERS: readonly Task[] = ["causal-lm", "seq2seq-lm"];

/** The run on a relative's code. What writes about pictures or sound is the relative's writer, where it knows words alone. */
export function standIn(run: TrainingRun, { family, graphs }: FamilyGraphs): TrainingRun {
  if (family === run.model.family) return run;
  if (family === run.model.code) return { ...run, model: { ...run.model, family } };
  const knows = (task: Task): boolean => graphs.some((graph) => graph.task === task);
  const inside = innerFamilyOf(run.model.config) !== undefined;
  const writes =
    run.task === "image-text-to-text" || run.task === "speech-seq2seq" || (inside && run.task === "seq2seq-lm");
  const task = writes && !knows(run.task) ? (WRITERS.find(knows) ?? run.task) : run.task;
  return { ...run, task, model: { ...run.model, family, config: configForRelative(run.model.config) } };
}
