/** Runs whose settings mean several GPUs where nothing says how many there are. */
import { modelParallelSize } from "../core/training/parallel/degrees";
import type { TrainingRun } from "../core/training/run";
import type { Resolution } from "./resolve";

/** Whether the run's settings make sense on several GPUs only: they share parameters, or the model itself. */
function impliesSeveral({ parallel }: TrainingRun): boolean {
  return parallel.deepspeed?.zeroStage === 3 || parallel.fsdp !== null || modelParallelSize(parallel) > 1;
}

/** Whether one GPU is only what is supposed of a run that is meant for several. */
export function isCountOpen({ run, resolved }: Resolution): boolean {
  return run !== null && resolved.get("world_size")?.from === "assumed" && impliesSeveral(run);
}
