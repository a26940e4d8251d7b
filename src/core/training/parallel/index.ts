/** Which strategy a run uses on one of its devices. */
import type { TrainingRun } from "../run";
import { distributedDataParallel, singleDevice } from "./ddp";
import { fsdp } from "./fsdp";
import type { Strategy } from "./strategy";
import { zero } from "./zero";

export type { HostUse, Strategy } from "./strategy";

/** The run's strategy, or why it is not modelled. */
export function chooseStrategy(run: TrainingRun): Strategy | { readonly reason: string } {
  const { parallel } = run;
  const split = ["tensorParallel", "pipelineParallel", "contextParallel", "expertParallel"] as const;
  for (const kind of split) {
    if (parallel[kind] > 1) return { reason: `${kind.replace("Parallel", " parallel")} degree ${parallel[kind]}` };
  }
  if (parallel.deepspeed !== null) return zero(parallel.deepspeed, Math.max(1, parallel.worldSize));
  if (parallel.worldSize <= 1) return singleDevice();
  if (parallel.fsdp !== null) return fsdp(parallel.fsdp, parallel.worldSize, run.loadDtype, run.autocast);
  return distributedDataParallel();
}
