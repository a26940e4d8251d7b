/** The report's findings as SARIF 2.1.0 (OASIS standard), for code scanning and review tools. */
import type { Locale } from "../analysis/messages";
import type { Report, ReportFinding, ReportRun } from "../core/report/schema";
import { inSarif, sentenceInText } from "../words/printable";
import { relativePath } from "./paths";

const LEVEL = { error: "error", warning: "warning", information: "note", hint: "none" } as const;

interface Region {
  readonly startLine: number;
  readonly startColumn: number;
  readonly endLine: number;
  readonly endColumn: number;
}

/** SARIF counts lines and columns from one. */
function regionOf(range: NonNullable<ReportFinding["range"]>): Region {
  return {
    startLine: range.start.line + 1,
    startColumn: range.start.character + 1,
    endLine: range.end.line + 1,
    endColumn: range.end.character + 1,
  };
}

function artifact(uri: string, cwd: string): { readonly uri: string; readonly uriBaseId?: string } {
  const path = relativePath(uri, cwd);
  return path === undefined
    ? { uri }
    : { uri: path.split("/").map(encodeURIComponent).join("/"), uriBaseId: "SRCROOT" };
}

function location(uri: string, range: ReportFinding["range"], cwd: string): object {
  return {
    physicalLocation: {
      artifactLocation: artifact(uri, cwd),
      ...(range === undefined ? {} : { region: regionOf(range) }),
    },
  };
}

/** Plans of the run as SARIF fixes; they belong to the findings about memory only. */
function fixesOf(run: ReportRun, finding: ReportFinding, cwd: string): readonly object[] {
  if (finding.code !== "does-not-fit" && finding.code !== "tight") return [];
  return run.plans
    .filter((plan) => plan.edits.length > 0 && plan.fits !== false)
    .map((plan) => ({
      description: { text: inSarif(plan.title) },
      artifactChanges: [...new Set(plan.edits.map((edit) => edit.uri))].map((uri) => ({
        artifactLocation: artifact(uri, cwd),
        replacements: plan.edits
          .filter((edit) => edit.uri === uri)
          .map((edit) => ({ deletedRegion: regionOf(edit.range), insertedContent: { text: edit.newText } })),
      })),
    }));
}

function resultOf(run: ReportRun, finding: ReportFinding, { cwd, said }: Context): object {
  const related = finding.related ?? [];
  const fixes = fixesOf(run, finding, cwd);
  return {
    ruleId: finding.code,
    level: LEVEL[finding.severity],
    message: said(finding.message),
    locations: [location(finding.uri, finding.range, cwd)],
    ...(related.length === 0
      ? {}
      : {
          relatedLocations: related.map((one, id) => ({
            id,
            ...location(one.uri, one.range, cwd),
            message: said(one.message),
          })),
        }),
    ...(fixes.length === 0 ? {} : { fixes }),
  };
}

/** Where the report's files are shown from, and its language. */
export interface SarifContext {
  readonly cwd: string;
  readonly rootUri: string;
  readonly locale: Locale;
}

interface Context {
  readonly cwd: string;
  readonly said: (text: string) => object;
}

/** One SARIF log with one run of this tool; inputs that could not be read or were skipped are tool notifications. */
export function toSarif(report: Report, { cwd, rootUri, locale }: SarifContext): object {
  const said = (text: string) => ({ text: inSarif(sentenceInText(text, locale)) });
  const context = { cwd, said };
  const notifications = [
    ...report.errors.map((error) => ({ level: "error", ...error })),
    ...(report.skipped ?? []).map((file) => ({ level: "warning", ...file })),
  ];
  const findings = report.runs.flatMap((run) =>
    // Hints are for editors.
    run.findings.filter((finding) => finding.severity !== "hint").map((finding) => ({ run, finding })),
  );
  const helps = new Map(findings.map(({ finding }) => [finding.code, finding.help]));
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "vram-lens",
            semanticVersion: report.version,
            rules: [...helps].map(([id, help]) => ({ id, ...(help === "" ? {} : { helpUri: help }) })),
          },
        },
        columnKind: "utf16CodeUnits",
        originalUriBaseIds: { SRCROOT: { uri: rootUri.endsWith("/") ? rootUri : `${rootUri}/` } },
        invocations: [
          {
            executionSuccessful: report.errors.length === 0,
            toolExecutionNotifications: notifications.map(({ level, message, uri, range }) => ({
              level,
              message: said(message),
              locations: [location(uri, range, cwd)],
            })),
          },
        ],
        results: findings.map(({ run, finding }) => resultOf(run, finding, context)),
      },
    ],
  };
}
