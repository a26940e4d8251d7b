/** The analyzer: documents in, immutable analyses out. All reading goes through the runtime. */

import { earlierGraphs } from "../core/graph/earlier";
import { familyGraphs, type ReadTable, trainerGraphs, withTable } from "../core/graph/stored";
import type { FamilyGraphs, TrainerGraph } from "../core/graph/types";
import type { ReportEdit } from "../core/report/schema";
import { PINS_FILE } from "../formats/pins";
import { type Format, inCommands } from "../formats/types";
import { isScript } from "../syntax/dispatch";
import { applyEdits } from "../syntax/edit";
import type { Analyzer, CreateAnalyzer, Discovery, DocumentAnalysis, Recognition } from "./analyzer";
import { formatByGroups } from "./compose";
import { analysedDocument, emptyAnalysis } from "./document";
import { isOutside } from "./documents/reach";
import { LARGEST_NOTEBOOK, Scan } from "./documents/scan";
import { whySkipped } from "./documents/skipped";
import { DocumentStore, LoadedDocument } from "./documents/store";
import { baseName, normalise, parentOf } from "./documents/uris";
import { Estimator } from "./estimate/estimator";
import { type Reread, RunAnalysis } from "./estimate/run-analysis";
import { Stopped } from "./estimate/stopped";
import { isOlder, mayBeNamedOtherwise, mayDiffer } from "./frameworks/versions";
import { commandsOf } from "./linking/commands";
import type { GraphsAsked } from "./linking/graphs-of";
import { type Naming, namedConfig } from "./linking/hydra-program";
import { withImported } from "./linking/imported-code";
import { foldersAbove, gather, workspaceFolderOf } from "./linking/inputs";
import { startedConfig, startedData } from "./linking/launch";
import { calledScripts, type Scripts, withRead } from "./linking/other-scripts";
import { formatByProgram } from "./linking/program";
import { asStarted, asStartedBy, startedWritten } from "./linking/told-format";
import { namesAnother, nearestFirst, partOf, walk } from "./linking/users";
import { type Locale, localeOf, t, text } from "./messages";
import { type Catalogue, readCatalogue } from "./models/catalogue";
import { withArchive } from "./models/model-archive";
import type { AnalysisOptions } from "./options";
import { withPinsHelp } from "./pins/pins-help";
import { formatsOf } from "./report/report";
import { hasSeparateExperts } from "./resolve/release";
import type { Runtime } from "./runtime";

/** Files a search through a workspace looks at, and candidates it follows, at most. */
const MOST_DISCOVERED = 5000;
const MOST_CANDIDATES = 1500;
const MOST_TRIED = 60;
const MOST_USERS = 4;

/** How a run is read, where it is not the usual way. */
interface Reading {
  /** Another document's run uses this one. */
  readonly used?: boolean;
  /** Format of a document that does not say it itself. */
  readonly format?: Format | undefined;
  /** The Hydra program that the run is reached from. */
  readonly program?: Naming;
  /** Documents as they will be. */
  readonly store?: DocumentStore;
}

class AnalyzerOfRuntime implements Analyzer {
  private readonly store: DocumentStore;
  private readonly graphs = new Map<string, Promise<FamilyGraphs | undefined>>();
  private readonly trainers = new Map<string, Promise<readonly TrainerGraph[]>>();
  /** What earlier releases of transformers do otherwise. */
  private earlier: Promise<string | undefined> | undefined;
  private catalogue: Promise<Catalogue> | undefined;

  constructor(
    private readonly runtime: Runtime,
    private readonly estimator: Estimator,
  ) {
    this.store = new DocumentStore(runtime.files);
  }

  recognise(uri: string, content: string, locale?: string): Recognition | null {
    const document = new LoadedDocument(normalise(uri), content);
    const said = localeOf(locale);
    return (
      recognitionOf(document, said) ??
      recognitionOf(document, said, startedWritten(document)?.recognised) ??
      recognitionOf(document, said, document.beginning)
    );
  }

  async analyse(given: string, options: AnalysisOptions): Promise<DocumentAnalysis> {
    const uri = normalise(given);
    const locale = localeOf(options.locale);
    try {
      const stored = await this.store.load(uri);
      if (stored === undefined) return emptyAnalysis(uri, [], "unreadable", locale);
      const document = await this.inPlace(stored, this.store);
      const started = await this.startsProgram(document);
      const written = this.store.withWritten([document]);
      const data = started
        ? undefined
        : (startedWritten(document) ?? (await startedData(document, this.scripts(document, written))));
      const found =
        data !== undefined
          ? [await this.runOf(await this.inPlace(data, written), options, locale)]
          : started
            ? []
            : await this.usersOf(document, options, locale);
      const own: RunAnalysis[] = [];
      const format =
        document.recognised?.format ??
        (await formatByGroups(document, this.store)) ??
        (await formatByProgram(document, this.folders(document), this.store));
      for (const part of format === undefined || data !== undefined ? [] : commandsOf(document))
        own.push(await this.runOf(part, options, locale, { used: found.length > 0, format }));
      if (own.length + found.length === 0) found.push(...(await this.runsOfCalled(document, options, locale)));
      const analysed =
        own.length + found.length === 0
          ? emptyAnalysis(uri, [uri], "not-recognised", locale, document)
          : await analysedDocument(uri, recognitionOf(document, locale), [...own, ...found]);
      return baseName(uri) === PINS_FILE ? withPinsHelp(analysed, document, locale) : analysed;
    } catch (error) {
      if (error instanceof Stopped) throw error;
      const failure = error instanceof Error ? error.message : String(error);
      return emptyAnalysis(uri, [uri], t(locale, "error.internal", { failure }), locale);
    }
  }

  async discover(given: string, locale?: string): Promise<Discovery> {
    const uri = normalise(given);
    const stat = await this.runtime.files.stat(uri).catch(() => undefined);
    if (stat === undefined) return { configs: [], skipped: [] };
    if (stat.type === "file") return { configs: [uri], skipped: [] };
    const configs: string[] = [];
    const skipped: Discovery["skipped"][number][] = [];
    for await (const child of walk(this.store, uri, MOST_DISCOVERED)) {
      const document = await this.store.skim(child, child.endsWith(".ipynb") ? LARGEST_NOTEBOOK : undefined);
      const isConfig = document !== undefined && (document.recognised ?? startedWritten(document)) !== undefined;
      if (isConfig) configs.push(child);
      const reason = document === undefined ? undefined : whySkipped(document, localeOf(locale));
      if (reason !== undefined) skipped.push(reason);
    }
    return { configs, skipped };
  }

  invalidate(given: string): void {
    const uri = normalise(given);
    this.store.invalidate(uri, parentOf(uri));
  }

  /** A document as the files beside it have it read: the command that names it, the scripts that it reads. */
  private async inPlace(document: LoadedDocument, store: DocumentStore): Promise<LoadedDocument> {
    const scripts = this.scripts(document, store);
    const read = await withRead(await asStarted(document, scripts.folders, store), scripts);
    return withImported(read, scripts.folders, store);
  }

  private scripts(document: LoadedDocument, store: DocumentStore): Scripts {
    const workspace = workspaceFolderOf(document.uri, this.runtime);
    return { folders: this.folders(document), store, isOutside: (uri) => isOutside(uri, workspace, this.runtime) };
  }

  /** Runs of the scripts that a script runs. */
  private async runsOfCalled(
    document: LoadedDocument,
    options: AnalysisOptions,
    locale: Locale,
  ): Promise<RunAnalysis[]> {
    const runs: RunAnalysis[] = [];
    const seen = new Set([document.uri]);
    for (const called of await calledScripts(document, this.scripts(document, this.store))) {
      const format = called.recognised?.format ?? (await formatByProgram(called, this.folders(called), this.store));
      if (format === undefined || seen.has(called.uri)) continue;
      seen.add(called.uri);
      for (const part of commandsOf(called)) runs.push(await this.runOf(part, options, locale, { format }));
    }
    return runs;
  }

  /** The run whose own file a recognised document is. */
  private async runOf(
    document: LoadedDocument,
    options: AnalysisOptions,
    locale: Locale,
    reading: Reading = {},
  ): Promise<RunAnalysis> {
    this.catalogue ??= readCatalogue(this.runtime);
    const { used = false, store = this.store } = reading;
    const format = document.recognised?.format ?? reading.format;
    if (format === undefined) throw new Error(`${document.uri} is no training config`);
    const inputs = await gather(document, format, {
      runtime: this.runtime,
      store,
      catalogue: await this.catalogue,
      graphs: (family, asked) => this.graphsOf(family, asked),
      modelOverride: options.set?.["model"],
      program: reading.program,
    });
    const reread: Reread = async (edits) => {
      const edited = editedDocuments(inputs.documents, edits);
      const writers = edited.filter(({ uri }) => uri === document.writer?.document.uri);
      const changed = store.withDocuments(edited).withWritten(writers);
      const loaded = await changed.load(document.uri);
      const alike = loaded?.readLike(document);
      const again = alike && document.code ? await withImported(alike, this.folders(document), changed) : alike;
      const part = document.part === undefined ? again : again && commandsOf(again)[document.part.index];
      if (part === undefined || (part.recognised ?? reading.format) === undefined) return undefined;
      return this.runOf(part, options, locale, { ...reading, store: changed });
    };
    const detail = reading.store === undefined ? "full" : "peaks";
    return new RunAnalysis({ ...inputs, used }, options, locale, this.estimator, reread, detail);
  }

  /** Runs of other documents that a document takes part in: a DeepSpeed file, pins, a model's config. */
  private async usersOf(document: LoadedDocument, options: AnalysisOptions, locale: Locale): Promise<RunAnalysis[]> {
    const program = await this.programRun(document, options, locale);
    if (program !== undefined) return [program];
    const wanted = partOf(document);
    if (wanted === undefined) return [];
    const scan = new Scan();
    const folder = workspaceFolderOf(document.uri, this.runtime) ?? parentOf(document.uri);
    const users: RunAnalysis[] = [];
    let tried = 0;
    for await (const candidate of nearestFirst(this.store, document.uri, folder, MOST_CANDIDATES)) {
      if (options.stopped?.() === true) throw new Stopped();
      const skimmed = await this.store.skim(candidate);
      if (skimmed === undefined) continue;
      if (!scan.reads(skimmed)) break;
      if (!wanted.mayBe(skimmed) || !scan.parses(skimmed)) continue;
      const other = asStartedBy(document, skimmed);
      if (wanted.uses?.(other) === false || other.recognised === undefined) continue;
      if (await namesAnother(other, document.uri, this.store)) continue;
      if (++tried > MOST_TRIED || users.length >= MOST_USERS) break;
      const isUser = ({ inputs }: RunAnalysis): boolean => inputs.documents.some(({ uri }) => uri === document.uri);
      const run = await this.runOf(other, options, locale);
      if (!isUser(run)) continue;
      // A script that hands it to the program is no more than the way to the config that is trained.
      const script = isScript(other.config?.languageId) && !isScript(document.config?.languageId);
      const started = script ? (await this.usersOf(other, options, locale)).filter(isUser) : [];
      users.push(...(started.length > 0 ? started : [run]));
    }
    return users;
  }

  private folders({ uri }: LoadedDocument): readonly string[] {
    return foldersAbove(uri, workspaceFolderOf(uri, this.runtime));
  }

  /** Whether a script's own run is the one of the config it starts on: others need not be looked for. */
  private async startsProgram(document: LoadedDocument): Promise<boolean> {
    if (document.recognised === undefined || !inCommands(document.recognised.format)) return false;
    return (await startedConfig(document, this.folders(document), this.store, new Set())) !== undefined;
  }

  /** The run of the config that a Hydra program names. */
  private async programRun(
    document: LoadedDocument,
    options: AnalysisOptions,
    locale: Locale,
  ): Promise<RunAnalysis | undefined> {
    const named = namedConfig(document);
    const config = named === undefined ? undefined : await this.store.load(named.uri);
    if (named === undefined || config === undefined) return undefined;
    const format = config.recognised?.format ?? (await formatByGroups(config, this.store));
    if (format === undefined) return undefined;
    return this.runOf(config, options, locale, { format, program: { document, span: named.span } });
  }

  /** Graphs of a family, read once; with the losses of trainers only where a run may need them. */
  private graphsOf(family: string, asked: GraphsAsked): Promise<FamilyGraphs | undefined> {
    const transformers =
      asked.transformers !== null && mayBeNamedOtherwise(asked.transformers) ? asked.transformers : null;
    const key = `${family} ${asked.losses} ${transformers}`;
    let found = this.graphs.get(key);
    if (found === undefined) {
      found =
        asked.losses !== null
          ? this.withLosses(family, asked.losses, transformers)
          : transformers === null
            ? this.readGraphs(family)
            : this.ofRelease(family, transformers);
      this.graphs.set(key, found);
    }
    return found;
  }

  private async withLosses(
    family: string,
    losses: string,
    transformers: string | null,
  ): Promise<FamilyGraphs | undefined> {
    const [graphs, trainers] = await Promise.all([
      this.graphsOf(family, { losses: null, transformers }),
      this.trainerGraphs(losses),
    ]);
    return graphs && { ...graphs, trainers };
  }

  /** A family's graphs with what the release did otherwise. */
  private async ofRelease(family: string, transformers: string): Promise<FamilyGraphs | undefined> {
    const newest = await this.graphsOf(family, { losses: null, transformers: null });
    this.earlier ??= this.runtime.readModelData("releases/transformers.json").catch(() => undefined);
    const text = await this.earlier;
    if (newest === undefined || text === undefined) return newest;
    const own = await withTable(text, this.readTable, (stored, table) =>
      earlierGraphs(newest, stored, table, (release) => isOlder(transformers, release)),
    );
    const differs = mayDiffer(transformers) || hasSeparateExperts(family, (release) => isOlder(transformers, release));
    // Networks of other libraries are called by those (`timm.resnet`).
    return own === undefined || family.includes(".") || !differs ? own : { ...own, askedOf: transformers };
  }

  private async readGraphs(family: string): Promise<FamilyGraphs | undefined> {
    if (!/^[\w.-]+$/.test(family)) return undefined;
    const text = await this.runtime.readModelData(`graphs/${family}.json`).catch(() => undefined);
    return text === undefined ? undefined : withTable(text, this.readTable, familyGraphs);
  }

  private readonly readTable: ReadTable = (name) =>
    this.runtime.readModelData(`parts/${name}.json`).catch(() => undefined);

  /** Losses of trainers, read once for every family. */
  private trainerGraphs(file: string): Promise<readonly TrainerGraph[]> {
    const known = this.trainers.get(file);
    if (known !== undefined) return known;
    const found = this.runtime
      .readModelData(`trainers/${file}.json`)
      .then((text) => withTable(text ?? "", this.readTable, trainerGraphs))
      .catch(() => []);
    this.trainers.set(file, found);
    return found;
  }
}

/** The documents that a run was read from, with edits made: what was read counts, whatever the files say by now. */
function editedDocuments(documents: readonly LoadedDocument[], edits: readonly ReportEdit[]): LoadedDocument[] {
  return documents.map((document) => {
    const { uri, text, lines, part } = document;
    const spans = edits
      .filter((edit) => edit.uri === uri)
      .map(({ range, newText }) => ({
        start: lines.offset(range.start.line, range.start.character),
        end: lines.offset(range.end.line, range.end.character),
        newText,
      }));
    if (spans.length === 0 && part === undefined) return document;
    return new LoadedDocument(uri, applyEdits(text, spans));
  });
}

function recognitionOf(document: LoadedDocument, locale: Locale, recognised = document.recognised): Recognition | null {
  if (recognised === undefined) return null;
  const { format, confidence, because } = recognised;
  return {
    uri: document.uri,
    formats: formatsOf(format, document),
    confidence,
    because: text(because, locale),
  };
}

/** An analyzer whose estimates come from this estimator. */
export function analyzerWith(runtime: Runtime, estimator: Estimator): Analyzer {
  return new AnalyzerOfRuntime(withArchive(runtime), estimator);
}

export const createAnalyzer: CreateAnalyzer = (runtime) => analyzerWith(runtime, new Estimator());
