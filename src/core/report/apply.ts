/** A report's edits applied to a text outside any editor. */
import type { ReportEdit } from "./schema";

/** The text with non-overlapping edits applied; places beyond its end are its end. */
export function withEdits(text: string, edits: readonly Pick<ReportEdit, "range" | "newText">[]): string {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const offset = ({ line, character }: ReportEdit["range"]["start"]): number => {
    const start = starts[line];
    return start === undefined ? text.length : Math.min(start + character, starts[line + 1] ?? text.length);
  };
  const spans = edits
    .map(({ range, newText }, order) => ({ start: offset(range.start), end: offset(range.end), newText, order }))
    // Last first; of two insertions at one place the later one goes in first, so that their order stays.
    .sort((a, b) => b.start - a.start || b.end - a.end || b.order - a.order);
  return spans.reduce((result, span) => result.slice(0, span.start) + span.newText + result.slice(span.end), text);
}
