/**
 * Batches padded to their longest sample have another length at every step, and the blocks of one step are odd sizes for the
 * next. A few such steps are replayed. Nothing is simulated again: every block's size is affine in the length, so two
 * simulated lengths give all others.
 */
import type { Ledger } from "../engine/ledger";
import { expandablePeak } from "./expandable";
import { type EventStream, type PoolSettings, reservedPeak } from "./replay";

/** Steps whose lengths are drawn. */
const STEPS = 12;
/** Spread and median of the samples' lengths, as shares of the longest: texts of chats and instructions are log-normal. */
const SIGMA = 0.7;
const MEDIAN = 0.35;

/** What the pool holds after steps of different lengths. */
export interface VariedReserve {
  readonly reservedBytes: number;
  /** The same with `expandable_segments:True`. */
  readonly expandableBytes: number;
}

/** Evenly spread numbers in (0, 1), the same at every call (golden-ratio sequence). */
function spread(index: number): number {
  return ((index + 1) * 0.6180339887498949) % 1;
}

/** Inverse of the normal distribution's cumulative function, to about 0.005 (Tocher's logistic approximation). */
function normal(probability: number): number {
  return Math.log(probability / (1 - probability)) / 1.702;
}

/**
 * Lengths of `STEPS` batches, each the longest of its samples.
 *
 * @param longest what samples are cut to
 * @param samples samples per batch
 * @param multiple `pad_to_multiple_of`
 */
export function batchLengths(longest: number, samples: number, multiple: number): number[] {
  return Array.from({ length: STEPS }, (_, step) => {
    // The largest of n draws lies at the nth root of an even share.
    const share = spread(step) ** (1 / samples);
    const length = longest * MEDIAN * Math.exp(SIGMA * normal(Math.min(0.999, Math.max(0.001, share))));
    const padded = Math.ceil(Math.max(1, length) / multiple) * multiple;
    return Math.min(longest, padded);
  });
}

/** Mean share of the longest length that samples have, by the same spread. */
export function filledShare(): number {
  const lengths = batchLengths(2 ** 20, 1, 1);
  return lengths.reduce((sum, length) => sum + length, 0) / lengths.length / 2 ** 20;
}

/** A simulation of the run at one length, with the number of events of loading. */
export interface SimulatedLength {
  readonly length: number;
  readonly ledger: Ledger;
  readonly loadedEvents: number;
}

/**
 * Replays steps of the given lengths from the first one on, and the longest at the end: it comes at some time.
 *
 * @returns null when the two lengths do not give the same events, or a step frees what an earlier one made
 */
export function variedReserve(
  whole: SimulatedLength,
  shorter: SimulatedLength,
  lengths: readonly number[],
  settings: PoolSettings = {},
): VariedReserve | null {
  const start = whole.ledger.phaseList.find(({ step }) => step === 2)?.firstEvent;
  const { events, bytes } = whole.ledger;
  const short = shorter.ledger.bytes;
  if (start === undefined || !sameEvents(whole.ledger, shorter.ledger)) return null;
  const first = events.slice(start).find((event) => event >= 0);
  if (first === undefined || events.slice(start).some((event) => event < 0 && ~event < first)) return null;
  const [opening = whole.length, ...others] = [...lengths, whole.length];
  const sizeAt = (id: number, length: number): number => {
    const at = short[id]!;
    const share = (length - shorter.length) / (whole.length - shorter.length);
    return Math.max(512, Math.ceil((at + (bytes[id]! - at) * share) / 512) * 512);
  };
  const stream = { events: [...events], bytes: Array.from(bytes, (_, id) => sizeAt(id, opening)) };
  for (const length of others) {
    const base = stream.bytes.length - first;
    for (let id = first; id < bytes.length; id++) stream.bytes.push(sizeAt(id, length));
    for (let k = start; k < events.length; k++) {
      const event = events[k]!;
      stream.events.push(event >= 0 ? event + base : event - base);
    }
  }
  return peaksOf(stream, whole.loadedEvents, settings);
}

function peaksOf(stream: EventStream, loaded: number, settings: PoolSettings): VariedReserve {
  return {
    reservedBytes: reservedPeak(stream, loaded, settings),
    expandableBytes: expandablePeak(stream, loaded),
  };
}

function sameEvents(a: Ledger, b: Ledger): boolean {
  const [one, other] = [a.events, b.events];
  return one.length === other.length && a.count === b.count && one.every((event, k) => event === other[k]);
}
