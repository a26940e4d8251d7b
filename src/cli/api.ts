/**
 * The package as a library: what `vram-lens check` and `plan` say, as data. Reads files, runs nothing, writes nothing.
 */
import { resolve } from "node:path";
import { createAnalyzer } from "../analysis";
import { collect } from "../analysis/collect";
import { requestComplaint, unusedComplaint } from "../analysis/linking/asked";
import { localeOf } from "../analysis/messages";
import type { AnalysisOptions } from "../analysis/options";
import { complaintText } from "../analysis/pins/complaints";
import type { Report } from "../core/report/schema";
import { createNodeRuntime, uriOf } from "../host/node";

export type { Report, ReportFinding, ReportPlan, ReportRun } from "../core/report/schema";

export interface CheckOptions {
  /** GPU by name or memory size: `A100-80GB`, `RTX 4090`, `24GB`. */
  readonly device?: string;
  /** Number of GPUs when nothing else says it. */
  readonly devices?: number;
  /** Values to try instead of the files', by key. */
  readonly set?: Readonly<Record<string, string | number | boolean>>;
  /** Language of messages: `en` (default) or `zh-cn`. */
  readonly locale?: string;
  /** Folder that relative paths start from, and that links between files may not leave (default: the process's). */
  readonly cwd?: string;
  /** Whether plans are searched, which takes longer than the estimate. */
  readonly plans?: boolean;
}

/**
 * The report on config files, or on folders of them.
 *
 * @throws TypeError for a device, setting or value that means nothing; the message names the nearest
 */
export async function check(paths: string | readonly string[], options: CheckOptions = {}): Promise<Report> {
  const { cwd = process.cwd(), device, devices, set = {}, locale, plans = false } = options;
  const asked: AnalysisOptions = {
    device,
    deviceCount: devices,
    set: Object.fromEntries(Object.entries(set).map(([key, value]) => [key, String(value)])),
    locale,
    plans,
  };
  const early = requestComplaint(asked);
  if (early !== null) throw new TypeError(complaintText(early, localeOf(locale)));
  const inputs = [paths].flat().map((path) => ({ uri: uriOf(resolve(cwd, path)), shown: path }));
  const named = inputs.map(({ shown }) => resolve(cwd, shown));
  const runtime = createNodeRuntime({ workspaceFolders: [cwd], packageDirectory: __dirname, env: process.env, named });
  const report = await collect(createAnalyzer(runtime), runtime.files, inputs, asked, VERSION);
  const late = unusedComplaint(asked.set, report.runs);
  if (late !== null) throw new TypeError(complaintText(late, localeOf(locale)));
  return report;
}

/** As {@link check}, with the changes that make each run fit. */
export function plan(paths: string | readonly string[], options: CheckOptions = {}): Promise<Report> {
  return check(paths, { ...options, plans: true });
}

const VERSION = process.env["VRAM_LENS_VERSION"] ?? "development";
