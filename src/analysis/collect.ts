/** Files and folders to one report: discovers the configs, analyses each, and puts the runs together once. */
import type { Report, ReportRun } from "../core/report/schema";
import type { Analyzer, Discovery, DocumentAnalysis } from "./analyzer";
import { localeOf, t } from "./messages";
import type { AnalysisOptions } from "./options";
import type { FileAccess } from "./runtime";

/** A file or folder to report on, and what its person calls it. */
export interface Input {
  readonly uri: string;
  readonly shown: string;
  /** A file that is no training config is left out without a word. */
  readonly onlyConfigs?: boolean;
}

type ReportError = Report["errors"][number];

/** A run is the same when it has the same name and the same documents, whichever of them it was reached from. */
function identity(run: ReportRun): string {
  return JSON.stringify([run.id, [...run.documents].sort()]);
}

/** Whether `run` is only a part of another run: a DeepSpeed JSON that a trainer's file uses says nothing by itself. */
function isPartOf(run: ReportRun, other: ReportRun): boolean {
  return (
    run !== other &&
    run.perDevice === null &&
    run.documents.length < other.documents.length &&
    run.documents.every((uri) => other.documents.includes(uri))
  );
}

/**
 * Merges the reports of several documents.
 *
 * @param asked URIs of files that were named one by one: their runs are kept even when they are part of another
 */
function mergeReports(
  analyses: readonly DocumentAnalysis[],
  errors: readonly ReportError[],
  asked: ReadonlySet<string>,
  version: string,
): Report {
  const runs = new Map<string, ReportRun>();
  const problems = new Map<string, ReportError>();
  for (const analysis of analyses) {
    for (const run of analysis.report.runs) {
      const key = identity(run);
      // The analysis of the run's own document says most: plans are searched for it.
      if (!runs.has(key) || run.documents[0] === analysis.uri) runs.set(key, run);
    }
    for (const error of analysis.report.errors) problems.set(JSON.stringify(error), error);
  }
  for (const error of errors) problems.set(JSON.stringify(error), error);
  const all = [...runs.values()];
  const kept = all.filter(
    (run) => run.documents.some((uri) => asked.has(uri)) || !all.some((other) => isPartOf(run, other)),
  );
  return { schema: "vram-lens/report/1", version, runs: kept, errors: [...problems.values()] };
}

/** Whether a file does not parse, and nothing says that it would be a training config if it did. */
async function isBrokenOther(analyzer: Analyzer, { uri, report }: DocumentAnalysis, { locale }: AnalysisOptions) {
  if (report.runs.length > 0 || report.errors.length === 0) return false;
  return (await analyzer.discover(uri, locale)).skipped.length === 0;
}

/**
 * Analyses every input.
 *
 * @param progress told before each document
 * @returns the merged report; what could not be read is in its `errors`, what was left out in `skipped`
 */
export async function collect(
  analyzer: Analyzer,
  files: FileAccess,
  inputs: readonly Input[],
  options: AnalysisOptions,
  version: string,
  progress: (done: number, of: number) => void = () => {},
): Promise<Report> {
  const locale = localeOf(options.locale);
  const errors: ReportError[] = [];
  const documents = new Set<string>();
  const asked = new Set<string>();
  const skipped: Discovery["skipped"][number][] = [];
  for (const { uri, shown, onlyConfigs } of inputs) {
    const stat = await files.stat(uri);
    if (stat === undefined) {
      errors.push({ uri, message: t(locale, "input.missing", { path: shown }) });
      continue;
    }
    if (stat.type === "file") {
      documents.add(uri);
      if (onlyConfigs !== true) asked.add(uri);
      continue;
    }
    const found = await analyzer.discover(uri, options.locale);
    if (found.configs.length === 0) errors.push({ uri, message: t(locale, "input.none", { path: shown }) });
    for (const one of found.configs) documents.add(one);
    skipped.push(...found.skipped);
  }
  const analyses: DocumentAnalysis[] = [];
  for (const uri of documents) {
    progress(analyses.length, documents.size);
    const analysis = await analyzer.analyse(uri, options);
    if (!asked.has(uri) && (await isBrokenOther(analyzer, analysis, options))) continue;
    analyses.push(analysis);
    if (asked.has(uri) && analysis.report.runs.length === 0 && analysis.report.errors.length === 0) {
      errors.push({ uri, message: t(locale, "input.other") });
    }
  }
  const report = mergeReports(analyses, errors, asked, version);
  return skipped.length === 0 ? report : { ...report, skipped };
}
