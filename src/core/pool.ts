/** What a run asks of the allocator's pool: its stream with where the cache is emptied, and how large the pool may become. */
import { emptiedAt, type StepEmptying } from "./allocator/emptying";
import type { EventStream } from "./allocator/replay";
import type { Ledger } from "./engine/ledger";
import { deviceOf, usableBytes } from "./hardware/devices";
import type { TrainingRun } from "./training/run";

/** How the steps of a run empty the cache. */
export function stepEmptying({ emptyCacheSteps, trainer }: TrainingRun): StepEmptying {
  return { emptyCacheSteps, emptiesInLoss: trainer?.kind === "gkd" };
}

/** A ledger's stream, with where the run empties the allocator's cache. */
export function streamOf(ledger: Ledger, run: TrainingRun): EventStream {
  const { events, bytes, apart } = ledger;
  return { events, bytes, apart, emptied: emptiedAt(ledger, stepEmptying(run)) };
}

/**
 * Bytes that the pool may reserve on the run's device; without one, as many as it likes.
 *
 * @param overheadBytes of the process beside the pool
 */
export function poolLimit({ device }: TrainingRun, overheadBytes: number): number {
  if (device === null) return Number.POSITIVE_INFINITY;
  return usableBytes(deviceOf(device)) - (device.occupiedBytes ?? 0) - overheadBytes;
}
