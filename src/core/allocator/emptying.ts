/**
 * Where a run gives unused segments back to the driver (`torch.cuda.empty_cache()`): between forward and backward of the
 * micro-batches of every n-th step, the first one among them (`torch_empty_cache_steps`; transformers/trainer.py,
 * training_step: `global_step` counts from 0), before a loss returns (trl/experimental/gkd/gkd_trainer.py, compute_loss), and
 * where its evaluation says so itself.
 */
import type { Phase } from "../report/estimate";

/** What is read of a ledger. */
interface Emptied {
  readonly events: ArrayLike<number>;
  readonly phaseList: readonly { readonly phase: Phase; readonly step: number; readonly firstEvent: number }[];
  /** Events before which the run's own code empties the cache. */
  readonly emptied: readonly number[];
}

/** How the steps of a run empty the cache. */
export interface StepEmptying {
  /** Steps from one emptying to the next (`torch_empty_cache_steps`); undefined: no step does. */
  readonly emptyCacheSteps?: number | undefined;
  /** Every micro-batch does, before its loss returns: what the loss's own code names is still there. */
  readonly emptiesInLoss?: boolean;
}

/** Whether the cache is emptied in step `step`, counted from 1. */
function empties({ emptyCacheSteps: every, emptiesInLoss }: StepEmptying, step: number): boolean {
  return emptiesInLoss === true || (every !== undefined && every > 0 && (step - 1) % every === 0);
}

/**
 * Events before which the cache is emptied in step `step`, which does what the ledger's step `like` does.
 */
export function emptiedInStep(
  { events, phaseList }: Emptied,
  emptying: StepEmptying,
  step: number,
  like = step,
): readonly number[] {
  if (!empties(emptying, step)) return [];
  return phaseList.flatMap(({ phase, step: own, firstEvent }) => {
    if (phase !== "backward" || own !== like) return [];
    let at = firstEvent;
    if (emptying.emptiesInLoss === true) while (at > 0 && events[at - 1]! < 0) at--;
    return [at];
  });
}

/** Events before which the cache is emptied, in order. */
export function emptiedAt(ledger: Emptied, emptying: StepEmptying): readonly number[] {
  const steps = new Set(ledger.phaseList.map(({ step }) => step));
  const inSteps = [...steps].flatMap((step) => emptiedInStep(ledger, emptying, step));
  return [...inSteps, ...ledger.emptied].sort((a, b) => a - b);
}
