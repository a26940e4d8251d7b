/** The analyzer: documents in, immutable analyses out. All reading goes through the runtime. */
import { z } from "zod";
import type { FamilyGraphs } from "../core/graph/types";
import { syntaxOf } from "../formats/parse";
import { PINS_FILE } from "../formats/pins";
import type { AnalysisOptions, Analyzer, CreateAnalyzer, DocumentAnalysis, Recognition } from "./analyzer";
import { type Catalogue, readCatalogue } from "./catalogue";
import { AnalysedDocument, emptyAnalysis } from "./document";
import { Estimator } from "./estimator";
import { gather } from "./inputs";
import { localeOf } from "./messages";
import { RunAnalysis } from "./run-analysis";
import type { Runtime } from "./runtime";
import { DocumentStore, LoadedDocument } from "./store";
import { joinUri, normalise, parentOf } from "./uris";

const MOST_DISCOVERED = 5000;
const SKIPPED_FOLDERS = new Set([
  "node_modules",
  ".git",
  ".venv",
  "venv",
  "__pycache__",
  "dist",
  ".mypy_cache",
  ".tox",
]);

const graphsSchema = z.looseObject({
  schema: z.literal("vram-lens/graphs/1"),
  family: z.string(),
  graphs: z.array(z.unknown()),
});

class AnalyzerOfRuntime implements Analyzer {
  private readonly store: DocumentStore;
  private readonly estimator = new Estimator();
  private readonly graphs = new Map<string, Promise<FamilyGraphs | undefined>>();
  private catalogue: Promise<Catalogue> | undefined;

  constructor(private readonly runtime: Runtime) {
    this.store = new DocumentStore(runtime.files);
  }

  recognise(uri: string, text: string): Recognition | null {
    return recognitionOf(new LoadedDocument(normalise(uri), text));
  }

  async analyse(given: string, options: AnalysisOptions): Promise<DocumentAnalysis> {
    const uri = normalise(given);
    const locale = localeOf(options.locale);
    try {
      const document = await this.store.load(uri);
      if (document === undefined) return emptyAnalysis(uri, [], "unreadable", locale);
      const recognised = document.recognised;
      if (recognised === undefined) return emptyAnalysis(uri, [uri], "not-recognised", locale, document);
      this.catalogue ??= readCatalogue(this.runtime);
      const inputs = await gather(document, recognised.format, {
        runtime: this.runtime,
        store: this.store,
        catalogue: await this.catalogue,
        graphs: (family) => this.graphsOf(family),
        modelOverride: options.set?.["model"],
      });
      const run = new RunAnalysis(inputs, options, locale, this.estimator);
      return new AnalysedDocument(uri, recognitionOf(document), [run]);
    } catch (error) {
      return emptyAnalysis(uri, [uri], error instanceof Error ? error.message : String(error), locale);
    }
  }

  async discover(given: string): Promise<readonly string[]> {
    const uri = normalise(given);
    const stat = await this.runtime.files.stat(uri).catch(() => undefined);
    if (stat === undefined) return [];
    if (stat.type === "file") return [uri];
    const found: string[] = [];
    const folders = [uri];
    for (
      let folder = folders.shift();
      folder !== undefined && found.length < MOST_DISCOVERED;
      folder = folders.shift()
    ) {
      const entries = [...(await this.store.list(folder))].sort((a, b) => a.name.localeCompare(b.name));
      for (const entry of entries) {
        const child = joinUri(folder, entry.name);
        if (entry.type === "directory") {
          if (!SKIPPED_FOLDERS.has(entry.name)) folders.push(child);
        } else if (syntaxOf(child) !== null && entry.name !== PINS_FILE) {
          const document = await this.store.load(child);
          if (document?.recognised !== undefined) found.push(child);
        }
      }
    }
    return found;
  }

  invalidate(given: string): void {
    const uri = normalise(given);
    this.store.invalidate(uri, parentOf(uri));
  }

  private graphsOf(family: string): Promise<FamilyGraphs | undefined> {
    let found = this.graphs.get(family);
    if (found === undefined) {
      found = /^[\w.-]+$/.test(family) ? this.readGraphs(family) : Promise.resolve(undefined);
      this.graphs.set(family, found);
    }
    return found;
  }

  private async readGraphs(family: string): Promise<FamilyGraphs | undefined> {
    const text = await this.runtime.readModelData(`graphs/${family}.json`).catch(() => undefined);
    if (text === undefined) return undefined;
    try {
      const data: unknown = JSON.parse(text);
      return graphsSchema.safeParse(data).success ? (data as FamilyGraphs) : undefined;
    } catch {
      return undefined;
    }
  }
}

function recognitionOf(document: LoadedDocument): Recognition | null {
  const recognised = document.recognised;
  if (recognised === undefined) return null;
  const { format, confidence, because } = recognised;
  return {
    uri: document.uri,
    formats: [format.id, ...(format.carrier === undefined ? [] : [format.carrier])],
    confidence,
    because,
  };
}

export const createAnalyzer: CreateAnalyzer = (runtime) => new AnalyzerOfRuntime(runtime);
