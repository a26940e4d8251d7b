/** Edits as the lines they change, for a person to read: in full before applying them, in short beside a title or after. */
import { withEdits } from "../core/report/apply";
import type { ReportEdit } from "../core/report/schema";
import { type Locale, t } from "./messages";

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

/**
 * What edits write, in the files' own words: `per_device_train_batch_size 8 → 2, add use_liger_kernel: true`.
 *
 * @param textOf text of a document as it is; undefined when it cannot be read
 */
export function changesSaid(
  edits: readonly ReportEdit[],
  textOf: (uri: string) => string | undefined,
  locale: Locale,
): string {
  const parts = [...new Set(edits.map(({ uri }) => uri))].flatMap((uri) => {
    const before = textOf(uri);
    if (before === undefined) return [];
    const after = withEdits(
      before,
      edits.filter((edit) => edit.uri === uri),
    );
    return changedLines(before, after).flatMap((change) => lineChanges(change, locale));
  });
  return parts.filter((part) => part !== "").join(t(locale, "change.and"));
}

/** What became of each line of a stretch: a line that states the same key, or none like it, is its successor. */
function lineChanges({ before, after }: Change, locale: Locale): readonly string[] {
  const left = before.map(tidy).filter(Boolean);
  const successors: string[] = [];
  const added: string[] = [];
  for (const line of after.map(tidy).filter(Boolean)) {
    const at = left.findIndex((old) => keyOf(old) === keyOf(line));
    if (at < 0) added.push(t(locale, "change.add", { line }));
    else successors.push(...left.splice(at, 1).map((old) => replaced(old, line)));
  }
  return [...successors, ...left.map((line) => t(locale, "change.remove", { line })), ...added];
}

/** A config line without its indentation, the comma or backslash at its end, and its comment. */
function tidy(line: string): string {
  return (line.split(/\s#/, 1)[0] ?? "")
    .trim()
    .replace(/[,\\]$/, "")
    .trim();
}

/** The key or flag that a line states. */
function keyOf(line: string): string | undefined {
  return KEY_AND_VALUE.exec(line)?.[1] ?? FLAG_AND_VALUE.exec(line)?.[1];
}

const KEY_AND_VALUE = /^"?([\w.-]+)"?\s{0,20}[:=]\s{0,20}(\S.*)$/;
const FLAG_AND_VALUE = /^(--?[\w.-]+)(?:[ =]{1,20}(\S.*))?$/;

/** `key: 8` and `key: 2` as `key 8 → 2`; anything else in full. */
function replaced(before: string, after: string): string {
  if (before === after) return "";
  const [, key, old] = KEY_AND_VALUE.exec(before) ?? FLAG_AND_VALUE.exec(before) ?? [];
  const [, newKey, fresh] = KEY_AND_VALUE.exec(after) ?? FLAG_AND_VALUE.exec(after) ?? [];
  if (key !== undefined && key === newKey && old !== undefined && fresh !== undefined)
    return `${key} ${old} → ${fresh}`;
  return `${before} → ${after}`;
}
