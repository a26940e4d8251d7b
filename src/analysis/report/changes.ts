/** Edits as the lines they change, for a person to read: in full before applying them, in short beside a title or after. */
import { diffArrays } from "diff";
import { withEdits } from "../../core/report/apply";
import type { ReportEdit } from "../../core/report/schema";
import { isNotebook, syntaxOf } from "../../syntax/dispatch";
import { notebookCode } from "../../syntax/notebook";
import { type Locale, t } from "../messages";

/** One changed stretch of a document: zero-based first line, lines before and after. */
export interface Change {
  readonly line: number;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Stretches of lines that differ between two texts. */
export function changedLines(before: string, after: string): readonly Change[] {
  return changed(before.split(/\r?\n/), after.split(/\r?\n/));
}

/** Differences that are looked for; texts that have more are said to differ as a whole. */
const MAX_DIFFERENCES = 2_000;

function changed(before: readonly string[], after: readonly string[]): readonly Change[] {
  const parts = diffArrays([...before], [...after], { maxEditLength: MAX_DIFFERENCES });
  if (parts === undefined) return [{ line: 0, before, after }];
  const changes: Change[] = [];
  let open: { line: number; before: readonly string[]; after: readonly string[] } | undefined;
  let line = 0;
  for (const { added, removed, value } of parts) {
    if (!added && !removed) open = undefined;
    else if (open === undefined) {
      open = { line, before: removed ? value : [], after: added ? value : [] };
      changes.push(open);
    } else if (added) open.after = value;
    else open.before = value;
    if (!added) line += value.length;
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
    return changedLines(readable(uri, before), readable(uri, after)).flatMap((change) => lineChanges(change, locale));
  });
  return parts.filter((part) => part !== "").join(t(locale, "change.and"));
}

/** The text a person reads: of a notebook its code, not the JSON around each line. */
function readable(uri: string, text: string): string {
  return isNotebook(syntaxOf(uri) ?? undefined) ? (notebookCode(text, 0)?.text ?? text) : text;
}

/** What became of each line of a stretch: a line that states the same key, or none like it, is its successor. */
function lineChanges({ before, after }: Change, locale: Locale, depth = 0): readonly string[] {
  const left = before.map(tidy).filter(Boolean);
  const successors: string[] = [];
  const added: string[] = [];
  for (const line of after.map(tidy).filter(Boolean)) {
    const at = left.findIndex((old) => keyOf(old) === keyOf(line));
    if (at < 0) added.push(t(locale, "change.add", { line }));
    else successors.push(...left.splice(at, 1).flatMap((old) => replaced(old, line, locale, depth)));
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

/** Calls inside calls whose arguments are told apart; deeper ones are said in full. */
const DEEPEST = 8;

/** `key: 8` and `key: 2` as `key 8 → 2`; of many arguments or options those that differ; anything else in full. */
function replaced(before: string, after: string, locale: Locale, depth: number): readonly string[] {
  if (before === after) return [];
  const changes = depth < DEEPEST ? changed(partsOf(before), partsOf(after)) : [];
  const isShorter = changes.some((change) => !change.before.includes(before) || !change.after.includes(after));
  const parts = changes.flatMap((change) => [...change.before, ...change.after]);
  if (isShorter && parts.every((part) => keyOf(part) !== undefined))
    return changes.flatMap((change) => lineChanges(change, locale, depth + 1));
  const [, key, old] = KEY_AND_VALUE.exec(before) ?? FLAG_AND_VALUE.exec(before) ?? [];
  const [, newKey, fresh] = KEY_AND_VALUE.exec(after) ?? FLAG_AND_VALUE.exec(after) ?? [];
  if (key !== undefined && key === newKey && old !== undefined && fresh !== undefined)
    return [`${key} ${old} → ${fresh}`];
  return [`${before} → ${after}`];
}

const OPENING = "([{";
const CLOSING = ")]}";

/** What a line states one by one, where it does: arguments of a call, entries of a map, options of a command. */
function partsOf(line: string): readonly string[] {
  const cuts = [0];
  let quote = "";
  let depth = 0;
  for (let at = 0; at < line.length; at++) {
    const sign = line.charAt(at);
    if (quote !== "") {
      if (sign === "\\") at++;
      else if (sign === quote) quote = "";
    } else if (sign === '"' || sign === "'") quote = sign;
    else if (OPENING.includes(sign)) {
      if (depth === 0) cuts.push(at + 1);
      depth++;
    } else if (CLOSING.includes(sign)) {
      depth = Math.max(0, depth - 1);
      if (depth === 0) cuts.push(at);
    } else if (sign === "," && depth === 1) cuts.push(at + 1);
    else if (depth === 0 && /^\s-{1,2}[A-Za-z]/.test(line.slice(at, at + 4))) cuts.push(at);
  }
  return cuts.map((from, index) => tidy(line.slice(from, cuts[index + 1])));
}
