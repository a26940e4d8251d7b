/** How often the band holds what was measured: what is claimed is what was counted (`npm run coverage`, docs/coverage.md). */
import type { FamilyGraphs } from "../graph/types";
import type { TrainingRun } from "../training/run";

/**
 * Whose code the estimate is of, and on how many ranks: figures of these lie in their bands unequally often. What was measured of a
 * framework's own models ran on earlier releases of it than the captured one.
 */
export type RunKind = "plain-loop" | "own-code" | "framework-code" | "stands-in" | "ranks";

/** Share of measured peaks inside the band, rounded down; a test holds the page's counts against it. */
export const COVERAGE: Readonly<Record<RunKind, number>> = {
  "plain-loop": 0.99,
  "own-code": 0.8,
  "framework-code": 0.6,
  "stands-in": 0.6,
  ranks: 0.65,
};

export function kindOf({ parallel, standsFor, trainer, model, loop }: TrainingRun, { family }: FamilyGraphs): RunKind {
  if (parallel.worldSize > 1) return "ranks";
  if (standsFor !== undefined || trainer?.standIn === true || family !== (model.code ?? model.family))
    return "stands-in";
  if (model.code !== undefined) return "framework-code";
  return loop === undefined ? "own-code" : "plain-loop";
}
