/**
 * Documents read through the runtime, parsed once and kept until they are invalidated. Also remembers what is absent,
 * so that looking up the tree for pins costs nothing the second time.
 */

import type { ReportEdit } from "../../core/report/schema";
import { type Recognised, recogniseFormat } from "../../formats";
import { parseDocument } from "../../formats/parse";
import type { ConfigDocument, ReadResult } from "../../formats/types";
import { isNotebook } from "../../syntax/dispatch";
import { notebookWith } from "../../syntax/notebook";
import { type GivenOptions, parsePython } from "../../syntax/python";
import type { MapNode, ParsedDocument, ShellScript, Span, SpanEdit } from "../../syntax/tree";
import { writtenFiles } from "../../syntax/written-files";
import type { Entry, FileAccess } from "../runtime";
import { type Directives, readDirectives } from "./directives";
import { LineIndex, LinesElsewhere } from "./lines";
import { LARGEST_SCANNED } from "./scan";
import { joinUri, parentOf } from "./uris";

/** Larger files are no configs. UTF-16 units. */
const LARGEST_CONFIG = 8 * 1024 * 1024;

/** Text of files that were only looked through and is kept for the next time. UTF-16 units. */
const MOST_SKIMMED = 4 * 1024 * 1024;

/** Part of an oversized text that tells what it is. UTF-16 units. */
const LONGEST_HEAD = 32 * 1024;

/** A script's text with what it imports from the workspace behind it. */
export interface ImportedCode {
  readonly text: string;
  /** The Python of a notebook's cells with the same behind it, and where that begins there. */
  readonly cells?: { readonly text: string; readonly from: number };
  /** Where what was imported begins: it runs first. */
  readonly from: number;
  /** Where the text of each file begins. */
  readonly behind: readonly { readonly document: LoadedDocument; readonly from: number }[];
  /** Files that were asked for. */
  readonly dependencies: ReadonlySet<string>;
}

/** The document that has the text of a file which it writes. */
export interface Writer {
  readonly document: LoadedDocument;
  readonly lines: LineIndex;
  /** Which part of the text the document writes: all else there is blank. */
  readonly span: Span;
  /** How text is spelled that is put there; absent where none can be. */
  readonly spelled?: (text: string) => string;
}

/** A document with everything that can be said of it alone; computed when first asked for. */
export class LoadedDocument {
  readonly lines: LineIndex;
  /** How its commands are read, where other scripts set what they need. */
  reading: ((text: string) => ShellScript) | undefined;
  /** What it imports from the workspace: it is recognised and read together with that. */
  code: ImportedCode | undefined;
  private parsedDocument: ConfigDocument | undefined | null = null;
  private recognisedFormat: Recognised | undefined | null = null;
  private parsedWhole: ConfigDocument | undefined;
  private writtenDocuments: readonly LoadedDocument[] | undefined;
  private readResult: ReadResult | undefined;
  private directiveComments: Directives | undefined;

  /**
   * @param part what of the text is read, when it is only a part (one command of a script), the part's name and place
   * @param told its format, where a command that starts a program on it decides that
   * @param writer the document that it is written by, and has its text
   */
  constructor(
    readonly uri: string,
    readonly text: string,
    readonly part?: { readonly config: ConfigDocument; readonly name: string; readonly index: number },
    readonly told?: Recognised,
    readonly writer?: Writer,
  ) {
    this.lines = writer?.lines ?? new LineIndex(text);
    if (part !== undefined) this.parsedDocument = part.config;
    if (told !== undefined) this.recognisedFormat = told;
  }

  /** The file that has its text. */
  get file(): string {
    return this.writer?.document.file ?? this.uri;
  }

  /** Whether its text can be changed so: lines of a cell are texts of their own, which no change joins. */
  takes(edits: readonly Span[]): boolean {
    if (this.writer === undefined) return true;
    return (
      this.writer.spelled !== undefined && edits.every(({ start, end }) => !this.text.slice(start, end).includes("\n"))
    );
  }

  /** Files that it writes, where they are put when it runs in its own folder. */
  get written(): readonly LoadedDocument[] {
    this.writtenDocuments ??= writtenBy(this);
    return this.writtenDocuments;
  }

  /** A change of its text, in the file that has it. */
  edit(edit: SpanEdit): ReportEdit {
    return {
      uri: this.file,
      range: this.lines.range(edit),
      newText: this.writer?.spelled?.(edit.newText) ?? edit.newText,
    };
  }

  /** The same document, which is made of a mapping. */
  readMapping(root: MapNode): LoadedDocument {
    const { uri, text } = this;
    return this.copy({ uri, text, languageId: "json", parsed: { root, problems: [], syntax: "json" } });
  }

  /** The same text, read as the program does that is started on it. */
  readAs(told: Recognised): LoadedDocument {
    return this.copy(this.parsedDocument, told);
  }

  /** The same text with the commands that it has where other scripts set variables or arguments for it. */
  withShell(read: (text: string) => ShellScript): LoadedDocument {
    const { config, text } = this;
    const document = this.copy(config && { ...config, parsed: { ...config.parsed, shell: read(text) } });
    document.reading = read;
    return document;
  }

  /** The same text together with what it imports. */
  withCode(code: ImportedCode): LoadedDocument {
    const document = this.copy(this.parsedDocument);
    document.code = code;
    return document;
  }

  /** @param parsed what the text is read as; null: that is found out when it is asked for */
  private copy(parsed: ConfigDocument | undefined | null, told = this.told): LoadedDocument {
    const document = new LoadedDocument(this.uri, this.text, this.part, told, this.writer);
    document.parsedDocument = parsed;
    return document;
  }

  /** The config as it is with the code that it imports. */
  get whole(): ConfigDocument | undefined {
    const { config, code } = this;
    if (config === undefined || code === undefined || code.behind.length === 0) return config;
    this.parsedWhole ??= { ...config, parsed: { ...config.parsed, ...this.readGiven() } };
    return this.parsedWhole;
  }

  /** Its Python together with what it imports, where values of its options are known. */
  readGiven(known?: GivenOptions): ParsedDocument {
    const { text, code, config } = this;
    return isNotebook(config?.parsed.syntax)
      ? notebookWith(text, known ?? new Map(), code?.cells?.text, code?.cells?.from)
      : parsePython(code?.text ?? text, known, code?.from);
  }

  /** This text, read in the way that another version of it was. */
  readLike({ told, reading }: LoadedDocument): LoadedDocument {
    const settled = told === undefined ? this : this.readAs(told);
    return reading === undefined ? settled : settled.withShell(reading);
  }

  /** undefined when the file's name says that it is no config. */
  get config(): ConfigDocument | undefined {
    if (this.parsedDocument === null) {
      this.parsedDocument = this.text.length > LARGEST_CONFIG ? undefined : parseDocument(this.uri, this.text);
    }
    return this.parsedDocument;
  }

  get isParsed(): boolean {
    return this.parsedDocument !== null;
  }

  get recognised(): Recognised | undefined {
    if (this.recognisedFormat === null) {
      this.recognisedFormat = this.whole === undefined ? undefined : recogniseFormat(this.whole);
    }
    return this.recognisedFormat;
  }

  /** What a text that is too long to be read starts like; undefined for texts that are read. */
  get beginning(): Recognised | undefined {
    if (this.config?.parsed.problems.every(({ code }) => code !== "too-large") !== false) return undefined;
    const head = this.text.slice(0, this.text.lastIndexOf("\n", LONGEST_HEAD) + 1);
    const config = parseDocument(this.uri, head);
    return config === undefined ? undefined : recogniseFormat(config);
  }

  /** Settings, links and problems as the recognised format reads them. */
  get read(): ReadResult {
    this.readResult ??=
      this.whole === undefined || this.recognised === undefined
        ? { settings: [], links: [], problems: [] }
        : withinText(this.recognised.format.read(this.whole), this.text);
    return this.readResult;
  }

  get directives(): Directives {
    this.directiveComments ??= readDirectives(this.text, isNotebook(this.config?.languageId));
    return this.directiveComments;
  }
}

/** What is wrong in imported code is said where that is open. */
function withinText(read: ReadResult, { length }: string): ReadResult {
  const problems = read.problems.filter(({ end }) => end <= length);
  return problems.length === read.problems.length ? read : { ...read, problems };
}

function writtenBy(document: LoadedDocument): readonly LoadedDocument[] {
  const { uri, text, lines, config } = document;
  const files = config === undefined ? [] : writtenFiles(text, config.parsed);
  return files.map(({ path, text: own, span, place, spelled, root }) => {
    const at = joinUri(parentOf(uri), path);
    const there = new LinesElsewhere(lines, place, own.length);
    const writer = { document, lines: there, span, ...(spelled === undefined ? {} : { spelled }) };
    const written = new LoadedDocument(at, own, undefined, undefined, writer);
    return root === undefined ? written : written.readMapping(root);
  });
}

export class DocumentStore {
  private readonly documents = new Map<string, Promise<LoadedDocument | undefined>>();
  /** Files that were only looked through, the one used last at the end, and how much text they have. */
  private readonly skimmed = new Map<string, LoadedDocument>();
  private skimmedLength = 0;
  private readonly folders = new Map<string, Promise<readonly Entry[]>>();

  /** @param below where documents and listings come from that this store does not have */
  constructor(
    private readonly files: FileAccess,
    private readonly below?: DocumentStore,
  ) {}

  /** This store with files that documents write, which stand before those that are there: they are written anew when it runs. */
  withWritten(writers: readonly LoadedDocument[]): DocumentStore {
    const written = writers.flatMap((writer) => writer.written);
    return written.length === 0 ? this : this.withDocuments(written);
  }

  /** This store with other documents in some places; everything else is shared with it. */
  withDocuments(documents: readonly LoadedDocument[]): DocumentStore {
    const above = new DocumentStore(this.files, this);
    for (const document of documents) above.documents.set(document.uri, Promise.resolve(document));
    return above;
  }

  load(uri: string): Promise<LoadedDocument | undefined> {
    let found = this.documents.get(uri);
    if (found === undefined) {
      if (this.below !== undefined) return this.below.load(uri);
      const known = this.dropSkimmed(uri);
      found =
        known !== undefined
          ? Promise.resolve(known)
          : this.files.readText(uri).then(
              (text) => (text === undefined ? undefined : new LoadedDocument(uri, text)),
              () => undefined,
            );
      this.documents.set(uri, found);
    }
    return found;
  }

  /** As `load`, for files that may have nothing to do with a run: large ones are left out, and not all are kept. */
  async skim(uri: string, largest = LARGEST_SCANNED): Promise<LoadedDocument | undefined> {
    const loaded = this.documents.get(uri);
    if (loaded !== undefined) return loaded;
    if (this.below !== undefined) return this.below.skim(uri, largest);
    let document = this.dropSkimmed(uri);
    if (document === undefined) {
      const stat = await this.files.stat(uri).catch(() => undefined);
      if (stat === undefined || stat.size > largest) return undefined;
      const text = await this.files.readText(uri).catch(() => undefined);
      document = text === undefined ? undefined : new LoadedDocument(uri, text);
    }
    if (document === undefined) return undefined;
    // Another search may have come by meanwhile.
    this.dropSkimmed(uri);
    this.skimmed.set(uri, document);
    this.skimmedLength += document.text.length;
    for (const oldest of this.skimmed.keys()) {
      if (this.skimmedLength <= MOST_SKIMMED) break;
      this.dropSkimmed(oldest);
    }
    return document;
  }

  private dropSkimmed(uri: string): LoadedDocument | undefined {
    const found = this.skimmed.get(uri);
    this.skimmed.delete(uri);
    this.skimmedLength -= found?.text.length ?? 0;
    return found;
  }

  list(uri: string): Promise<readonly Entry[]> {
    let found = this.folders.get(uri);
    if (found === undefined) {
      if (this.below !== undefined) return this.below.list(uri);
      found = this.files.list(uri).catch(() => []);
      this.folders.set(uri, found);
      // A folder that is not there is asked for again: nobody watches it, so that nobody would say that it has come.
      void found.then((entries) => entries.length === 0 && this.folders.delete(uri));
    }
    return found;
  }

  /** Forgets a document and the listing of the folder it is in. */
  invalidate(uri: string, folder: string): void {
    this.documents.delete(uri);
    this.dropSkimmed(uri);
    this.folders.delete(folder);
    this.folders.delete(uri);
  }
}
