/**
 * Notebooks that the client syncs cell by cell (LSP 3.17): the code cells of one are a single document for the
 * analysis, written as the `.ipynb` text it reads from disk, and every place is translated between that text and the
 * cells. A cell's line is a line of the text: only columns move, by what JSON escapes.
 */
import { type Connection, NotebookCellKind, NotebookDocuments } from "vscode-languageserver";
import { type Position, TextDocument } from "vscode-languageserver-textdocument";
import type { ServedAnalysis } from "../analysis/analyzer";
import type { Range, ReportEdit } from "../core/report/schema";
import type { OpenText } from "./files";
import { normalise } from "./openDocuments";

/** What is synced: the Python cells of Jupyter notebooks. */
export const NOTEBOOK_SYNC = {
  notebookSelector: [{ notebook: { notebookType: "jupyter-notebook" }, cells: [{ language: "python" }] }],
};

/** Lines of the text before the first cell, and between a cell's last line and the next cell's first. */
const HEAD = '{"cells": [';
const CELL_HEAD = '{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null, "source": [';
const TAIL = '], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}';

/** A cell and the first of its lines in the notebook's text. */
interface PlacedCell {
  readonly document: TextDocument;
  readonly lines: readonly string[];
  readonly firstLine: number;
}

/** A notebook written as one text. */
class NotebookText implements OpenText {
  readonly cells: readonly PlacedCell[];
  private readonly text: string;

  constructor(
    readonly uri: string,
    readonly version: number,
    documents: readonly TextDocument[],
  ) {
    const written = [HEAD];
    this.cells = documents.map((document, index): PlacedCell => {
      const lines = linesOf(document.getText());
      written.push(CELL_HEAD);
      const firstLine = written.length;
      lines.forEach((line, at) => {
        written.push(`"${escaped(line)}"${at < lines.length - 1 ? "," : ""}`);
      });
      written.push(index < documents.length - 1 ? "]}," : "]}");
      return { document, lines, firstLine };
    });
    this.text = [...written, TAIL].join("\n");
  }

  getText(): string {
    return this.text;
  }

  /** Place in the notebook's text of a place in a cell. */
  outer(cellUri: string, { line, character }: Position): Position {
    const cell = this.cells.find(({ document }) => document.uri === cellUri);
    if (cell === undefined) return { line: 0, character: 0 };
    const at = Math.min(Math.max(0, line), cell.lines.length - 1);
    return { line: cell.firstLine + at, character: 1 + escaped((cell.lines[at] ?? "").slice(0, character)).length };
  }

  /** Cell and place in it of a place in the notebook's text; undefined between the cells. */
  inner({ line, character }: Position): { readonly uri: string; readonly position: Position } | undefined {
    const cell = this.cells.findLast(({ firstLine }) => firstLine <= line);
    const text = cell?.lines[line - cell.firstLine];
    if (cell === undefined || text === undefined) return undefined;
    let column = 0;
    for (let outer = 1; column < text.length; column++) {
      outer += escaped(text.charAt(column)).length;
      if (outer > character) break;
    }
    return { uri: cell.document.uri, position: { line: line - cell.firstLine, character: column } };
  }

  /** A range of the notebook's text in its cell. */
  innerRange({ start, end }: Range): { readonly uri: string; readonly range: Range } | undefined {
    const from = this.inner(start);
    const to = this.inner(end);
    if (from === undefined) return undefined;
    const last = to?.uri === from.uri ? to.position : from.position;
    return { uri: from.uri, range: { start: from.position, end: last } };
  }

  /** Edits of the notebook's text as edits of its cells; none when the notebook would break. */
  innerEdits(edits: readonly ReportEdit[]): ReportEdit[] {
    const within = edits.map((edit) => this.innerEdit(edit));
    if (within.every((edit) => edit !== undefined)) return within;
    const outer = TextDocument.create(this.uri, "json", this.version, this.text);
    const sources = sourcesOf(TextDocument.applyEdits(outer, [...edits]));
    if (sources?.length !== this.cells.length) return [];
    return this.cells.flatMap(({ document }, index) => difference(document, sources[index] ?? ""));
  }

  /** An edit inside one line of a cell; undefined when it reaches over the JSON around the line. */
  private innerEdit({ range, newText }: ReportEdit): ReportEdit | undefined {
    const place = this.innerRange(range);
    const inLine = range.start.line === range.end.line && range.start.character > 0;
    const text = unescaped(newText);
    if (place === undefined || !inLine || (text === newText && newText.includes('"'))) return undefined;
    return { ...place, newText: text };
  }
}

/** The notebooks the client has open. */
export class Notebooks {
  private readonly notebooks = new NotebookDocuments(TextDocument);
  private readonly texts = new Map<string, NotebookText>();
  /** The client's spelling of open notebooks, by normalised URI. */
  private readonly open = new Map<string, string>();
  private versions = 0;

  /** Starts syncing. `opened`, `changed` and `closed` get the notebook's URI; a closed one also its cells'. */
  listen(
    connection: Connection,
    changed: (uri: string) => void,
    closed: (uri: string, cells: readonly string[]) => void,
  ): void {
    const forget = (uri: string) => this.texts.delete(normalise(uri));
    this.notebooks.onDidOpen(({ uri }) => {
      this.open.set(normalise(uri), uri);
      forget(uri);
      changed(uri);
    });
    this.notebooks.onDidChange(({ notebookDocument }) => {
      forget(notebookDocument.uri);
      changed(notebookDocument.uri);
    });
    this.notebooks.onDidClose(({ uri, cells }) => {
      forget(uri);
      this.open.delete(normalise(uri));
      closed(
        uri,
        cells.map(({ document }) => document),
      );
    });
    this.notebooks.listen(connection);
  }

  /** Notebooks as the editor spells them. */
  uris(): readonly string[] {
    return [...this.open.values()];
  }

  /** The notebook of a cell. */
  of(cellUri: string): NotebookText | undefined {
    const notebook = this.notebooks.findNotebookDocumentForCell(cellUri);
    return notebook === undefined ? undefined : this.get(notebook.uri);
  }

  /** An open notebook, by any spelling of its URI. */
  get(uri: string): NotebookText | undefined {
    const key = normalise(uri);
    const known = this.texts.get(key);
    if (known !== undefined) return known;
    const notebook = this.notebooks.getNotebookDocument(this.open.get(key) ?? uri);
    if (notebook === undefined) return undefined;
    const documents = notebook.cells
      .filter(({ kind }) => kind === NotebookCellKind.Code)
      .flatMap((cell) => this.notebooks.getCellTextDocument(cell) ?? [])
      .filter(({ languageId }) => languageId === "python");
    this.versions += 1;
    const text = new NotebookText(notebook.uri, this.versions, documents);
    this.texts.set(key, text);
    return text;
  }

  /** A cell's document. */
  cell(uri: string): TextDocument | undefined {
    return this.notebooks.cellTextDocuments.get(uri);
  }

  /** Plain data with every place in an open notebook (`{uri, range}`) moved into its cell. */
  inCells<T>(value: T): T {
    return this.open.size === 0 ? value : (this.moved(value) as T);
  }

  /** Edits with those of open notebooks made edits of their cells. */
  editsInCells(edits: readonly ReportEdit[]): readonly ReportEdit[] {
    if (this.open.size === 0) return edits;
    const own = edits.filter(({ uri }) => this.get(uri) === undefined);
    const notebooks = new Set(edits.flatMap(({ uri }) => this.get(uri) ?? []));
    const within = [...notebooks].flatMap((notebook) =>
      notebook.innerEdits(edits.filter(({ uri }) => this.get(uri) === notebook)),
    );
    return [...own, ...within];
  }

  private moved(value: unknown): unknown {
    if (Array.isArray(value)) {
      return value.every(isEdit) ? this.editsInCells(value) : value.map((item) => this.moved(item));
    }
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(([key, item]) => [key, this.moved(item)]);
    const result = Object.fromEntries(entries) as Record<string, unknown>;
    const { uri, range } = result;
    const notebook = typeof uri === "string" && isRange(range) ? this.get(uri) : undefined;
    const place = notebook === undefined || !isRange(range) ? undefined : notebook.innerRange(range);
    return place === undefined ? result : { ...result, ...place };
  }
}

/** The analysis of a notebook as one of its cells sees it. */
export function cellAnalysis(
  analysis: ServedAnalysis,
  notebook: NotebookText,
  cell: string,
  notebooks: Notebooks,
): ServedAnalysis {
  const report = notebooks.inCells(analysis.report);
  const here = (range: Range): Range | undefined => {
    const place = notebook.innerRange(range);
    return place?.uri === cell ? place.range : undefined;
  };
  return {
    ...{ uri: cell, recognition: analysis.recognition, dependencies: analysis.dependencies },
    report,
    runs: notebooks.inCells(analysis.runs),
    hover: async (line, character) => {
      const at = notebook.outer(cell, { line, character });
      const found = await analysis.hover(at.line, at.character);
      const range = found === null ? undefined : here(found.range);
      return found === null || range === undefined ? null : { ...found, range };
    },
    complete: async (line, character) => {
      const at = notebook.outer(cell, { line, character });
      return ((await analysis.complete?.(at.line, at.character)) ?? []).flatMap((item) => {
        const range = here(item.range);
        return range === undefined ? [] : [{ ...item, range, insertText: unescaped(item.insertText) }];
      });
    },
    fixes: async ({ start, end }) =>
      (await analysis.fixes({ start: notebook.outer(cell, start), end: notebook.outer(cell, end) }))
        .map((fix) => ({ ...fix, edits: notebooks.editsInCells(fix.edits) }))
        .filter((fix) => fix.edits.length > 0),
    links: async () =>
      (await analysis.links()).flatMap((link) => {
        const range = here(link.range);
        return range === undefined ? [] : [{ ...link, range }];
      }),
    whatIf: (runId, set) => analysis.whatIf(runId, set),
    whatIfEdits: (runId, set) => analysis.whatIfEdits(runId, set),
  };
}

/** Lines with their ends; a text that ends with a line break has an empty last line. */
function linesOf(text: string): string[] {
  return text.split(/(?<=\r\n|\n|\r(?!\n))/).concat(/[\r\n]$/.test(text) ? [""] : []);
}

/** As between the quotes of a JSON text: only what must be escaped is. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function unescaped(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}

function sourcesOf(text: string): string[] | undefined {
  try {
    const { cells } = JSON.parse(text) as { cells: { source: string[] }[] };
    return cells.map(({ source }) => source.join(""));
  } catch {
    return undefined;
  }
}

/** The one replacement that turns a cell into `after`; none when it is the same. */
function difference(document: TextDocument, after: string): ReportEdit[] {
  const before = document.getText();
  if (before === after) return [];
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const range = { start: document.positionAt(head), end: document.positionAt(before.length - tail) };
  return [{ uri: document.uri, range, newText: after.slice(head, after.length - tail) }];
}

function isRange(value: unknown): value is Range {
  return typeof value === "object" && value !== null && "start" in value && "end" in value;
}

function isEdit(value: unknown): value is ReportEdit {
  return typeof value === "object" && value !== null && "uri" in value && "range" in value && "newText" in value;
}
