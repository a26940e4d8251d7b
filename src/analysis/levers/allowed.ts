/** What a person allows plans to do, as the search takes it. */

import { LEVERS, MICRO_BATCH, packing, SMALLER_BATCH } from "../../core/advise/levers";
import type { Limits } from "../../core/advise/limits";
import { isPossible } from "../../core/advise/possible";
import type { Lever, LeverId, SearchOptions } from "../../core/advise/types";
import { filledShare } from "../../core/allocator/lengths";
import { DEVICES_PER_MACHINE, deviceOf } from "../../core/hardware/devices";
import type { TrainingRun } from "../../core/training/run";
import type { RunAnalysis } from "../estimate/run-analysis";
import { frameworkOf } from "../frameworks/frameworks";
import { hostRoom } from "../pins/machine";
import type { Resolution } from "../resolve";
import { editsFor } from "./edits";

const DEFAULT_RESERVE = 0.1;

/** Share of usable memory that plans keep free, 0..0.9. */
function reserveOf({ options }: RunAnalysis): number {
  return Math.min(0.9, Math.max(0, options.reserve ?? DEFAULT_RESERVE));
}

/** Host memory that one GPU's process may use: its share of what is pinned for a machine; null when nothing is. */
export function hostLimitOf({ settings }: Resolution, run: TrainingRun): number | null {
  const bytes = hostRoom(settings);
  return bytes > 0 ? Math.floor(bytes / Math.min(run.parallel.worldSize, DEVICES_PER_MACHINE)) : null;
}

/** What a run's process may use: `usable` bytes of its GPU less the reserve, and its share of the host. */
export function limitsOf(
  analysis: RunAnalysis,
  run: TrainingRun,
  usable: number,
  reserve = reserveOf(analysis),
): Limits {
  const hostLimitBytes = hostLimitOf(analysis.base.resolution, run);
  const limitBytes = Math.floor(usable * (1 - reserve));
  return hostLimitBytes === null ? { limitBytes } : { limitBytes, hostLimitBytes };
}

/** Search options for a run whose usable memory is known. */
export function searchOptionsOf(analysis: RunAnalysis, run: TrainingRun, usable: number): SearchOptions {
  const { allow = {} } = analysis.options;
  const keepGlobalBatch = allow.keepGlobalBatch !== false && accumulates(analysis, run);
  return {
    ...limitsOf(analysis, run, usable),
    keepGlobalBatch,
    keepNumerics: allow.keepNumerics === true,
    allowAdapters: allow.adapters !== false,
    allowPackages: allow.packages !== false,
    // Rows that are padded are filled so far on the spread of lengths that padding is told with.
    ...(analysis.base.resolution.padding === null ? {} : { filledShare: filledShare() }),
    without: unwritable(analysis, run, keepGlobalBatch ? MICRO_BATCH : SMALLER_BATCH),
  };
}

/** Whether a smaller micro-batch can be accumulated to the batch there was: loops of one's own may have no place to say it. */
function accumulates(analysis: RunAnalysis, run: TrainingRun): boolean {
  return isWritable(analysis, run, MICRO_BATCH) || !isWritable(analysis, run, SMALLER_BATCH);
}

/** Whether some file of the run can hold what a lever sets. */
function isWritable(analysis: RunAnalysis, run: TrainingRun, lever: Lever): boolean {
  const [option] = lever.options(run);
  if (option === undefined) return true;
  const result = editsFor(analysis.inputs, analysis.base.resolution, option.settings);
  return !("refused" in result) && result.edits.length > 0;
}

/** Levers that the device cannot do, and those whose settings no file of the run can hold: LoRA without adapter keys. */
function unwritable(analysis: RunAnalysis, run: TrainingRun, batch: Lever): LeverId[] {
  // The switch means one thing in a format.
  const { offloadsAll, ligerFamilies } = frameworkOf(analysis.inputs.format);
  const other: LeverId[] = [offloadsAll === undefined ? "offload-activations" : "offload-checkpoints"];
  if (ligerFamilies?.has(run.model.family) === false) other.push("fused-loss");
  const checkpointed = { ...run, checkpointing: run.checkpointing ?? { useReentrant: false } };
  const device = run.device === null ? null : deviceOf(run.device);
  const missing = [...LEVERS, packing(filledShare()), batch].flatMap((lever) => {
    if (device !== null && !isPossible(lever, device)) return [lever.id];
    // Some levers apply only after another one: what files can hold does not depend on that.
    const option = lever.options(run)[0] ?? lever.options(checkpointed)[0];
    if (option === undefined) return [];
    const result = editsFor(analysis.inputs, analysis.base.resolution, option.settings);
    return "refused" in result || result.edits.length === 0 ? [lever.id] : [];
  });
  return [...missing, ...other];
}
