/** Markdown broken to short lines, where a hover has no room to be wide: in a notebook, which cuts it off at its own edge. */
import { columnsOf, wordsOf } from "../terms/columns";

/** Columns that are about as wide as a hover's picture. */
const WIDTH = 62;

/** What is seen of Markdown: marks and targets of links take no room. */
function seen(markdown: string): string {
  return markdown
    .split("](")
    .map((part, index) => (index === 0 ? part : part.slice(part.indexOf(")") + 1)))
    .join("")
    .replace(/[*`[\\]/g, "");
}

/** Whether a piece ends within code or within a link. */
function isOpen(piece: string): boolean {
  const link = piece.lastIndexOf("](");
  return (
    piece.split("`").length % 2 === 0 || piece.lastIndexOf("[") > link || (link >= 0 && !piece.includes(")", link))
  );
}

/** One paragraph; code and links stay whole. */
function brokenLine(line: string): string {
  const lines: string[] = [];
  let now = "";
  let open = { gap: "", word: "" };
  for (const { gap, word } of wordsOf(line)) {
    open = open.word === "" ? { gap, word } : { gap: open.gap, word: open.word + gap + word };
    if (isOpen(open.word)) continue;
    if (now !== "" && columnsOf(seen(now + open.gap + open.word)) > WIDTH) {
      lines.push(now);
      now = open.word;
    } else now += open.gap + open.word;
    open = { gap: "", word: "" };
  }
  return [...lines, now + open.gap + open.word].join("  \n");
}

/** All paragraphs of a text that has no tables and no pictures. */
export function inShortLines(markdown: string): string {
  return markdown.split("\n").map(brokenLine).join("\n");
}
