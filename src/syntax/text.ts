/**
 * What every parser does first: bound the size, and blank out what no grammar knows (merge-conflict markers, NUL,
 * byte-order marks) without moving a single offset.
 */

import { say } from "../words/message";
import type { LocatedNode, MapNode, Span, SyntaxProblem } from "./tree";

/** Nesting beyond this is not followed: no config is deeper, and recursion stays bounded. */
export const MAX_DEPTH = 100;

/**
 * Largest text read, in UTF-16 units: configs are far below, and larger ones would block the editor. Notebooks carry
 * images in their outputs.
 */
export const MAX_LENGTH = {
  json: 1024 * 1024,
  notebook: 32 * 1024 * 1024,
  yaml: 128 * 1024,
  other: 256 * 1024,
} as const;

export interface PreparedText {
  /** Same length as the original. */
  readonly text: string;
  readonly problems: readonly SyntaxProblem[];
  readonly tooLarge: boolean;
}

const CONFLICT = /^(?:<{7}|={7}|>{7}|\|{7})(?=[ \r\n]|$).*$/gm;

/** Replaces everything but line ends by blanks. */
export function blank(text: string): string {
  return text.replace(/[^\r\n]/g, " ");
}

/** Blanks `[start, end)` of the text. */
export function blankSpan(text: string, start: number, end: number): string {
  return text.slice(0, start) + blank(text.slice(start, end)) + text.slice(end);
}

/**
 * Prepares a text for a parser.
 * @param limit largest length in UTF-16 units; longer texts are refused with the problem `too-large`
 */
export function prepareText(original: string, limit: number): PreparedText {
  if (original.length > limit) {
    const thousands = (characters: number): number => Math.round(characters / 1024);
    const message = say("syntax.too-large", { size: thousands(original.length), limit: thousands(limit) });
    return { text: "", tooLarge: true, problems: [{ code: "too-large", message, start: 0, end: 0 }] };
  }
  const problems: SyntaxProblem[] = [];
  let text = original;
  if (text.charCodeAt(0) === 0xfeff) text = ` ${text.slice(1)}`;
  const nul = text.indexOf("\0");
  if (nul >= 0) {
    problems.push({
      code: "nul",
      message: say("syntax.nul"),
      start: nul,
      end: nul + 1,
    });
    text = text.replaceAll("\0", " ");
  }
  if (text.includes("<<<<<<<")) text = blankConflicts(text, problems);
  return { text, problems, tooLarge: false };
}

/** Keeps the first side of every merge conflict and reports each marker. */
function blankConflicts(original: string, problems: SyntaxProblem[]): string {
  let text = original;
  let dropFrom: number | null = null;
  let inside = false;
  for (const match of original.matchAll(CONFLICT)) {
    const start = match.index;
    const end = start + match[0].length;
    const mark = match[0].charAt(0);
    if (mark === "<") inside = true;
    if (!inside) continue;
    if (mark === "<" || mark === ">") {
      const message = say("syntax.merge-conflict");
      problems.push({ code: "merge-conflict", message, start, end });
    }
    if ((mark === "=" || mark === "|") && dropFrom === null) dropFrom = start;
    if (mark === ">") {
      text = blankSpan(text, dropFrom ?? start, end);
      dropFrom = null;
      inside = false;
    } else text = blankSpan(text, start, end);
  }
  return dropFrom === null ? text : blankSpan(text, dropFrom, text.length);
}

/** Whether an offset is in a span, or at one of its ends. */
export function contains({ start, end }: Span, offset: number): boolean {
  return start <= offset && offset <= end;
}

/** A map node without entries, at a place. */
export function emptyMap(at: Span): MapNode {
  return { kind: "map", entries: [], start: at.start, end: at.end };
}

/** The entry's value under a dotted path; the last of duplicate keys wins. Undefined when a step is missing. */
export function nodeAt(root: LocatedNode | null | undefined, path: string): LocatedNode | undefined {
  let node: LocatedNode | undefined = root ?? undefined;
  for (const key of path.split(".")) {
    if (node?.kind !== "map") return undefined;
    node = node.entries.findLast((entry) => entry.key === key)?.value;
  }
  return node;
}
