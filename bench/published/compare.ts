/** Estimates of published runs, beside what was published. */
import { createAnalyzer } from "../../src/analysis";
import { BLAS_HANDLES, blasWorkspaceBytes, overheadBand } from "../../src/core/hardware/context";
import { findDevice } from "../../src/core/hardware/devices";
import type { ReportRun } from "../../src/core/report/schema";
import { MemoryFiles, memoryRuntime } from "../memory";
import type { PublishedOutcome, PublishedPeak, PublishedRun, Unit } from "./types";

/** Bytes from and to. */
export interface Range {
  readonly low: number;
  readonly high: number;
}

export interface Compared<T extends PublishedRun> {
  readonly row: T;
  readonly report: ReportRun;
}

export interface ComparedPeak extends Compared<PublishedPeak> {
  /** The figure, as wide as its rounding and its unit leave it. */
  readonly published: Range;
  /** The estimate of what was measured: one number, and the band. */
  readonly estimate: number;
  readonly band: Range;
  /** Of the estimate against the middle of the figure. */
  readonly error: number;
  readonly inside: boolean;
}

const GIB = 2 ** 30;
const UNITS: Readonly<Record<Unit, readonly [number, number]>> = {
  B: [1, 1],
  MiB: [2 ** 20, 2 ** 20],
  GB: [1e9, 1e9],
  GiB: [GIB, GIB],
  G: [1e9, GIB],
};

/** A figure stands for everything that rounds to it. */
export function rangeOf(figure: string, unit: Unit): Range {
  const [smallest, largest] = UNITS[unit];
  const half = unit === "B" ? 0 : 0.5 * 10 ** -(figure.split(".")[1]?.length ?? 0);
  return { low: (Number(figure) - half) * smallest, high: (Number(figure) + half) * largest };
}

/** The report of each run, in the order given. */
export async function reportsOf<T extends PublishedRun>(rows: readonly T[]): Promise<readonly Compared<T>[]> {
  const files = new MemoryFiles();
  const analyzer = createAnalyzer(memoryRuntime(files));
  const compared: Compared<T>[] = [];
  for (const [index, row] of rows.entries()) {
    const folder = `file:///cases/published-${index}`;
    const [opened = ""] = Object.keys(row.documents);
    for (const [name, text] of Object.entries(row.documents)) files.write(`${folder}/${name}`, text);
    const [report] = (await analyzer.analyse(`${folder}/${opened}`, { plans: false })).report.runs;
    if (report === undefined) throw new Error(`${row.source}: ${row.run} is no run`);
    compared.push({ row, report });
  }
  return compared;
}

/** What is measured of a run, with the band of it: PyTorch's own counters have no context and no communicator in them. */
function measured({ row, report }: Compared<PublishedPeak>): { estimate: number; band: Range } | null {
  const peak = report.perDevice;
  if (peak === null) return null;
  const { lowBytes: low, highBytes: high } = peak.band;
  if (row.measure === "device") return { estimate: peak.usedPeakBytes, band: { low, high } };
  const architecture = findDevice(report.devices.name ?? "")?.device.architecture ?? "unknown";
  const overhead = overheadBand(architecture, report.devices.count);
  const outside = overhead.high - BLAS_HANDLES * blasWorkspaceBytes(architecture);
  const inPool = { low: low - overhead.low, high: high - outside };
  if (row.measure === "unsaid") return { estimate: peak.usedPeakBytes, band: { low: inPool.low, high } };
  return {
    estimate: row.measure === "allocated" ? peak.allocatedPeakBytes : peak.reservedPeakBytes,
    band: inPool,
  };
}

export async function comparePeaks(rows: readonly PublishedPeak[]): Promise<readonly ComparedPeak[]> {
  return (await reportsOf(rows)).map((compared) => {
    const found = measured(compared);
    if (found === null) throw new Error(`${compared.row.source}: ${compared.row.run} has no estimate`);
    const published = rangeOf(compared.row.figure, compared.row.unit);
    const middle = (published.low + published.high) / 2;
    return {
      ...compared,
      ...found,
      published,
      error: found.estimate / middle - 1,
      inside: published.high >= found.band.low && published.low <= found.band.high,
    };
  });
}

export interface ComparedOutcome extends Compared<PublishedOutcome> {
  /** Whether the verdict says what happened; a tight one says either. */
  readonly agrees: boolean;
}

export async function compareOutcomes(rows: readonly PublishedOutcome[]): Promise<readonly ComparedOutcome[]> {
  return (await reportsOf(rows)).map((compared) => {
    const { verdict } = compared.report;
    const agrees = verdict === "tight" || (verdict === "fits") === compared.row.ran;
    return { ...compared, agrees };
  });
}
