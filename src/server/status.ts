/** What the status item is told of a document. */
import type { ServedAnalysis } from "../analysis/analyzer";
import type { ReportFinding, ReportRun } from "../core/report/schema";
import type { ReportResult, StatusParams, StatusRun } from "./protocol";
import { type Locale, text } from "./text";

/** The run to show first: one with an estimate, since a file that defines no run of its own says little alone. */
export function mainRun(runs: readonly ReportRun[]): ReportRun | undefined {
  return runs.find(({ perDevice }) => perDevice !== null) ?? runs[0];
}

/** Why the document is analysed; null when it is neither a config nor a part of a run. */
export function recognised(analysis: ServedAnalysis, locale: Locale): ReportResult["recognised"] {
  const { recognition } = analysis;
  if (recognition !== null) return { formats: recognition.formats, because: recognition.because };
  const run = mainRun(analysis.runs);
  return run === undefined ? null : { formats: run.formats, because: text(locale, "partOf", run.id) };
}

/** Where a document that is a config stops to parse: what can be read of it is no run anybody meant. */
export function brokenIn({ runs, uri }: ServedAnalysis): ReportFinding | undefined {
  const found = runs.flatMap(({ findings }) => findings);
  return found.find((finding) => finding.code === "syntax" && finding.severity === "error" && finding.uri === uri);
}

/**
 * Status of a finished analysis.
 *
 * @param last the run shown before, kept in sight while the document is broken
 */
export function statusOf(uri: string, analysis: ServedAnalysis, last: StatusRun | null, locale: Locale): StatusParams {
  const reason = recognised(analysis, locale);
  if (reason === null) {
    const error = analysis.report.errors.find((found) => found.uri === analysis.uri);
    if (error !== undefined && (last !== null || error.code === "too-large"))
      return { uri, state: "broken", because: error.message, run: last };
    return { uri, state: "not-recognised", because: text(locale, "notRecognised"), run: null };
  }
  const broken = brokenIn(analysis);
  if (broken !== undefined) return { uri, state: "broken", because: broken.message, run: last };
  const run = mainRun(analysis.runs);
  return { uri, state: "ready", because: reason.because, run: run === undefined ? null : statusRun(run) };
}

/** A run in a line. */
export function statusRun(run: ReportRun): StatusRun {
  const parts = (run.perDevice?.components ?? []).map(({ kind, bytes }) => ({ kind, bytes }));
  return {
    id: run.id,
    verdict: run.verdict,
    modelName: run.model?.name ?? null,
    usedPeakBytes: run.perDevice?.usedPeakBytes ?? null,
    deviceName: run.devices.name,
    deviceSource: run.devices.source,
    memoryBytes: run.devices.memoryBytes,
    deviceCount: run.devices.count,
    statement: run.statement,
    parts: parts.sort((a, b) => b.bytes - a.bytes),
  };
}
