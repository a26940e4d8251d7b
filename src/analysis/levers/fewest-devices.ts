/** How many GPUs a run needs when nothing says how many it has. */
import { modelParallelSize } from "../../core/training/parallel/degrees";
import type { RunAnalysis } from "../estimate/run-analysis";

const MOST_DEVICES = 1024;

/** The fewest of the chosen GPUs that the run fits, found by doubling and halving; undefined when no number does. */
export function fewestOf(analysis: RunAnalysis): number | undefined {
  const { run } = analysis.base.resolution;
  if (run === null) return undefined;
  const step = modelParallelSize(run.parallel);
  const fits = (groups: number): boolean => {
    const { estimate, usable } = analysis.vary({ world_size: String(groups * step) }, "peaks");
    return estimate !== undefined && usable !== null && estimate.usedPeakBytes <= usable;
  };
  let high = 1;
  while (!fits(high)) {
    high *= 2;
    if (high * step > MOST_DEVICES) return undefined;
  }
  let low = Math.floor(high / 2);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(middle)) high = middle;
    else low = middle;
  }
  return high * step;
}
