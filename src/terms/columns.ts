/** How wide a text is where every letter has a column, and where its lines may be broken. */

/** What takes two columns. */
const WIDE = /[\p{Script=Han}\u3000-\u303f\uff01-\uff60]/gu;

/** Between words, not between a number and its unit; Chinese has no blanks, and none of its lines begins with a mark. */
const WORDS = / (?!GiB|%)|(?<=[\p{Script=Han}，。；：、）])(?=[^，。；：、） ])/u;

export function columnsOf(text: string): number {
  return text.length + (text.match(WIDE)?.length ?? 0);
}

/** A word, and the blank or nothing that stands before it. */
export interface Word {
  readonly gap: string;
  readonly word: string;
}

export function wordsOf(text: string): readonly Word[] {
  let at = 0;
  return text.split(WORDS).map((word, index) => {
    const gap = index > 0 && text[at] === " " ? " " : "";
    at += gap.length + word.length;
    return { gap, word };
  });
}
