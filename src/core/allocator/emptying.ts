/**
 * Where `torch_empty_cache_steps` gives unused segments back to the driver: between forward and backward of every
 * micro-batch of each such step, the first one among them (transformers/trainer.py, training_step: `global_step` counts
 * from 0).
 */
import type { Phase } from "../report/estimate";

/** Phases with their first events, as a ledger has them. */
interface Phases {
  readonly phaseList: readonly { readonly phase: Phase; readonly step: number; readonly firstEvent: number }[];
}

/** Whether the cache is emptied in step `step`, counted from 1. */
export function empties(every: number | undefined, step: number): boolean {
  return every !== undefined && every > 0 && (step - 1) % every === 0;
}

/** Events before which the cache is emptied, in order. */
export function emptiedAt({ phaseList }: Phases, every: number | undefined): readonly number[] {
  return phaseList.flatMap(({ phase, step, firstEvent }) =>
    phase === "backward" && empties(every, step) ? [firstEvent] : [],
  );
}
