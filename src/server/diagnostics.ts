/** Findings as LSP diagnostics, by push or pull through one function. Editors show them as plain text. */
import { type Diagnostic, DiagnosticSeverity, DiagnosticTag } from "vscode-languageserver";
import type { ServedAnalysis } from "../analysis/analyzer";
import type { Range, ReportFinding } from "../core/report/schema";
import { VERDICT_FINDINGS } from "../terms/verdict-findings";
import { sentenceInText } from "../words/printable";
import { brokenIn } from "./status";
import { type Locale, text } from "./text";

/** `source` of every diagnostic. */
export const SOURCE = "VRAM Lens";

/** Most diagnostics of one document; one more says how many are not shown. */
const LARGEST_LIST = 200;

/** Most related places of one diagnostic. */
const MOST_RELATED = 2;

const NOWHERE: Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

const SEVERITY: Readonly<Record<ReportFinding["severity"], DiagnosticSeverity>> = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  information: DiagnosticSeverity.Information,
  hint: DiagnosticSeverity.Hint,
};

/** Findings about keys without effect are greyed out, about old names struck through. */
const TAGS: readonly { readonly codes: RegExp; readonly tag: DiagnosticTag }[] = [
  { codes: /^ignored-|-ignored$/, tag: DiagnosticTag.Unnecessary },
  { codes: /^removed-key|-old-name$|-deprecated-/, tag: DiagnosticTag.Deprecated },
];

/** Which parts of a diagnostic the client can show. */
export interface DiagnosticSupport {
  readonly relatedInformation: boolean;
  readonly codeDescription: boolean;
  readonly tags: boolean;
  /** The client shows findings above hovers, which say of the verdict what it rests on: it is not said twice. */
  readonly besideHovers?: boolean;
  /** The document was a config before it was typed into: that it no longer parses is an error of it. */
  readonly wasConfig?: boolean;
}

/**
 * The diagnostics of the analysed document itself. Findings in its linked documents are theirs: they show when those
 * are opened, so that no place is marked twice.
 */
export function diagnosticsOf(analysis: ServedAnalysis, support: DiagnosticSupport, locale: Locale): Diagnostic[] {
  const found = new Map<string, Diagnostic>();
  // One slip makes parsers stumble several times, and what they read of the rest says nothing of the run.
  const broken = brokenIn(analysis);
  const findings = broken === undefined ? analysis.runs.flatMap((run) => run.findings) : [broken];
  for (const finding of findings) {
    if (finding.uri !== analysis.uri) continue;
    const diagnostic = toDiagnostic(finding, support, locale);
    found.set(JSON.stringify([diagnostic.code, diagnostic.range, diagnostic.message]), diagnostic);
  }
  for (const error of analysis.report.errors) {
    if (error.uri !== analysis.uri) continue;
    const diagnostic: Diagnostic = {
      range: error.range ?? NOWHERE,
      // A file we never read is nothing its library would mind.
      severity:
        analysis.recognition === null && support.wasConfig !== true
          ? DiagnosticSeverity.Information
          : DiagnosticSeverity.Error,
      source: SOURCE,
      code: error.code ?? "syntax",
      message: sentenceInText(error.message, locale),
    };
    const key = JSON.stringify(["syntax", diagnostic.range, diagnostic.message]);
    if (!found.has(key)) found.set(key, diagnostic);
  }
  return limited([...found.values()], locale);
}

function toDiagnostic(finding: ReportFinding, support: DiagnosticSupport, locale: Locale): Diagnostic {
  const tag = TAGS.find(({ codes }) => codes.test(finding.code))?.tag;
  return {
    range: finding.range ?? NOWHERE,
    severity: SEVERITY[finding.severity],
    source: SOURCE,
    code: finding.code,
    message: sentenceInText(finding.message, locale),
    ...(support.codeDescription && /^https:/.test(finding.help) ? { codeDescription: { href: finding.help } } : {}),
    ...(support.tags && tag !== undefined ? { tags: [tag] } : {}),
    ...(support.relatedInformation && !(support.besideHovers === true && VERDICT_FINDINGS.has(finding.code))
      ? relatedInformation(finding, locale)
      : {}),
  };
}

/**
 * The places a finding comes from. Editors print them above the hover, so only the least obvious stay: those in other
 * documents before those in the same one, and few.
 */
function relatedInformation(finding: ReportFinding, locale: Locale): Pick<Diagnostic, "relatedInformation"> {
  const related = [...(finding.related ?? [])].sort(
    (a, b) => Number(a.uri === finding.uri) - Number(b.uri === finding.uri),
  );
  if (related.length === 0) return {};
  return {
    relatedInformation: related
      .slice(0, MOST_RELATED)
      .map(({ uri, range, message }) => ({ location: { uri, range }, message: sentenceInText(message, locale) })),
  };
}

function limited(diagnostics: Diagnostic[], locale: Locale): Diagnostic[] {
  if (diagnostics.length <= LARGEST_LIST) return diagnostics;
  const rank = (diagnostic: Diagnostic) => diagnostic.severity ?? DiagnosticSeverity.Hint;
  const kept = [...diagnostics].sort((a, b) => rank(a) - rank(b)).slice(0, LARGEST_LIST);
  return [
    ...kept,
    {
      range: NOWHERE,
      severity: DiagnosticSeverity.Information,
      source: SOURCE,
      message: text(locale, "moreFindings", diagnostics.length - LARGEST_LIST),
    },
  ];
}
