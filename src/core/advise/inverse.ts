/** The inverse questions: the largest batch, the longest sequence, the fewest cards. */
import type { Estimate } from "../report/estimate";
import { modelParallelSize } from "../training/parallel/degrees";
import type { TrainingRun } from "../training/run";
import { atBatch } from "../training/trainers/pace";
import type { EstimateFunction } from "./types";

/** A run that fits, at the largest value, and what the engine says of it. */
export interface Largest {
  readonly value: number;
  readonly run: TrainingRun;
  readonly estimate: Estimate;
}

const MOST_SAMPLES = 4096;
const MOST_TOKENS = 2 ** 20;

/**
 * The largest whole value in `[least, most]`, in steps of `step`, that fits; null when not even the least does. Memory grows
 * with the value; a straight line through the last two answers says where to look, and halving the interval keeps that honest.
 *
 * @param usedAt bytes at a value; null where nothing is known of it, which does not fit
 * @param start where to look after the least
 */
export function largestFitting(
  usedAt: (value: number) => number | null,
  limitBytes: number,
  start: number,
  [least, most, step]: readonly [number, number, number],
): number | null {
  const known = new Map<number, boolean>();
  const probes: { readonly value: number; readonly used: number }[] = [];
  const fits = (value: number): boolean => {
    const seen = known.get(value);
    if (seen !== undefined) return seen;
    const used = usedAt(value);
    if (used !== null) probes.push({ value, used });
    const answer = used !== null && used <= limitBytes;
    known.set(value, answer);
    return answer;
  };
  const snap = (value: number) => least + Math.round((value - least) / step) * step;
  if (!fits(least)) return null;
  let low = least;
  let high = snap(most) + step;
  const consider = (value: number) => {
    if (value <= low || value >= high) return;
    if (fits(value)) low = value;
    else high = value;
  };
  consider(snap(Math.min(Math.max(start, least + step), high - step)));
  for (let round = 0; high - low > step && round < 40; round++) {
    const [a, b] = probes.slice(-2);
    const slope =
      a !== undefined && b !== undefined && a.value !== b.value ? (b.used - a.used) / (b.value - a.value) : 0;
    const middle = snap(low + Math.floor((high - low) / (2 * step)) * step);
    if (slope > 0 && b !== undefined && round % 3 !== 2) {
      const guess = least + Math.floor((b.value + (limitBytes - b.used) / slope - least) / step) * step;
      const inside = Math.min(Math.max(guess, low + step), high - step);
      consider(inside);
      consider(inside + step);
    } else consider(Math.min(Math.max(middle, low + step), high - step));
  }
  return low;
}

/** The same of a run's values, with the run and its estimate. */
function largest(
  at: (value: number) => TrainingRun,
  estimate: EstimateFunction,
  limitBytes: number,
  start: number,
  range: readonly [number, number, number],
): Largest | null {
  const found = new Map<number, Largest>();
  const usedAt = (value: number): number | null => {
    const run = at(value);
    const answer = estimate(run);
    if (answer === null) return null;
    found.set(value, { value, run, estimate: answer });
    return answer.usedPeakBytes;
  };
  const value = largestFitting(usedAt, limitBytes, start, range);
  return value === null ? null : (found.get(value) ?? null);
}

/** The largest micro-batch that fits with everything else as it is; null when not even one sample does. */
export function largestMicroBatch(run: TrainingRun, estimate: EstimateFunction, limitBytes: number): Largest | null {
  const at = (value: number) => atBatch(run, value, run.gradientAccumulationSteps);
  return largest(at, estimate, limitBytes, run.microBatchSize, [1, MOST_SAMPLES, 1]);
}

/** The longest sequence that fits, in steps of 64 tokens; null for runs without one, or when not even 64 tokens fit. */
export function longestSequence(run: TrainingRun, estimate: EstimateFunction, limitBytes: number): Largest | null {
  if (run.sequenceLength <= 0) return null;
  const positions = Number(run.model.config["max_position_embeddings"] ?? run.model.config["n_positions"] ?? 0);
  const most = positions >= 64 ? Math.min(positions, MOST_TOKENS) : MOST_TOKENS;
  const at = (value: number) => ({ ...run, sequenceLength: value });
  return largest(at, estimate, limitBytes, run.sequenceLength, [64, most, 64]);
}

const MOST_RANKS = 1024;

/** Whether more ranks mean less on each. */
export function isSharded({ parallel }: TrainingRun): boolean {
  return (parallel.deepspeed !== null && parallel.deepspeed.zeroStage > 0) || parallel.fsdp !== null;
}

/**
 * The fewest ranks on which a sharded run fits, of those that its parallel degrees divide; null when sharding never gets
 * there. Doublings find the range, halving it the number: each rank more leaves less on the others.
 */
export function fewestDevices(run: TrainingRun, estimate: EstimateFunction, limitBytes: number): Largest | null {
  const { parallel } = run;
  if (!isSharded(run)) return null;
  const degree = modelParallelSize(parallel);
  const step = degree % parallel.expertParallel === 0 ? degree : degree * parallel.expertParallel;
  const at = (groups: number): Largest | null => {
    const ranks = groups * step;
    const device = run.device === null ? null : { ...run.device, count: ranks };
    const wider = { ...run, device, parallel: { ...parallel, worldSize: ranks } };
    const found = estimate(wider);
    return found !== null && found.usedPeakBytes <= limitBytes ? { value: ranks, run: wider, estimate: found } : null;
  };
  let high = 1;
  let best = at(high);
  while (best === null) {
    high *= 2;
    if (high * step > MOST_RANKS) return null;
    best = at(high);
  }
  for (let low = high / 2; high - low > 1; ) {
    const middle = Math.floor((low + high) / 2);
    const found = at(middle);
    if (found === null) low = middle;
    else {
      high = middle;
      best = found;
    }
  }
  return best;
}
