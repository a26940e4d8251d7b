/** Current analyses of open documents: at once, when their typing has settled, or when they are left alone. */
import type { ServedAnalysis } from "../analysis/analyzer";
import type { Cancellation } from "./analyses";
import { schemeOf } from "./files";
import { cellAnalysis, type Notebooks } from "./notebooks";
import { normalise, type OpenDocuments } from "./openDocuments";
import type { QuietTimes } from "./quiet";
import type { Session } from "./session";
import { mainRun } from "./status";

/** Schemes of documents that only mirror others: diff sides, cells of notebooks that are not synced, output. */
const IGNORED_SCHEMES: ReadonlySet<string> = new Set([
  "git",
  "vscode-notebook-cell",
  "output",
  "vscode-scm",
  "review",
  "pr",
]);

export class Current {
  constructor(
    private readonly session: Session,
    private readonly open: OpenDocuments,
    private readonly notebooks: Notebooks,
    private readonly quietTimes: QuietTimes,
  ) {}

  /** The current analysis of a document whatever its settings; undefined when cancelled. */
  async analysis(uri: string, plans: boolean, token: Cancellation): Promise<ServedAnalysis | undefined> {
    return this.session.analyses?.get(normalise(this.owner(uri)), plans, token);
  }

  /** The document that is analysed for a URI: the notebook of a cell, else itself. */
  owner(uri: string): string {
    return this.notebooks.of(uri)?.uri ?? uri;
  }

  /** Whether the lens of a notebook belongs to this cell: the first that states something. Other documents have one. */
  isLensCell(uri: string, { runs }: ServedAnalysis): boolean {
    const cells = this.notebooks.of(uri)?.cells.map(({ document }) => document.uri);
    const stating = mainRun(runs)?.settings.map((setting) => setting.uri) ?? [];
    return cells === undefined || cells.find((cell) => stating.includes(cell)) === uri;
  }

  /** Version of an open document or cell. */
  versionOf(uri: string): number | undefined {
    return (this.open.get(uri) ?? this.notebooks.cell(uri))?.version;
  }

  /** The current analysis of an open, enabled, recognised document; undefined otherwise. */
  async get(uri: string, plans: boolean, token: Cancellation): Promise<ServedAnalysis | undefined> {
    const notebook = this.notebooks.of(uri);
    const owner = notebook?.uri ?? uri;
    if (IGNORED_SCHEMES.has(schemeOf(owner)) || !(await this.session.settings.get(owner)).enable) return undefined;
    const analysis = (await this.isRelevant(owner)) ? await this.analysis(owner, plans, token) : undefined;
    // The cells may have changed meanwhile: places are those of the text that was analysed, or none.
    if (notebook === undefined || analysis === undefined) return analysis;
    return this.notebooks.of(uri) === notebook ? cellAnalysis(analysis, notebook, uri, this.notebooks) : undefined;
  }

  /** As {@link get}, once the document was left alone for the quiet time: for what editors ask on every change. */
  async settled(uri: string, plans: boolean, token: Cancellation): Promise<ServedAnalysis | undefined> {
    await this.quietTimes.quiet(this.owner(uri));
    return this.get(uri, plans, token);
  }

  /**
   * Waits until an open document was left alone for longer than the quiet time. The search for plans is long enough to
   * be felt by who goes on typing.
   *
   * @returns false when cancelled
   */
  async idle(uri: string, token: Cancellation): Promise<boolean> {
    const owner = this.owner(uri);
    const version = () => this.open.get(owner)?.version;
    while (!token.isCancellationRequested) {
      const before = version();
      if (before === undefined) return true;
      await this.quietTimes.quiet(owner);
      await this.quietTimes.pause();
      if (version() === before) return !token.isCancellationRequested;
    }
    return false;
  }

  /** Whether an open document is worth analysing. */
  async isRelevant(uri: string): Promise<boolean> {
    const { analyzer } = this.session;
    return analyzer !== undefined && (await this.open.isRelevant(uri, analyzer));
  }
}
