/** How often the band holds what was measured: what is claimed is what was counted (`npm run coverage`, docs/coverage.md). */
import type { FamilyGraphs } from "../graph/types";
import type { Estimate } from "../report/estimate";
import type { TrainingRun } from "../training/run";

/**
 * Whose code the estimate is of, and on how many ranks: figures of these lie in their bands unequally often. What was measured of a
 * framework's own models ran on earlier releases of it than the captured one.
 */
export type RunKind = "plain-loop" | "own-code" | "framework-code" | "stands-in" | "ranks";

/** Share of measured peaks inside the band, rounded down; a test holds the page's counts against it. */
export const COVERAGE: Readonly<Record<RunKind, number>> = {
  "plain-loop": 0.99,
  "own-code": 0.95,
  "framework-code": 0.95,
  "stands-in": 0.95,
  ranks: 0.9,
};

/**
 * What no rule explains, as shares of the peak down and up: published figures of such runs that lie outside the band of the rules lie so far
 * outside it, but for the last of twenty (docs/coverage.md; batches shorter than their limit, releases other than the captured one, models
 * that a script loads whole before they are sharded). Loops have none outside.
 */
export const UNEXPLAINED: Readonly<Record<RunKind, readonly [down: number, up: number]>> = {
  "plain-loop": [0, 0],
  "own-code": [0.06, 0.06],
  "framework-code": [0.05, 0.05],
  "stands-in": [0.06, 0.06],
  ranks: [0.06, 0.12],
};

/** The estimate with the room that published figures needed beyond its rules. */
export function withUnexplained(estimate: Estimate, kind: RunKind): Estimate {
  const { band, usedPeakBytes } = estimate;
  const [down, up] = UNEXPLAINED[kind];
  const lowBytes = Math.max(0, Math.round(band.lowBytes - down * usedPeakBytes));
  return { ...estimate, band: { ...band, lowBytes, highBytes: Math.round(band.highBytes + up * usedPeakBytes) } };
}

export function kindOf({ parallel, standsFor, trainer, model, loop }: TrainingRun, { family }: FamilyGraphs): RunKind {
  if (parallel.worldSize > 1) return "ranks";
  if (standsFor !== undefined || trainer?.standIn === true || family !== (model.code ?? model.family))
    return "stands-in";
  if (model.code !== undefined) return "framework-code";
  return loop === undefined ? "own-code" : "plain-loop";
}
