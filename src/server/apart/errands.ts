/**
 * What the server has done where analyses are made, beside the analyses: it needs the formats' libraries and everybody's words,
 * which a server that only speaks to its client goes without.
 */
import type { CreateAnalyzer, ServedAnalyzer } from "../../analysis/analyzer";
import type { Explanation } from "../../analysis/explain/explain";
import { explainLog } from "../../analysis/explain/log";
import { readCatalogue } from "../../analysis/models/catalogue";
import { withArchive } from "../../analysis/models/model-archive";
import { keeping, traceKept } from "../../analysis/models/traces";
import type { AnalysisOptions } from "../../analysis/options";
import { changesSaid } from "../../analysis/report/changes";
import type { Runtime } from "../../analysis/runtime";
import type { ReportEdit } from "../../core/report/schema";
import { settleEdits } from "../pins";
import type {
  EditsResult,
  KeepTraceParams,
  KeptTraceResult,
  ModelsResult,
  SettleParams,
  TraceParams,
} from "../protocol";
import { type Locale, text } from "../text";

/** A config that a log may be of, analysed as its own settings say. */
export interface ConfigOfLog {
  readonly uri: string;
  readonly options: AnalysisOptions;
}

export interface Errands {
  /** The models that are known by name. */
  models(): Promise<ModelsResult>;
  /** The edits that pin a key's value for a document, without the versions of what they edit. */
  settle(params: SettleParams, workspaceFolders: readonly string[], locale: Locale): Promise<EditsResult>;
  /** How a model was traced before. */
  keptTrace(params: TraceParams): Promise<KeptTraceResult>;
  /** The edits that keep how a model was traced, without the versions of what they edit. */
  keepTrace(params: KeepTraceParams, locale: Locale): Promise<EditsResult>;
  /** What edits change, in a line. */
  changesSaid(edits: readonly ReportEdit[], locale: Locale): Promise<string>;
  /** Every failure of a log beside the run that it fits best. */
  explainLog(log: string, configs: readonly ConfigOfLog[], locale: Locale): Promise<readonly Explanation[]>;
}

/** Analyses and errands, wherever they are done. */
export type AnalysisProgram = ServedAnalyzer & Errands;

export type CreateProgram = (runtime: Runtime) => AnalysisProgram;

/** Errands beside an analyzer, on its runtime. */
export function errandsOf(analyzer: ServedAnalyzer, runtime: Runtime): Errands {
  const { files } = runtime;
  return {
    models: async () => {
      const { names, find } = await readCatalogue(withArchive(runtime));
      return { models: names.map((name) => ({ name, parameters: find(name)?.parameters ?? 0 })) };
    },
    settle: (params, workspaceFolders, locale) => settleEdits(params, { files, workspaceFolders, locale }),
    keptTrace: async (params) => {
      const { inputs, loss, arguments: given } = (await traceKept(files, params.folder, params)) ?? {};
      const said = { ...(inputs && { inputs }), ...(loss && { loss }), ...(given && { arguments: given }) };
      return { kept: Object.keys(said).length === 0 ? null : said };
    },
    keepTrace: async (params, locale) => {
      const change = await keeping(files, params.folder, params.name, params);
      if (change === undefined) return { ok: false, message: "" };
      const { edit, create } = change;
      const title = text(locale, "keepTraceTitle", params.name);
      return { ok: true, title, create: create ? [edit.uri] : [], edits: [edit], versions: {} };
    },
    changesSaid: async (edits, locale) => {
      const texts = new Map<string, string | undefined>();
      for (const { uri } of edits) texts.set(uri, await files.readText(uri));
      return changesSaid(edits, (uri) => texts.get(uri), locale);
    },
    explainLog: (log, configs, locale) => {
      const own = new Map(configs.map(({ uri, options }) => [uri, options]));
      return explainLog(log, { configs: [...own.keys()], locale }, (uri, options) =>
        analyzer.analyse(uri, { ...own.get(uri), ...options }),
      );
    },
  };
}

/** The program of an analyzer that is in the same thread. */
export function programOf(create: CreateAnalyzer): CreateProgram {
  return (runtime) => {
    const analyzer = create(runtime);
    return {
      recognise: (uri, text) => analyzer.recognise(uri, text),
      analyse: (uri, options) => analyzer.analyse(uri, options),
      invalidate: (uri) => analyzer.invalidate(uri),
      ...errandsOf(analyzer, runtime),
    };
  };
}
