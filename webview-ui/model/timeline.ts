/** The step as a curve: samples thinned to what a screen can show, phases as spans, ticks on round sizes. */
import { COMPONENT_KINDS, type Phase } from "../../src/core/report/estimate";
import type { ReportRun } from "../../src/core/report/schema";

export interface Sample {
  /** 0..1 over the step. */
  readonly at: number;
  readonly phase: Phase;
  readonly bytes: number;
  /** `bytes` by the timeline's series; absent in reports of older versions. */
  readonly alive?: readonly number[];
}

/** What the curve is taken apart by. */
export type Reading = "part" | "module";

/** One band of the stacked curve: a series by its place, and what it and all series below it hold. */
export interface Layer {
  readonly series: number;
  readonly samples: readonly Sample[];
}

export interface PhaseSpan {
  readonly phase: Phase;
  readonly start: number;
  readonly end: number;
  readonly peakBytes: number;
}

export interface Timeline {
  /** Kinds of components, or paths of modules, the last of which is empty: what no other one holds. */
  readonly series: readonly string[];
  readonly samples: readonly Sample[];
  readonly spans: readonly PhaseSpan[];
  readonly peakIndex: number;
  /** Bytes at the top of the chart. */
  readonly topBytes: number;
  /** What is left for PyTorch on the device, null without one. */
  readonly limitBytes: number | null;
  readonly ticks: readonly number[];
}

const GIB = 2 ** 30;

/**
 * Thins samples to at most about `2 * buckets`, keeping the largest and the last of each bucket and every change of
 * phase: a peak never disappears.
 */
export function thin(samples: readonly Sample[], buckets: number): readonly Sample[] {
  if (samples.length <= buckets * 2) return samples;
  const kept: Sample[] = [];
  let bucket = -1;
  let largest: Sample | undefined;
  let last: Sample | undefined;
  const flush = () => {
    if (largest === undefined || last === undefined) return;
    kept.push(largest);
    if (last !== largest) kept.push(last);
  };
  for (const sample of samples) {
    const index = Math.min(buckets - 1, Math.floor(sample.at * buckets));
    if (index !== bucket || sample.phase !== last?.phase) {
      flush();
      bucket = index;
      largest = sample;
    } else if (largest === undefined || sample.bytes > largest.bytes) largest = sample;
    last = sample;
  }
  flush();
  return kept;
}

/** Consecutive samples of one phase as one span; a span ends where the next begins. */
export function spansOf(samples: readonly Sample[]): readonly PhaseSpan[] {
  const spans: { phase: Phase; start: number; end: number; peakBytes: number }[] = [];
  for (const sample of samples) {
    const open = spans.at(-1);
    if (open !== undefined && open.phase === sample.phase) {
      open.end = sample.at;
      open.peakBytes = Math.max(open.peakBytes, sample.bytes);
      continue;
    }
    if (open !== undefined) open.end = sample.at;
    spans.push({
      phase: sample.phase,
      start: open === undefined ? 0 : sample.at,
      end: sample.at,
      peakBytes: sample.bytes,
    });
  }
  const final = spans.at(-1);
  if (final !== undefined) final.end = 1;
  return spans;
}

/** Round sizes up to `topBytes`, three to six of them, on 1-2-5 steps of a GiB. */
export function ticksOf(topBytes: number): readonly number[] {
  if (topBytes <= 0) return [0];
  const rough = topBytes / GIB / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? 10 * power;
  const ticks: number[] = [];
  for (let index = 0; index * step * GIB <= topBytes; index++) ticks.push(index * step * GIB);
  return ticks;
}

/** Whether the step can be read by module: reports of older versions and models without names cannot. */
export function hasModules(run: ReportRun): boolean {
  return (run.perDevice?.timelineModules?.length ?? 0) > 1;
}

/** The timeline of a run; null when the report has none. */
export function timelineOf(run: ReportRun, reading: Reading = "part", buckets = 400): Timeline | null {
  const device = run.perDevice;
  const points = device?.timeline;
  if (device === null || points === undefined || points.length < 2) return null;
  const samples = thin(
    points.map((point) => {
      const { at, phase, allocatedBytes } = point;
      const alive = reading === "part" ? point.alive : withRest(point.modules, allocatedBytes);
      return { at, phase, bytes: allocatedBytes, ...(alive === undefined ? {} : { alive }) };
    }),
    buckets,
  );
  let peakIndex = 0;
  for (let index = 1; index < samples.length; index++) {
    if (samples[index]!.bytes > samples[peakIndex]!.bytes) peakIndex = index;
  }
  const usable = run.devices.usableBytes ?? run.devices.memoryBytes;
  const limitBytes = usable === null ? null : usable - (device.usedPeakBytes - device.reservedPeakBytes);
  const peak = samples[peakIndex]!.bytes;
  // A limit far above the curve would flatten it; it is shown when it is within reach.
  const shown = limitBytes !== null && limitBytes <= peak * 2.5 ? Math.max(peak, limitBytes) : peak;
  const topBytes = shown * 1.06;
  return {
    series: reading === "part" ? COMPONENT_KINDS : [...(device.timelineModules ?? []), ""],
    samples,
    spans: spansOf(samples),
    peakIndex,
    topBytes,
    limitBytes: limitBytes !== null && limitBytes <= topBytes && limitBytes > 0 ? limitBytes : null,
    ticks: ticksOf(topBytes),
  };
}

/** What modules hold, and what is left of the whole. */
function withRest(modules: readonly number[] | undefined, bytes: number): readonly number[] | undefined {
  return modules === undefined ? undefined : [...modules, bytes - modules.reduce((sum, part) => sum + part, 0)];
}

/**
 * The curve taken apart by its series, topmost first: painted in this order, each layer leaves its own band in sight. Series
 * that are never there are left out; empty when the report does not say what is alive.
 */
export function layersOf(timeline: Timeline): readonly Layer[] {
  const { samples, series } = timeline;
  if (samples.some((sample) => sample.alive === undefined)) return [];
  const below = samples.map(() => 0);
  const layers = series.flatMap((_, index): Layer[] => {
    if (samples.every((sample) => (sample.alive?.[index] ?? 0) === 0)) return [];
    const stacked = samples.map((sample, place) => {
      const bytes = (below[place] ?? 0) + (sample.alive?.[index] ?? 0);
      below[place] = bytes;
      return { at: sample.at, phase: sample.phase, bytes };
    });
    return [{ series: index, samples: stacked }];
  });
  return layers.reverse();
}

/** The series with the most bytes at a sample, by their places, largest first. */
export function largestAlive(
  sample: Sample,
  count: number,
): readonly { readonly series: number; readonly bytes: number }[] {
  return (sample.alive ?? [])
    .map((bytes, series) => ({ series, bytes }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, count);
}

/**
 * SVG path of a curve as steps on a box of `width` × `height`; closed along the bottom when `area`.
 *
 * @param samples a layer's; the whole curve's when left out
 */
export function curve(
  timeline: Timeline,
  width: number,
  height: number,
  area: boolean,
  samples: readonly Sample[] = timeline.samples,
): string {
  const x = (at: number) => (at * width).toFixed(1);
  const y = (bytes: number) => (height - (bytes / timeline.topBytes) * height).toFixed(1);
  const first = samples[0];
  if (first === undefined) return "";
  let path = area ? `M0 ${height}V${y(first.bytes)}` : `M0 ${y(first.bytes)}`;
  for (const sample of samples) path += `H${x(sample.at)}V${y(sample.bytes)}`;
  return area ? `${path}H${width}V${height}Z` : `${path}H${width}`;
}

/** Index of the sample that holds at `at` (0..1): the last one not after it. */
export function sampleAt(samples: readonly Sample[], at: number): number {
  let low = 0;
  let high = samples.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (samples[middle]!.at <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Where a key moves the cursor of the chart; undefined for keys that do not. */
export function moveCursor(timeline: Timeline, index: number, key: string): number | undefined {
  const last = timeline.samples.length - 1;
  const starts = timeline.spans.map((span) => timeline.samples.findIndex((sample) => sample.at >= span.start));
  switch (key) {
    case "ArrowLeft":
    case "ArrowDown":
      return Math.max(0, index - 1);
    case "ArrowRight":
    case "ArrowUp":
      return Math.min(last, index + 1);
    case "Home":
      return 0;
    case "End":
      return last;
    case "PageDown":
      return starts.find((start) => start > index) ?? last;
    case "PageUp":
      return starts.findLast((start) => start < index) ?? 0;
    case "p":
    case "P":
      return timeline.peakIndex;
    default:
      return undefined;
  }
}
