/**
 * What a look through a workspace may cost. Files that nobody opened are looked at to find the runs that a document takes part
 * in; however many and however large they are, the document's own answer does not wait for them.
 */

/** A document as far as looking at it costs. */
interface Scanned {
  readonly text: string;
  /** Whether it was parsed before. */
  readonly isParsed: boolean;
}

/** A larger file is passed over: configs are written by hand. UTF-16 units, or bytes. */
export const LARGEST_SCANNED = 1 << 20;
/** The same of a notebook that is asked for with its folder: pictures and sound in its outputs are most of it. */
export const LARGEST_NOTEBOOK = 8 << 20;
/** Text looked through for a name, in all: a hundredth of a second. UTF-16 units. */
const MOST_READ = 8 << 20;
/** Text parsed, in all: about half a second of Python, less of everything else. UTF-16 units. */
const MOST_PARSED = 1 << 20;

/** The budget of one look through a workspace. */
export class Scan {
  private read = 0;
  private parsed = 0;

  /** Whether the search may look through one more text. */
  reads({ text }: Pick<Scanned, "text">): boolean {
    this.read += text.length;
    return this.read <= MOST_READ;
  }

  /** Whether a document may be parsed; one that is parsed already costs nothing. */
  parses(document: Scanned): boolean {
    if (document.isParsed) return true;
    this.parsed += document.text.length;
    return this.parsed <= MOST_PARSED;
  }
}
