/** A plan's edits as the lines they change, for a person to read before applying them. */
import type { ReportEdit } from "../core/report/schema";

/** One changed stretch of a document: zero-based first line, lines before and after. */
export interface Change {
  readonly line: number;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Offset of the start of every line, UTF-16. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** Applies non-overlapping LSP-style edits to a text. */
export function applyEdits(text: string, edits: readonly ReportEdit[]): string {
  const starts = lineStarts(text);
  const offset = (line: number, character: number): number => {
    const start = starts[line];
    return start === undefined ? text.length : Math.min(start + character, starts[line + 1] ?? text.length);
  };
  const spans = edits
    .map((edit) => ({
      start: offset(edit.range.start.line, edit.range.start.character),
      end: offset(edit.range.end.line, edit.range.end.character),
      newText: edit.newText,
    }))
    // Last first; of two insertions at one place the later one goes in first, so that their order stays.
    .map((span, order) => ({ ...span, order }))
    .sort((a, b) => b.start - a.start || b.end - a.end || b.order - a.order);
  return spans.reduce((result, span) => result.slice(0, span.start) + span.newText + result.slice(span.end), text);
}

/** Lines that differ between two texts, by their longest common subsequence. */
export function changedLines(before: string, after: string): readonly Change[] {
  const a = before.split(/\r?\n/);
  const b = after.split(/\r?\n/);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const left = a.slice(head, a.length - tail);
  const right = b.slice(head, b.length - tail);
  const width = right.length + 1;
  const longest = new Uint32Array((left.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      longest[i * width + j] = left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const changes: { line: number; before: string[]; after: string[] }[] = [];
  let open: { line: number; before: string[]; after: string[] } | undefined;
  for (let i = 0, j = 0; i < left.length || j < right.length; ) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      open = undefined;
      i++;
      j++;
      continue;
    }
    if (open === undefined) {
      open = { line: head + i, before: [], after: [] };
      changes.push(open);
    }
    if (j >= right.length || (i < left.length && at(i + 1, j) >= at(i, j + 1))) open.before.push(left[i++] ?? "");
    else open.after.push(right[j++] ?? "");
  }
  return changes;
}
