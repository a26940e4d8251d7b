/** What the status item is told of a document. */
import type { DocumentAnalysis } from "../analysis/analyzer";
import type { ReportRun } from "../core/report/schema";
import type { StatusParams, StatusRun } from "./protocol";
import { type Locale, text } from "./text";

/** Status of a finished analysis. */
export function statusOf(analysis: DocumentAnalysis, locale: Locale): StatusParams {
  if (analysis.recognition === null) {
    return { uri: analysis.uri, state: "not-recognised", because: text(locale, "notRecognised"), run: null };
  }
  const run = analysis.runs[0];
  return {
    uri: analysis.uri,
    state: "ready",
    because: analysis.recognition.because,
    run: run === undefined ? null : statusRun(run),
  };
}

function statusRun(run: ReportRun): StatusRun {
  const parts = (run.perDevice?.components ?? []).map(({ kind, bytes }) => ({ kind, bytes }));
  return {
    id: run.id,
    verdict: run.verdict,
    modelName: run.model?.name ?? null,
    usedPeakBytes: run.perDevice?.usedPeakBytes ?? null,
    deviceName: run.devices.name,
    memoryBytes: run.devices.memoryBytes,
    deviceCount: run.devices.count,
    peakPhase: run.perDevice?.peakPhase ?? null,
    parts: parts.sort((a, b) => b.bytes - a.bytes),
  };
}
