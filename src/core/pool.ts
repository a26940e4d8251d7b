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
  const { events, bytes, apart, streams } = ledger;
  return {
    ...{ events, bytes, apart, emptied: emptiedAt(ledger, stepEmptying(run)) },
    ...(streams !== null && { sides: streams }),
  };
}

/**
 * The stream with a block that is there for a moment after each of some allocations.
 *
 * @param sizeAfter bytes of it, by the block before; 0: none
 */
export function withMoments(
  { events, bytes, emptied = [], apart, sides }: EventStream,
  sizeAfter: (id: number) => number,
): EventStream {
  let moments = 0;
  for (let k = 0; k < events.length; k++) if (events[k]! >= 0 && sizeAfter(events[k]!) > 0) moments++;
  const all = new Int32Array(events.length + 2 * moments);
  const sizes = new Float64Array(bytes.length + moments);
  sizes.set(bytes);
  const shifted: number[] = [];
  let [at, next] = [0, bytes.length];
  for (let k = 0; k < events.length; k++) {
    for (; shifted.length < emptied.length && emptied[shifted.length]! <= k; ) shifted.push(at);
    const event = events[k]!;
    all[at++] = event;
    const size = event >= 0 ? sizeAfter(event) : 0;
    if (size === 0) continue;
    sizes[next] = size;
    all[at++] = next;
    all[at++] = ~next++;
  }
  return { events: all, bytes: sizes, emptied: shifted, ...(apart && { apart }), ...(sides && { sides }) };
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
