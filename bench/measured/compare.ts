/**
 * Peaks of plain loops on real cards against the estimate. The rows are not part of the repository; where they are not beside it,
 * nothing is compared.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { contextBand } from "../../src/core/hardware/context";
import { findDevice } from "../../src/core/hardware/devices";
import type { ReportRun } from "../../src/core/report/schema";
import { MemoryFiles, memoryRuntime } from "../memory";
import type { Range } from "../published/compare";
import { documentsOf, type LoopRow } from "./loops";

export interface ComparedLoop {
  readonly row: LoopRow;
  readonly verdict: ReportRun["verdict"];
  /** Of the estimate against the figure. */
  readonly error: number;
  /** Of the run under the other default, where the row does not say which it was. */
  readonly otherError: number | null;
  /** Bytes of tensors at the peak. */
  readonly tensors: number;
  readonly inside: boolean;
}

const FILE = join(__dirname, "..", "..", "..", "shared", "measured", "xmem-dev.jsonl");

/** The rows, or null where they are not beside the repository. */
export function loopRows(file = FILE): readonly LoopRow[] | null {
  if (!existsSync(file)) return null;
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as LoopRow);
}

/**
 * Where gradients are cleared, when the row does not say: the two defaults that the loop had, the later one first. Every language model
 * of the table agrees with that one to 20 MiB of its pool, where the other is up to 0.7 GiB above.
 */
const UNSAID = [0, 1] as const;

/** Handles and kernels that are loaded while it trains, as the table's description has them: 0 to 80 MiB; networks of cuDNN load more. Bytes. */
const STEP_KERNELS = { low: 0, likely: 40 * 2 ** 20, high: 250 * 2 ** 20 };

/**
 * What was measured: the process's memory beyond the bare context, so the pool, the workspaces in it, and the kernels that the steps load.
 */
function measured({ perDevice, devices }: ReportRun): { readonly estimate: number; readonly band: Range } | null {
  if (perDevice === null) return null;
  const context = contextBand(findDevice(devices.name ?? "")?.device.architecture ?? "unknown");
  return {
    estimate: perDevice.usedPeakBytes - context.likely + STEP_KERNELS.likely,
    band: {
      low: perDevice.band.lowBytes - context.low + STEP_KERNELS.low,
      high: perDevice.band.highBytes - context.high + STEP_KERNELS.high,
    },
  };
}

async function reportOf(row: LoopRow, folder: string): Promise<ReportRun> {
  const files = new MemoryFiles();
  for (const [name, text] of Object.entries(documentsOf(row))) files.write(`${folder}/${name}`, text);
  const analyzer = createAnalyzer(memoryRuntime(files));
  const [report] = (await analyzer.analyse(`${folder}/train.py`, { plans: false })).report.runs;
  if (report === undefined) throw new Error(`${row.model}: no run`);
  return report;
}

/**
 * Each row with its estimate. Where a row does not say when gradients are cleared, its run is one of two: the figure is compared with the
 * first, and lies outside only where both bands miss it.
 */
export async function compareLoops(rows: readonly LoopRow[]): Promise<readonly ComparedLoop[]> {
  const reports = new Map<string, ReportRun>();
  const compared: ComparedLoop[] = [];
  for (const row of rows) {
    const modes = row.zero_grad_mode === null ? UNSAID : [row.zero_grad_mode];
    const found: { readonly report: ReportRun; readonly estimate: number; readonly band: Range }[] = [];
    for (const mode of modes) {
      const run = { ...row, zero_grad_mode: mode };
      const key = JSON.stringify(documentsOf(run));
      const report = reports.get(key) ?? (await reportOf(run, "file:///cases/loop"));
      reports.set(key, report);
      const one = measured(report);
      if (one !== null) found.push({ report, ...one });
    }
    const [first, other] = found;
    if (first === undefined) throw new Error(`${row.model}: no estimate`);
    compared.push({
      row,
      verdict: first.report.verdict,
      error: first.estimate / row.ground_bytes - 1,
      otherError: other === undefined ? null : other.estimate / row.ground_bytes - 1,
      tensors: first.report.perDevice?.allocatedPeakBytes ?? 0,
      inside: found.some(({ band }) => row.ground_bytes >= band.low && row.ground_bytes <= band.high),
    });
  }
  return compared;
}
