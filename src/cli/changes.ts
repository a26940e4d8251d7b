/** A plan's edits as the lines they change, for a person to read before applying them. */

/** One changed stretch of a document: zero-based first line, lines before and after. */
export interface Change {
  readonly line: number;
  readonly before: readonly string[];
  readonly after: readonly string[];
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
