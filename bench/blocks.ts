/** Generated parts of documents stand between `<!-- NAME -->` and `<!-- /NAME -->`. */

/**
 * Replaces one generated part.
 *
 * @throws when the text has no such part: a figure would silently go stale
 */
export function replaceBlock(text: string, name: string, content: string): string {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [start, end] = [text.indexOf(open), text.indexOf(close)];
  if (start < 0 || end < start) throw new Error(`no ${open} … ${close} in the text`);
  return `${text.slice(0, start + open.length)}\n${content}\n${text.slice(end)}`;
}
