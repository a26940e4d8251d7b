/** Problems as findings of the report: words, places, severities as configured, suppressed ones left out. */
import type { ReportFinding } from "../../core/report/schema";
import { HOME } from "../../terms/address";
import type { LoadedDocument } from "../documents/store";
import type { RunInputs } from "../linking/inputs";
import { withholding } from "../linking/outside";
import { type Locale, text } from "../messages";
import type { AnalysisOptions } from "../options";
import type { Problem } from "../problems";

/** Where the page of a code is. */
const HELP_BASE = `${HOME}findings/`;

export function toFindings(
  problems: readonly Problem[],
  inputs: RunInputs,
  options: AnalysisOptions,
  locale: Locale,
): ReportFinding[] {
  const seen = new Set<string>();
  const shown = withholding(inputs);
  const findings: ReportFinding[] = [];
  for (const problem of problems) {
    const document = inputs.documents.find((candidate) => candidate.uri === problem.uri);
    const severity = options.severity?.[problem.code] ?? problem.severity;
    if (severity === "off" || isSuppressed(problem, document)) continue;
    const finding: ReportFinding = {
      code: problem.code,
      severity,
      message: shown(text(problem.message, locale), problem.uri),
      uri: document?.file ?? problem.uri,
      ...(document === undefined ? {} : { range: document.lines.range(problem.span) }),
      help: `${HELP_BASE}${problem.code}`,
    };
    const related = (problem.related ?? []).flatMap((place) => {
      const other = inputs.documents.find((candidate) => candidate.uri === place.uri);
      if (other === undefined) return [];
      return [
        {
          uri: other.file,
          range: other.lines.range(place.span),
          message: shown(text(place.message, locale), place.uri),
        },
      ];
    });
    if (related.length > 0) finding.related = related;
    const key = JSON.stringify([finding.code, finding.uri, finding.range, finding.message]);
    if (seen.has(key)) continue;
    seen.add(key);
    findings.push(finding);
  }
  return findings;
}

/** Whether a directive comment silences the problem at its place. */
export function isSuppressed(problem: Problem, document: LoadedDocument | undefined): boolean {
  if (document === undefined) return false;
  const { disabled, disabledLines } = document.directives;
  if (disabled.has(problem.code) || disabled.has("*")) return true;
  if (disabledLines.size === 0) return false;
  const codes = disabledLines.get(document.lines.position(problem.span.start).line);
  return codes !== undefined && (codes.has(problem.code) || codes.has("*"));
}
