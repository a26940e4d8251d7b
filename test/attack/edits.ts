/** What must hold of the edits of plans, stages and fixes, whatever the text they are made in looks like. */
import { TextDocument } from "vscode-languageserver-textdocument";
import { createAnalyzer } from "../../src/analysis";
import type { ReportEdit } from "../../src/core/report/schema";
import { parseDocument } from "../../src/formats/parse";
import { memoryRuntime, ROOT, uri } from "../analysis/memory-runtime";
import { edited, type Files, promisesOf } from "../analysis/promises";

/** The same text as other editors and systems write it. */
export const SPELLINGS: Readonly<Record<string, (text: string, path: string) => string>> = {
  "as it is": (text) => text,
  "line ends of Windows": (text) => text.replaceAll("\n", "\r\n"),
  "a byte order mark": (text) => `\ufeff${text}`,
  "no last line end": (text) => text.replace(/\n+$/, ""),
  "a comment on every line": (text, path) =>
    /\.(?:ya?ml|py)$/.test(path) ? text.replace(/(?<=[\w"'\]])[ \t]*$/gm, "  # kept: äöü 🙂") : text,
  "blank lines at both ends": (text) => {
    const blank = (text.includes("\r\n") ? "\r\n" : "\n").repeat(2);
    return `${blank}${text}${blank}`;
  },
};

/** Lines of a text that none of the edits of its document touches. */
function untouched(text: string, edits: readonly ReportEdit[]): readonly string[] {
  const touched = new Set<number>();
  for (const { range } of edits) for (let line = range.start.line; line <= range.end.line; line++) touched.add(line);
  return text.split("\n").filter((_, line) => !touched.has(line));
}

/** Whether `lines` stand in `text` in this order. */
function inOrder(lines: readonly string[], text: string): boolean {
  const there = text.split("\n");
  let at = 0;
  for (const line of lines) {
    at = there.indexOf(line, at);
    if (at < 0) return false;
    at++;
  }
  return true;
}

/**
 * Whether edits are made and taken back as an editor does it: places are in the text and apart, the text becomes what we say it
 * becomes, and undoing gives the same bytes.
 */
function faultsOfUndo(at: string, before: string, now: string, edits: readonly ReportEdit[]): readonly string[] {
  const document = TextDocument.create(at, "plaintext", 1, before);
  const spans = edits
    .map(({ range, newText }) => ({
      start: document.offsetAt(range.start),
      end: document.offsetAt(range.end),
      newText,
    }))
    .sort((a, b) => a.start - b.start || a.end - b.end);
  if (TextDocument.applyEdits(document, [...edits]) !== now) return ["an editor makes another text of it"];
  if (spans.some(({ start }, k) => start < (spans[k - 1]?.end ?? 0))) return ["places of edits overlap"];
  const splits = (offset: number): boolean =>
    /^[\ud800-\udbff][\udc00-\udfff]|^\r\n/.test(before.slice(offset - 1, offset + 1));
  if (spans.some(({ start, end }) => splits(start) || splits(end))) return ["a sign is cut in two"];
  const changed = TextDocument.create(at, "plaintext", 2, now);
  let shift = 0;
  const back = spans.map(({ start, end, newText }) => {
    const from = start + shift;
    shift += newText.length - (end - start);
    const range = { start: changed.positionAt(from), end: changed.positionAt(from + newText.length) };
    return { range, newText: before.slice(start, end) };
  });
  return TextDocument.applyEdits(changed, back) === before ? [] : ["undone, the text is another"];
}

function problemsOf(at: string, text: string): number {
  return parseDocument(at, text)?.parsed.problems.length ?? 0;
}

/**
 * What is wrong with what an analysis offers to write: lines that no edit names stay as they are, the files are read as they
 * were, line ends and marks are kept, and plans come to what they promise.
 */
export async function faultsOfEdits(
  files: Files,
  main: string,
  device: string,
): Promise<{ readonly tried: number; readonly faults: readonly string[] }> {
  const faults: string[] = [];
  let tried = 0;
  const options = { device, reserve: 0.1 };
  const analyse = (texts: Files, search: boolean) =>
    createAnalyzer(memoryRuntime(texts)).analyse(uri(main), { ...options, plans: search, guide: search });
  const analysis = await analyse(files, true);
  const offers = analysis.runs.slice(0, 1).flatMap((run) => promisesOf(run));
  for (const { what, edits, usedPeakBytes } of offers) {
    tried++;
    const after = edited(files, edits);
    for (const at of new Set(edits.map((edit) => edit.uri))) {
      const path = decodeURIComponent(at.slice(ROOT.length + 1));
      const [before = "", now = ""] = [files[path], after[path]];
      const own = edits.filter((edit) => edit.uri === at);
      if (!inOrder(untouched(before, own), now))
        faults.push(`${what}: lines of ${path} that no edit names are not the same`);
      for (const fault of faultsOfUndo(at, before, now, own)) faults.push(`${what}: ${path}: ${fault}`);
      if (problemsOf(at, now) > problemsOf(at, before)) faults.push(`${what}: ${path} is not read any more`);
      if (before.includes("\r\n") && /(?<!\r)\n/.test(now)) faults.push(`${what}: ${path} has two kinds of line ends`);
      if (before.startsWith("\ufeff") !== now.startsWith("\ufeff")) faults.push(`${what}: the mark of ${path} is gone`);
    }
    const run = (await analyse(after, false)).runs[0];
    if (run?.perDevice?.usedPeakBytes !== usedPeakBytes)
      faults.push(`${what}: ${run?.perDevice?.usedPeakBytes} instead of ${usedPeakBytes}`);
  }
  return { tried, faults };
}
