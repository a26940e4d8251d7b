/** Batches padded to their longest sample: what steps of different lengths make of the pool, and of the estimate's band. */
import {
  batchLengths,
  type SampleLengths,
  type SimulatedLength,
  type VariedReserve,
  variedReserve,
} from "./allocator/lengths";
import type { FamilyGraphs } from "./graph/types";
import { poolLimit, stepEmptying } from "./pool";
import type { Estimate } from "./report/estimate";
import { simulateFullest } from "./stages";
import { standIn } from "./stand-in";
import type { TrainingRun } from "./training/run";

/** Events of a run whose batches of other lengths are not replayed: a dozen steps more, three times. */
export const MOST_PADDED = 600_000;

/** What is known of how a run's batches differ in length. */
export interface PaddedBatches {
  /** Samples whose longest a batch is padded to. */
  readonly samples: number;
  /** Lengths are rounded up to it. */
  readonly multiple: number;
  readonly lengths?: SampleLengths | undefined;
}

/**
 * What the allocator's pool holds when batches are padded to their longest sample, on a stated spread of lengths; null
 * where the run's structure depends on the length, or where its tensors alone are more than the device has. Costs two
 * simulations and a longer replay: for where it is shown.
 *
 * @param overheadBytes of the process beside the pool
 * @param simulated the run's simulation, where there is one: what would be simulated a second time
 */
export function reserveOfPadded(
  run: TrainingRun,
  graphs: FamilyGraphs | undefined,
  { samples, multiple, lengths }: PaddedBatches,
  overheadBytes: number,
  simulated?: Omit<SimulatedLength, "length">,
): VariedReserve | null {
  if (graphs === undefined || run.sequenceLength < 2) return null;
  const own = standIn(run, graphs);
  const at = (length: number): SimulatedLength | null => {
    // What runs beside the step has sizes of its own.
    const result = simulateFullest({ ...own, sequenceLength: length, evaluation: null, generation: null }, graphs);
    return result.ok ? { length, ...result.simulation } : null;
  };
  try {
    // What runs beside the step is no part of the ledger then.
    const alone = run.evaluation == null && run.generation == null;
    const whole =
      simulated !== undefined && alone ? { length: run.sequenceLength, ...simulated } : at(run.sequenceLength);
    const limitBytes = poolLimit(run, overheadBytes);
    // Nothing of the pool is worth asking where the run stops for its tensors alone.
    if (whole === null || whole.ledger.peak > limitBytes) return null;
    const shorter = at(Math.ceil(run.sequenceLength / 2));
    if (shorter === null) return null;
    const drawn = batchLengths(run.sequenceLength, samples, multiple, lengths);
    return variedReserve(whole, shorter, drawn, { ...run.allocator, ...stepEmptying(run), limitBytes });
  } catch {
    // A length that the engine cannot run says nothing.
    return null;
  }
}

/** Bytes that the replayed pool has beyond that of equal steps. */
export function poolGrowth(
  { reservedPeakBytes }: Estimate,
  { reservedBytes, expandableBytes }: VariedReserve,
  { expandableSegments }: TrainingRun,
): number {
  return Math.max(0, (expandableSegments ? expandableBytes : reservedBytes) - reservedPeakBytes);
}

/**
 * The bound of an estimate whose batches differ in length: what the replayed pool comes to beyond that of equal steps. A
 * device holds a pool back; where it goes on with what the device has, that is the bound.
 *
 * @param usableBytes of the device; null without one
 */
export function boundOfPadded(
  estimate: Estimate,
  padded: VariedReserve,
  run: TrainingRun,
  usableBytes: number | null,
): number {
  const { highBytes } = estimate.band;
  const high = highBytes + poolGrowth(estimate, padded, run);
  const held = usableBytes !== null && !run.expandableSegments && padded.pressed?.served === true;
  return held ? Math.max(highBytes, Math.min(high, usableBytes)) : high;
}
