/** The peak over two settings at once: micro-batch by sequence length. */
import type { ReportSweep } from "../../core/report/schema";
import type { SettingName } from "../../terms/settings";
import type { RunAnalysis } from "../estimate/run-analysis";
import { verdictOf } from "../estimate/verdict";
import { around } from "../hover/curves";

/** Values below and above the present one; 6 × 6 simulations at most. */
const BELOW = 3;
const ABOVE = 2;

/** null for runs without one of the two, and where nothing is estimated. */
export function sweepOf(analysis: RunAnalysis): ReportSweep | null {
  const { run } = analysis.base.resolution;
  if (run === null || analysis.base.estimate === undefined || run.sequenceLength <= 0) return null;
  const config = run.model.config;
  const limit = Number(config["max_position_embeddings"] ?? config["n_positions"]);
  const most = Number.isFinite(limit) && limit > 0 ? limit : Number.POSITIVE_INFINITY;
  const axis = (name: SettingName, now: number, values: readonly string[]) => ({
    name,
    values: [...values],
    now: String(now),
  });
  const columns = axis("micro_batch_size", run.microBatchSize, around(run.microBatchSize, BELOW, ABOVE));
  const rows = axis("sequence_length", run.sequenceLength, around(run.sequenceLength, BELOW, ABOVE, 64, most));
  const cells = rows.values.map((row) =>
    columns.values.map((column) => {
      const { estimate, usable } = analysis.vary({ [rows.name]: row, [columns.name]: column }, "peaks");
      return estimate === undefined
        ? null
        : { usedPeakBytes: estimate.usedPeakBytes, verdict: verdictOf(estimate, usable) };
    }),
  );
  return { columns, rows, cells };
}
