/** What is open of how a run is split over GPUs: what one GPU would need is no answer then. */
import { modelParallelSize } from "../../core/training/parallel/degrees";
import type { TrainingRun } from "../../core/training/run";
import type { Resolution } from "../resolve";

/** Whether the run's settings make sense on several GPUs only: they share states, parameters, or the model itself. */
function impliesSeveral({ parallel }: TrainingRun): boolean {
  return (parallel.deepspeed?.zeroStage ?? 0) > 0 || parallel.fsdp !== null || modelParallelSize(parallel) > 1;
}

/** What is open of a run's split: how many GPUs there are, or a file with the settings of it that could not be read. */
export type OpenSplit = "count" | "settings";

/**
 * Why what one GPU needs says nothing of a run that does not fit one: it is meant for several, and how many is only supposed, or
 * DeepSpeed's or accelerate's settings are named and not there. Undefined: it is known how the run is split.
 */
export function openSplit(resolution: Resolution): OpenSplit | undefined {
  if (isCountOpen(resolution)) return "count";
  const { run, splitUnread } = resolution;
  return splitUnread && run !== null && run.parallel.deepspeed === null && run.parallel.fsdp === null
    ? "settings"
    : undefined;
}

/** Whether one GPU is only what is supposed of a run that is meant for several. */
export function isCountOpen(resolution: Resolution): boolean {
  const { run, resolved } = resolution;
  return (
    run !== null &&
    resolved.get("world_size")?.from === "assumed" &&
    (impliesSeveral(run) || hasHosts(resolution) || resolution.settings.find("spread_by") !== undefined)
  );
}

/** Whether the run is started on hosts that a file names which is not there: that it fits one GPU says nothing of it either. */
export function hasHosts({ hostsUnread, resolved }: Resolution): boolean {
  const found = resolved.get("world_size");
  return hostsUnread && found?.from === "assumed" && found.value === 1;
}
