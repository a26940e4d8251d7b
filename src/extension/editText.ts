/** Applying edits to a text outside any editor. */
import type { ReportEdit } from "../core/report/schema";

/** The text with the edits applied, from the last to the first so that places stay true. */
export function edited(text: string, edits: readonly ReportEdit[]): string {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const offset = ({ line, character }: { readonly line: number; readonly character: number }) => {
    const start = starts[line] ?? text.length;
    return Math.min(start + character, starts[line + 1] ?? text.length);
  };
  const placed = edits.map(({ range, newText }) => ({ start: offset(range.start), end: offset(range.end), newText }));
  placed.sort((a, b) => b.start - a.start);
  return placed.reduce(
    (current, { start, end, newText }) => current.slice(0, start) + newText + current.slice(end),
    text,
  );
}
