/** What plans and stages promise, and the files with their edits. */
import { LineIndex } from "../../src/analysis/documents/lines";
import type { ReportEdit, ReportRun } from "../../src/core/report/schema";
import { applyEdits } from "../../src/syntax/edit";
import { ROOT } from "./memory-runtime";

/** Texts by path. */
export type Files = Readonly<Record<string, string>>;

/** What plans and stages say of a run: the edits, the peak after them, and whether that is said to fit. */
export function promisesOf(run: ReportRun) {
  return [
    ...run.plans.map((plan) => ({ ...plan, what: `plan ${plan.title}`, fits: plan.fits === true })),
    ...(run.guide?.stages ?? []).map((stage) => ({ ...stage, what: `stage ${stage.id}` })),
  ];
}

/** The files with edits made. */
export function edited(files: Files, edits: readonly ReportEdit[]): Files {
  const changed: Record<string, string> = { ...files };
  for (const at of new Set(edits.map((edit) => edit.uri))) {
    const path = decodeURIComponent(at.slice(ROOT.length + 1));
    const text = changed[path] ?? "";
    const lines = new LineIndex(text);
    const spans = edits
      .filter((edit) => edit.uri === at)
      .map(({ range, newText }) => ({
        start: lines.offset(range.start.line, range.start.character),
        end: lines.offset(range.end.line, range.end.character),
        newText,
      }));
    changed[path] = applyEdits(text, spans);
  }
  return changed;
}
