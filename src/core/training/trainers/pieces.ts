/** Losses that embed a batch piece by piece. */
import type { TrainingRun } from "../run";

/**
 * The run as a loss with cached gradients carries it out: what it embeds at once is a micro-batch, one text of its samples after
 * the other, and the gradients of all add up. Before that every piece is embedded without gradients, which needs less.
 *
 * Source: sentence_transformers/base/losses/gradcache.py (CachedLossMixin, _backward_hook).
 */
export function inPieces(run: TrainingRun): TrainingRun {
  const { piece, candidates = 0 } = run.trainer ?? {};
  if (piece === undefined) return run;
  const size = Math.max(1, Math.min(run.microBatchSize, piece));
  const rounds = Math.ceil(run.microBatchSize / size) * (1 + candidates);
  return { ...run, microBatchSize: size, gradientAccumulationSteps: run.gradientAccumulationSteps * rounds };
}
