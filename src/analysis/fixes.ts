/** Fixes to offer at a place: plans on the verdict, and the mends of single findings. */

import type { Range, ReportRun } from "../core/report/schema";
import { dialectOf, removeKeyAt } from "../formats/edit";
import type { ProblemFix } from "../formats/types";
import { setScalar, type Value } from "../syntax/edit";
import type { SpanEdit } from "../syntax/tree";
import { ending, withoutEnding } from "../terms/text";
import type { FixContent } from "./analyzer";
import type { LoadedDocument } from "./documents/store";
import type { RunAnalysis } from "./estimate/run-analysis";
import { isSuppressed } from "./findings/place";
import { editsFor } from "./levers/edits";
import { text } from "./messages";
import type { Problem } from "./problems";
import { documentOf } from "./report/report";

/** Whether two ranges touch. */
export function touches(a: Range, b: Range): boolean {
  const before = (x: Range["start"], y: Range["start"]): boolean =>
    x.line < y.line || (x.line === y.line && x.character < y.character);
  return !before(a.end, b.start) && !before(b.end, a.start);
}

export function fixesIn(
  uri: string,
  range: Range,
  analysis: RunAnalysis,
  run: ReportRun,
  problems: readonly Problem[],
): FixContent[] {
  const fixes: FixContent[] = [];
  const verdict = run.findings.find((finding) => finding.code === "does-not-fit" || finding.code === "tight");
  if (verdict?.range !== undefined && verdict.uri === uri && touches(verdict.range, range)) {
    for (const [index, plan] of run.plans.entries()) {
      fixes.push({
        title: `${plan.title} · ${plan.says}`,
        code: verdict.code,
        preferred: index === 0,
        safe: plan.changes === "nothing",
        edits: plan.edits,
      });
    }
  }
  for (const problem of problems) {
    const document = documentOf(analysis.inputs, problem.uri);
    if (document?.file !== uri || isSuppressed(problem, document)) continue;
    if (!touches(document.lines.range(problem.span), range)) continue;
    for (const [index, fix] of (problem.fixes ?? []).entries()) {
      const edits = editsOf(analysis, problem, fix);
      if (edits.length === 0 && fix.pin === undefined) continue;
      fixes.push({
        ...(fix.pin === undefined ? {} : { pin: fix.pin }),
        title: text(fix.title, analysis.locale),
        code: problem.code,
        // Fix-all takes preferred fixes: hints are offers, not mistakes.
        preferred: index === 0 && (problem.severity === "error" || problem.severity === "warning"),
        safe: fix.safe,
        edits,
      });
    }
  }
  return fixes;
}

/** A value replaced in the spelling of its document: `false` is `False` in Python; a bare flag gets a value. */
function replaced(document: LoadedDocument, to: SpanEdit): readonly SpanEdit[] {
  const { config } = document;
  const node = document.read.settings.find(
    ({ valueSpan }) => valueSpan.start === to.start && valueSpan.end === to.end,
  )?.node;
  if (config === undefined || node === undefined) return [to];
  const outcome = setScalar(config.text, node, valueIn(to.newText), dialectOf(config));
  return "edits" in outcome ? outcome.edits : [];
}

/** The value that a JSON literal or a bare word says. */
function valueIn(text: string): Value {
  if (/^(?:true|false|null|-?\d+(?:\.\d+)?)$/.test(text)) return JSON.parse(text) as Value;
  return text.replace(/^"(.*)"$/, "$1");
}

/** The key with another last word, in quotes, dashes and path as before. */
function renamed(old: string, to: string): string {
  const after = ending(old, /["']/);
  const name = ending(withoutEnding(old, /["']/), /[^."'+~]/).replace(/^-+/, "");
  const before = old.slice(0, old.length - after.length - name.length);
  return `${before}${name.includes("-") ? to.replaceAll("_", "-") : to}${after}`;
}

/** Edits of all parts of a fix; none when one of them cannot be made. */
function editsOf(analysis: RunAnalysis, problem: Problem, fix: ProblemFix): FixContent["edits"] {
  const document = documentOf(analysis.inputs, problem.uri);
  if (document === undefined) return [];
  const spans: (readonly SpanEdit[])[] = [];
  if (fix.replace !== undefined) spans.push(replaced(document, fix.replace));
  if (fix.rename !== undefined) {
    const { start, end, to } = fix.rename;
    spans.push([{ start, end, newText: renamed(document.text.slice(start, end), to) }]);
  }
  if (fix.remove !== undefined)
    spans.push(document.config === undefined ? [] : removeKeyAt(document.config, fix.remove.start));
  if (spans.some((edits) => edits.length === 0 || !document.takes(edits))) return [];
  const own = spans.flat().map((edit) => document.edit(edit));
  if (fix.changes === undefined) return own;
  const result = editsFor(analysis.inputs, analysis.base.resolution, fix.changes);
  return "refused" in result ? [] : [...own, ...result.edits];
}
