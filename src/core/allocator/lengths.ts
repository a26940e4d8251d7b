/**
 * Batches padded to their longest sample have another length at every step, and the blocks of one step are odd sizes for the
 * next. A few such steps are replayed. Nothing is simulated again: every block's size is affine in the length, so two
 * simulated lengths give all others.
 */
import type { Ledger } from "../engine/ledger";
import { emptiedAt, emptiedInStep, type StepEmptying } from "./emptying";
import { expandablePeak } from "./expandable";
import type { ClosedStep } from "./repeated";
import { type EventStream, type PoolSettings, type PressedPool, pressedPool, reservedPeak } from "./replay";

/** Steps whose lengths are drawn. */
const STEPS = 12;
/** The first step that is no simulated one. */
const FIRST_REPEATED = 3;
/** Spread and median of the samples' lengths, as shares of the longest: texts of chats and instructions are log-normal. */
const SIGMA = 0.7;
const MEDIAN = 0.35;
/** Standard deviations from the median of a normal distribution to its 95th percentile. */
const TO_P95 = 1.645;

/** What is known of the lengths of a data set's samples, in tokens. */
export type SampleLengths =
  | { readonly kind: "statistics"; readonly mean?: number; readonly median?: number; readonly p95?: number }
  /** Lengths that were measured. */
  | { readonly kind: "samples"; readonly lengths: readonly number[] };

/** Log-normal lengths: median and spread of their logarithms. */
interface LogNormal {
  readonly median: number;
  readonly sigma: number;
}

/**
 * The log-normal distribution that statistics describe: its mean lies at median × exp(σ²/2), its 95th percentile at
 * median × exp(1.645 σ). What they leave open is as usual.
 */
function logNormal(known: SampleLengths & { kind: "statistics" }, longest: number): LogNormal {
  const { mean, median, p95 } = known;
  if (median !== undefined)
    return { median, sigma: p95 === undefined ? SIGMA : Math.max(0, Math.log(p95 / median) / TO_P95) };
  if (mean !== undefined) {
    const reach = p95 === undefined ? null : Math.log(p95 / mean);
    const sigma = reach === null ? SIGMA : Math.max(0, TO_P95 - Math.sqrt(Math.max(0, TO_P95 ** 2 - 2 * reach)));
    return { median: mean * Math.exp(-(sigma ** 2) / 2), sigma };
  }
  return p95 === undefined
    ? { median: longest * MEDIAN, sigma: SIGMA }
    : { median: p95 * Math.exp(-TO_P95 * SIGMA), sigma: SIGMA };
}

/** Length of the sample that a share of all are shorter than. */
function quantileOf(known: SampleLengths, longest: number): (share: number) => number {
  if (known.kind === "samples") {
    const sorted = [...known.lengths].sort((a, b) => a - b);
    return (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? longest;
  }
  const { median, sigma } = logNormal(known, longest);
  return (share) => median * Math.exp(sigma * normal(Math.min(0.999, Math.max(0.001, share))));
}

/** What the pool holds after steps of different lengths. */
export interface VariedReserve {
  readonly reservedBytes: number;
  /** The same with `expandable_segments:True`. */
  readonly expandableBytes: number;
  /** What becomes of the steps in a pool that may not grow so far; null: it may. */
  readonly pressed: PressedPool | null;
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
 * @param known of the data set
 */
export function batchLengths(
  longest: number,
  samples: number,
  multiple: number,
  known: SampleLengths = { kind: "statistics" },
): number[] {
  const quantile = quantileOf(known, longest);
  return Array.from({ length: STEPS }, (_, step) => {
    // The largest of n draws lies at the nth root of an even share.
    const length = quantile(spread(step) ** (1 / samples));
    const padded = Math.ceil(Math.max(1, length) / multiple) * multiple;
    return Math.min(longest, padded);
  });
}

/** Mean share of the longest length that samples have, by the same spread. */
export function filledShare(): number {
  const lengths = batchLengths(2 ** 20, 1, 1);
  return lengths.reduce((sum, length) => sum + length, 0) / lengths.length / 2 ** 20;
}

/** How the run treats its pool, and what the device has for it. */
export interface VariedSettings extends PoolSettings, StepEmptying {
  /** Bytes that the pool may reserve; absent: as many as it likes. */
  readonly limitBytes?: number;
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
 * @returns null when the two lengths do not give the same events, or a step frees what none before it leaves
 */
export function variedReserve(
  whole: SimulatedLength,
  shorter: SimulatedLength,
  lengths: readonly number[],
  settings: VariedSettings = {},
): VariedReserve | null {
  const start = whole.ledger.phaseList.find(({ step }) => step === 2)?.firstEvent;
  const { events, bytes, streams } = whole.ledger;
  const short = shorter.ledger.bytes;
  if (start === undefined || !sameEvents(whole.ledger, shorter.ledger)) return null;
  const first = events.slice(start).find((event) => event >= 0);
  if (first === undefined || !repeats(whole.ledger, start, first)) return null;
  const [opening = whole.length, ...others] = [...lengths, whole.length];
  const sizeAt = (id: number, length: number): number => {
    const at = short[id]!;
    const share = (length - shorter.length) / (whole.length - shorter.length);
    return Math.max(512, Math.ceil((at + (bytes[id]! - at) * share) / 512) * 512);
  };
  const emptied = [...emptiedAt(whole.ledger, settings)];
  const isRepeated = (event: number): boolean => event >= 0 || ~event >= first;
  const again = events.subarray(start).filter(isRepeated);
  const blocks = bytes.length + others.length * (bytes.length - first);
  const stream = {
    events: new Int32Array(events.length + others.length * again.length),
    bytes: new Float64Array(blocks),
    ...(streams !== null && { sides: new Uint8Array(blocks) }),
    emptied,
  };
  const closed = again.reduce((sum, event) => sum + (event < 0 ? -1 : 1), 0) === 0;
  const steps: ClosedStep[] = [];
  stream.events.set(events);
  if (streams !== null) stream.sides?.set(streams);
  for (let id = 0; id < bytes.length; id++) stream.bytes[id] = sizeAt(id, opening);
  let at = events.length;
  let base = bytes.length - first;
  for (const [turn, length] of others.entries()) {
    const emptiedHere = emptiedInStep(whole.ledger, settings, FIRST_REPEATED + turn, 2);
    for (const before of emptiedHere) emptied.push(at + events.subarray(start, before).filter(isRepeated).length);
    if (closed && emptiedHere.length === 0) steps.push({ from: at, to: at + again.length, length });
    for (let id = first; id < bytes.length; id++) stream.bytes[id + base] = sizeAt(id, length);
    if (streams !== null) stream.sides?.set(streams.subarray(first), first + base);
    for (const event of again) stream.events[at++] = event >= 0 ? event + base : event - base;
    base += bytes.length - first;
  }
  return peaksOf({ ...stream, steps }, whole.loadedEvents, settings);
}

/**
 * Whether the second step can follow itself: what it frees of the first one's (micro-batches that the Trainer names until it has
 * the next) stands for its own, which go at its end, as no third step takes their names.
 */
function repeats(ledger: Ledger, start: number, first: number): boolean {
  const { events } = ledger;
  const freed = new Uint8Array(ledger.count);
  for (let k = start; k < events.length; k++) if (events[k]! < 0) freed[~events[k]!] = 1;
  if (!freed.subarray(0, first).includes(1)) return true;
  return events.subarray(start).every((event) => event < 0 || freed[event] === 1);
}

function peaksOf(stream: EventStream, loaded: number, settings: VariedSettings): VariedReserve {
  const { limitBytes = Number.POSITIVE_INFINITY } = settings;
  const reservedBytes = reservedPeak(stream, loaded, settings);
  return {
    reservedBytes,
    expandableBytes: expandablePeak(stream, loaded),
    pressed: reservedBytes <= limitBytes ? null : pressedPool(stream, loaded, settings, limitBytes),
  };
}

function sameEvents(a: Ledger, b: Ledger): boolean {
  const [one, other] = [a.events, b.events];
  if (one.length !== other.length || a.count !== b.count) return false;
  for (let k = 0; k < one.length; k++) if (one[k] !== other[k]) return false;
  return true;
}
