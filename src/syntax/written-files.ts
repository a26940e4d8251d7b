/** Files that a script or a notebook writes for what it starts: here-documents and cells that are a file's text. */
import type { Placing } from "./moved";
import { notebookFiles } from "./notebook";
import { dumpedMaps } from "./python/dumped";
import type { MapNode, ParsedDocument, Span, WrittenText } from "./tree";

/** One file as it will be, at the offsets that it has in the text around it; all else there is blank. */
export interface WrittenFile {
  readonly path: string;
  readonly text: string;
  /** Where it is not blank. */
  readonly span: Span;
  /** Places of that text in the document. */
  readonly place: Placing;
  /** How text is spelled that is put into the document; absent where its text stands nowhere as it will be. */
  readonly spelled?: (text: string) => string;
  /** What it was read as, where Python makes it of a mapping. */
  readonly root?: MapNode;
}

/** What may begin such a file: it saves most documents a second look. */
const WRITES = /%%writefile|<<-?[ \t]*["'\\]?[A-Za-z_]|\bdump\(/;

/** Most text that all files of a document have together with what is blank around each. UTF-16 units. */
const MOST_TEXT = 8 * 1024 * 1024;

/** As many files as may be read of a document. */
function few<T>(files: readonly T[], { length }: string): readonly T[] {
  return files.slice(0, Math.floor(MOST_TEXT / Math.max(1, length)));
}

/**
 * Files that a document writes. Never throws.
 *
 * @param parsed what the document was read as
 */
export function writtenFiles(text: string, parsed: ParsedDocument): readonly WrittenFile[] {
  if (!WRITES.test(text)) return [];
  return [...withText(text, parsed), ...dumped(text, parsed)];
}

/** Mappings of Python: their places are the document's. */
function dumped(text: string, { python }: ParsedDocument): readonly WrittenFile[] {
  if (python === undefined) return [];
  return [...dumpedMaps(python)].map(([path, root]) => ({ path, text, span: root, place: (at) => at, root }));
}

function withText(text: string, parsed: ParsedDocument): readonly WrittenFile[] {
  if (parsed.syntax === "notebook") {
    const found = notebookFiles(text);
    const spelled = (inserted: string): string => JSON.stringify(inserted).slice(1, -1);
    const { place } = found;
    return few(found.files, found.text).map((file) => ({
      path: file.path,
      text: onlyThat(found.text, file),
      span: file,
      place,
      spelled,
    }));
  }
  const { written = [], variables } = parsed.shell ?? {};
  return few(written, text).map((file) => ({
    path: file.path,
    text: file.literal ? onlyThat(text, file) : expanded(onlyThat(text, file), variables),
    span: file,
    place: (at) => at,
    spelled: (inserted) => inserted,
  }));
}

/** A text of which only a part is left where it is; line ends stay. */
function onlyThat(text: string, { start, end }: WrittenText): string {
  const blank = (part: string): string => part.replace(/[^\r\n]/g, " ");
  return blank(text.slice(0, start)) + text.slice(start, end) + blank(text.slice(end));
}

/** Variables with their values, where these need no more room: every other character stays where it is. */
function expanded(text: string, variables: MapNode | undefined): string {
  return text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (whole: string, braced?: string, bare?: string) => {
    const value = variables?.entries.findLast(({ key }) => key === (braced ?? bare))?.value;
    const known = value?.kind === "scalar" && value.value !== null ? String(value.value) : undefined;
    return known === undefined || known.length > whole.length ? whole : known.padEnd(whole.length);
  });
}
