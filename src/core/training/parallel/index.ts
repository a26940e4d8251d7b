/** Which strategy a run uses on one of its devices. */
import type { TrainingRun } from "../run";
import { distributedDataParallel, singleDevice } from "./ddp";
import { fsdp } from "./fsdp";
import type { Strategy } from "./strategy";
import { zero } from "./zero";

export { localRun, type SplitUncertainty } from "./local";
export type { HostUse, Strategy } from "./strategy";

/** The strategy of a run whose degrees are resolved (`localRun`). */
export function chooseStrategy({ parallel, loadDtype, autocast }: TrainingRun): Strategy {
  if (parallel.deepspeed !== null) return zero(parallel.deepspeed, Math.max(1, parallel.worldSize));
  if (parallel.worldSize <= 1) return singleDevice();
  if (parallel.fsdp !== null) return fsdp(parallel.fsdp, parallel.worldSize, loadDtype, autocast);
  return distributedDataParallel();
}
