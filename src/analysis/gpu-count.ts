/** How many GPUs a run needs when nothing says how many it has, and its settings mean several. */
import { modelParallelSize } from "../core/training/parallel/degrees";
import type { TrainingRun } from "../core/training/run";
import type { Resolution } from "./resolve";
import type { RunAnalysis } from "./run-analysis";

const MOST_DEVICES = 1024;

/** Whether the run's settings make sense on several GPUs only: they share parameters, or the model itself. */
function impliesSeveral({ parallel }: TrainingRun): boolean {
  return parallel.deepspeed?.zeroStage === 3 || parallel.fsdp !== null || modelParallelSize(parallel) > 1;
}

/** Whether one GPU is only what is supposed of a run that is meant for several. */
export function isCountOpen({ run, resolved }: Resolution): boolean {
  return run !== null && resolved.get("world_size")?.from === "assumed" && impliesSeveral(run);
}

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
