/** Lines of a text report laid out in a terminal's width: broken between figures, and between words where that is not enough. */
import { columnsOf, wordsOf } from "../terms/columns";

const STYLE = /\p{Cc}\[[\d;]*m/gu;

/** Columns that a text takes; colours take none. */
const widthOf = (text: string): number => columnsOf(text.replace(STYLE, ""));

/** A line that is being filled, and those that are full. */
interface Lines {
  readonly done: string[];
  now: string;
}

/** Puts a piece behind what a line has, or on the next one. */
function put(lines: Lines, gap: string, piece: string, { width, indent }: { width: number; indent: string }): void {
  if (lines.now.trim() === "") lines.now += piece;
  else if (widthOf(lines.now) + gap.length + widthOf(piece) <= width) lines.now += gap + piece;
  else {
    lines.done.push(lines.now);
    lines.now = indent + piece;
  }
}

/** Whether a line is longer than a width. */
export function isBroken(line: string, width: number | undefined): width is number {
  return width !== undefined && widthOf(line) > width;
}

/**
 * A line in lines of a width. Figures stand apart by two blanks or more and stay whole; what is longer than a line is broken
 * between words. Without a width it stays as it is.
 */
export function wrapped(line: string, width: number | undefined): string {
  if (!isBroken(line, width)) return line;
  const start = /^ */.exec(line)?.[0] ?? "";
  const room = { width, indent: `${start}  ` };
  const lines: Lines = { done: [], now: start };
  for (const [, gap = "", piece = ""] of line.slice(start.length).matchAll(/( {2,}|^)((?:[^ ]| (?! ))+)/g)) {
    const fits = widthOf(piece) + room.indent.length <= width;
    const words = fits ? [{ gap: "", word: piece }] : wordsOf(piece);
    for (const [index, word] of words.entries()) put(lines, index === 0 ? gap : word.gap, word.word, room);
  }
  return [...lines.done, lines.now].join("\n");
}
