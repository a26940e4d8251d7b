/** Exit status of a report. */
import type { Report } from "../core/report/schema";
import type { FailOn } from "./arguments";

const LEVELS = { error: ["error"], warning: ["error", "warning"], never: [] } as const;

/** 2 when an input could not be read (`strict`: or was left out), 1 when a finding reaches `failOn`, else 0. */
export function exitStatus(report: Report, failOn: FailOn, strict: boolean): 0 | 1 | 2 {
  if (report.errors.length > 0 || (strict && (report.skipped?.length ?? 0) > 0)) return 2;
  const failing: readonly string[] = LEVELS[failOn];
  return report.runs.some((run) => run.findings.some((finding) => failing.includes(finding.severity))) ? 1 : 0;
}
