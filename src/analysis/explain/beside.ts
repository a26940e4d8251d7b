/** What the run that stands beside a log says of a failure. */
import type { ReportRun } from "../../core/report/schema";
import type { Failure } from "../../evidence/log/failures";
import type { RunAnalysis } from "../estimate/run-analysis";
import { usableOf } from "../estimate/verdict";
import { size, t, text } from "../messages";
import type { RunBeside } from "./explain";
import { tensorOf } from "./tensor";

function baseNameOf(uri: string): string {
  return decodeURIComponent(uri.slice(uri.lastIndexOf("/") + 1));
}

function estimateOf({ base, locale }: RunAnalysis, file: string): string | null {
  const usable = usableOf(base.resolution.device.spec);
  if (base.estimate === undefined) {
    const reason = base.result?.ok === false ? base.result.reason : base.resolution.obstacles[0]?.message;
    return reason === undefined ? null : t(locale, "oom.estimate-none", { file, reason: text(reason, locale) });
  }
  // As every surface says them: only what the message states has its own digits.
  const need = size(base.estimate.usedPeakBytes);
  if (usable === null) return t(locale, "oom.estimate-need", { file, need });
  const over = base.estimate.usedPeakBytes > usable;
  return t(locale, over ? "oom.estimate-over" : "oom.estimate-under", { file, need, usable: size(usable) });
}

/** @param analysis of the run, on the card that the failure's message describes */
export function besideOf(failure: Failure, analysis: RunAnalysis, report: ReportRun): RunBeside {
  const file = baseNameOf(report.documents[0] ?? "");
  return { report, found: tensorOf(failure, analysis, file), estimate: estimateOf(analysis, file) };
}
