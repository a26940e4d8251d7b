/**
 * Results per document, kept until something they depend on changes.
 *
 * A result is current while no document it depends on changed since its computation began. Whoever asks gets a current
 * result or, once cancelled, none: a stale one is never handed out.
 */
import type { ServedAnalysis, ServedAnalyzer } from "../analysis/analyzer";
import { parentOf } from "../analysis/documents/uris";
import type { AnalysisOptions } from "../analysis/options";

/** Asked while waiting; the shape of an LSP cancellation token. */
export interface Cancellation {
  readonly isCancellationRequested: boolean;
}

export const NEVER: Cancellation = { isCancellationRequested: false };

interface Entry {
  readonly uri: string;
  readonly promise: Promise<ServedAnalysis>;
  /** Known once the promise has settled. */
  settled: ServedAnalysis | undefined;
  readonly plans: boolean;
  /** What changed while it was being computed: its dependencies are known only afterwards. */
  readonly changed: Set<string>;
  /** Everything changed while it was being computed. */
  isObsolete: boolean;
  /** Ends the work on it. */
  readonly ends: AbortController;
}

/** Most results kept; the least recently used goes first. */
const LARGEST_CACHE = 64;

export class Analyses {
  private readonly entries = new Map<string, Entry>();
  /** Computations under way, also those nobody will get from the map any more. */
  private readonly pending = new Set<Entry>();

  /** @param optionsFor settings of a document as the analysis takes them */
  constructor(
    private readonly analyzer: ServedAnalyzer,
    private readonly optionsFor: (uri: string) => Promise<AnalysisOptions>,
  ) {}

  /**
   * The current analysis of a document.
   *
   * @param plans whether suggestions are needed; a result with them also serves those who do not
   * @returns undefined only when cancelled
   */
  async get(uri: string, plans: boolean, token: Cancellation): Promise<ServedAnalysis | undefined> {
    while (!token.isCancellationRequested) {
      const entry = this.entry(uri, plans);
      const result = await entry.promise.catch((error: unknown) => {
        if (entry.ends.signal.aborted) return undefined;
        throw error;
      });
      if (result !== undefined && this.isCurrent(entry, result)) return result;
    }
    return undefined;
  }

  /** The last finished result if it is still current; never waits. */
  peek(uri: string): ServedAnalysis | undefined {
    return this.entries.get(uri)?.settled;
  }

  /**
   * Notes that documents or files changed, appeared or went away.
   *
   * @returns the URIs whose results were dropped, the changed ones included
   */
  invalidate(uris: Iterable<string>): ReadonlySet<string> {
    const changed = new Set(uris);
    // A file that appears changes what its folder holds: a result may depend on a folder's receipts before there are any.
    const folders = new Set<string>();
    for (const uri of changed) {
      folders.add(parentOf(uri));
      this.analyzer.invalidate(uri);
    }
    for (const entry of this.pending) {
      for (const uris of [changed, folders]) for (const uri of uris) entry.changed.add(uri);
      if (changed.has(entry.uri)) entry.ends.abort();
    }
    const dropped = new Set(changed);
    const isTouched = (uri: string): boolean => changed.has(uri) || folders.has(uri);
    for (const [uri, entry] of this.entries) {
      if (changed.has(uri) || entry.settled?.dependencies.some(isTouched) === true) {
        this.entries.delete(uri);
        dropped.add(uri);
      }
    }
    return dropped;
  }

  /** Drops everything: settings or workspace folders changed. */
  clear(): void {
    for (const entry of this.pending) {
      entry.isObsolete = true;
      entry.ends.abort();
    }
    this.entries.clear();
  }

  /** Forgets a closed document. */
  delete(uri: string): void {
    for (const entry of this.pending) if (entry.uri === uri) entry.ends.abort();
    this.entries.delete(uri);
    this.analyzer.invalidate(uri);
  }

  private entry(uri: string, plans: boolean): Entry {
    const found = this.entries.get(uri);
    if (found !== undefined && (found.plans || !plans)) {
      this.entries.delete(uri);
      this.entries.set(uri, found);
      return found;
    }
    const ends = new AbortController();
    const entry: Entry = {
      uri,
      ends,
      promise: this.optionsFor(uri).then((options) => this.analyzer.analyse(uri, { ...options, plans }, ends.signal)),
      settled: undefined,
      plans,
      changed: new Set(),
      isObsolete: false,
    };
    this.entries.set(uri, entry);
    this.pending.add(entry);
    entry.promise.then(
      (result) => {
        this.pending.delete(entry);
        if (this.isCurrent(entry, result)) entry.settled = result;
        else this.forget(uri, entry);
      },
      () => {
        this.pending.delete(entry);
        this.forget(uri, entry);
      },
    );
    if (this.entries.size > LARGEST_CACHE) {
      const oldest = this.entries.keys().next().value;
      if (oldest !== undefined) this.entries.delete(oldest);
    }
    return entry;
  }

  /** Whether nothing the result depends on changed since its computation began. */
  private isCurrent(entry: Entry, result: ServedAnalysis): boolean {
    const { changed, isObsolete } = entry;
    return !isObsolete && !changed.has(result.uri) && !result.dependencies.some((uri) => changed.has(uri));
  }

  private forget(uri: string, entry: Entry): void {
    if (this.entries.get(uri) === entry) this.entries.delete(uri);
  }
}
