/** How often the band holds what was measured: what is claimed is what was held out (`npm run coverage`, docs/coverage.md). */
import type { FamilyGraphs } from "../graph/types";
import type { Estimate } from "../report/estimate";
import type { TrainingRun } from "../training/run";
import claims from "./claims.json";

/**
 * Whose code the estimate is of, and on how many ranks: figures of these lie in their bands unequally often. What was measured of a
 * framework's own models ran on earlier releases of it than the captured one.
 */
export type RunKind = "plain-loop" | "own-code" | "framework-code" | "stands-in" | "ranks";

/** What is written by `npm run coverage` of each kind, as shares: of figures inside the band, of the peak down and up. */
interface Claim {
  /** Figures of real cards that a band held whose room was sized on other tables than theirs. */
  readonly claimed: number;
  /** What no rule explains and figures needed all the same (lengths, releases other than the captured one). Loops have none outside. */
  readonly down: number;
  readonly up: number;
}

export const CLAIMS: Readonly<Record<RunKind, Claim>> = claims;

/** The estimate with the room that published figures needed beyond its rules. */
export function withUnexplained(estimate: Estimate, kind: RunKind): Estimate {
  const { band, usedPeakBytes } = estimate;
  const { down, up } = CLAIMS[kind];
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
