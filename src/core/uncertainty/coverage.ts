/** How often the band holds what was measured: what is claimed is what was counted (`npm run coverage`, docs/coverage.md). */
import type { FamilyGraphs } from "../graph/types";
import type { TrainingRun } from "../training/run";

/** Whose code the estimate is of (that of frameworks counts as stood in for: what was measured ran on their earlier releases), and on how many ranks: figures of these lie in their bands unequally often. */
export type RunKind = "own-code" | "stands-in" | "ranks";

/** Share of measured peaks inside the band, rounded down; a test holds the page's counts against it. */
export const COVERAGE: Readonly<Record<RunKind, number>> = { "own-code": 0.95, "stands-in": 0.65, ranks: 0.35 };

export function kindOf({ parallel, standsFor, trainer, model }: TrainingRun, { family }: FamilyGraphs): RunKind {
  if (parallel.worldSize > 1) return "ranks";
  return standsFor !== undefined || trainer?.standIn === true || family !== (model.code ?? model.family)
    ? "stands-in"
    : "own-code";
}
