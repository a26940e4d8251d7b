/** The custom requests behind the panel, the commands and the language-model tools. */
import type { CancellationToken, Connection } from "vscode-languageserver";
import type { ServedAnalysis } from "../analysis/analyzer";
import type { AnalysisOptions } from "../analysis/options";
import type { ReportEdit, ReportRun } from "../core/report/schema";
import { toolAnswer, triedValues } from "../core/report/tools";
import type { Cancellation } from "./analyses";
import type { AnalysisProgram, ConfigOfLog } from "./apart/errands";
import { deviceGroups, lookUpDevice } from "./devices";
import { normalise } from "./openDocuments";
import {
  type CompareResult,
  type DevicesResult,
  type EditedParams,
  type EditsResult,
  type ExplainParams,
  type ExplainResult,
  type FindDeviceParams,
  type FindDeviceResult,
  type GuideResult,
  type KeepTraceParams,
  type KeptTraceResult,
  METHODS,
  type ModelsResult,
  type PlanEditsParams,
  type ReportParams,
  type ReportResult,
  type RunParams,
  type SettleParams,
  type SummaryResult,
  type SweepResult,
  type ToolParams,
  type ToolReply,
  type TraceParams,
  type UriParams,
  type WhatIfParams,
  type WhatIfResult,
} from "./protocol";
import { safely } from "./safely";
import type { Settings } from "./settings";
import { brokenIn, mainRun, recognised, statusRun } from "./status";
import { type Locale, type TextKey, text } from "./text";

/** What the requests need of the server. */
export interface RequestContext {
  readonly locale: () => Locale;
  readonly analyzer: () => AnalysisProgram | undefined;
  readonly workspaceFolders: () => readonly string[];
  readonly settings: (uri: string) => Promise<Settings>;
  readonly options: (settings: Settings) => AnalysisOptions;
  /** The current analysis, whatever the settings say; undefined when cancelled. */
  readonly analysis: (uri: string, plans: boolean, token: Cancellation) => Promise<ServedAnalysis | undefined>;
  /** Resolves when a document is not being typed in; false when cancelled. The search for plans waits for it. */
  readonly idle: (uri: string, token: Cancellation) => Promise<boolean>;
  /** Version of an open document. */
  readonly versionOf: (uri: string) => number | undefined;
  /** Plain data with its places as the editor knows them: those in a notebook's text are in its cells there. */
  readonly inEditor: <T>(value: T) => T;
}

/** Registers all custom requests on the connection. */
export function registerPanelRequests(connection: Connection, context: RequestContext): void {
  const log = connection.console;
  const failed = (key: TextKey, ...values: string[]) => refusal(context, key, ...values);
  connection.onRequest<ReportResult | null, void>(METHODS.report, (params: ReportParams, token: CancellationToken) =>
    safely<ReportResult | null>(log, "report", token, null, () => report(context, params, token)),
  );
  connection.onRequest<ToolReply | null, void>(METHODS.tool, (params: ToolParams, token: CancellationToken) =>
    safely<ToolReply | null>(log, "tool", token, null, () => toolReply(context, params)),
  );
  connection.onRequest<WhatIfResult, void>(METHODS.whatIf, (params: WhatIfParams, token: CancellationToken) =>
    safely<WhatIfResult>(log, "what-if", token, { run: null }, async () => ({
      run: context.inEditor(
        (await (await context.analysis(params.uri, false, token))?.whatIf(params.runId, params.set)) ?? null,
      ),
    })),
  );
  connection.onRequest<GuideResult, void>(METHODS.guide, (params: RunParams, token: CancellationToken) =>
    safely<GuideResult>(log, "guide", token, { guide: null }, async () => ({
      guide: context.inEditor((await (await restingAnalysis(context, params, token))?.guide?.(params.runId)) ?? null),
    })),
  );
  connection.onRequest<CompareResult, void>(METHODS.compare, (params: RunParams, token: CancellationToken) =>
    safely<CompareResult>(log, "compare", token, { lines: null }, async () => ({
      lines: context.inEditor((await (await restingAnalysis(context, params, token))?.compare?.(params.runId)) ?? null),
    })),
  );
  connection.onRequest<SweepResult, void>(METHODS.sweep, (params: RunParams, token: CancellationToken) =>
    safely<SweepResult>(log, "sweep", token, { sweep: null }, async () => ({
      sweep: (await (await restingAnalysis(context, params, token))?.sweep?.(params.runId)) ?? null,
    })),
  );
  connection.onRequest<WhatIfResult, void>(METHODS.edited, (params: EditedParams, token: CancellationToken) =>
    safely<WhatIfResult>(log, "edited", token, { run: null }, async () => ({
      run: (await (await context.analysis(params.uri, false, token))?.edited?.(params.runId, params.edits)) ?? null,
    })),
  );
  connection.onRequest<SummaryResult, void>(METHODS.summary, (params: UriParams, token: CancellationToken) =>
    safely<SummaryResult>(log, "summary", token, { runs: [] }, () => summary(context, params, token)),
  );
  connection.onRequest<EditsResult, void>(METHODS.whatIfEdits, (params: WhatIfParams, token: CancellationToken) =>
    safely<EditsResult>(log, "what-if edits", token, failed("planGone"), () => whatIfEdits(context, params, token)),
  );
  connection.onRequest<EditsResult, void>(METHODS.planEdits, (params: PlanEditsParams, token: CancellationToken) =>
    safely<EditsResult>(log, "plan edits", token, failed("planGone"), () => planEdits(context, params, token)),
  );
  connection.onRequest<EditsResult, void>(METHODS.settle, (params: SettleParams, token: CancellationToken) =>
    safely<EditsResult>(log, "settle", token, failed("settleUnknown", params.key), () => settled(context, params)),
  );
  connection.onRequest<KeptTraceResult, void>(METHODS.keptTrace, (params: TraceParams, token: CancellationToken) =>
    safely<KeptTraceResult>(
      log,
      "kept trace",
      token,
      { kept: null },
      async () => (await context.analyzer()?.keptTrace(params)) ?? { kept: null },
    ),
  );
  connection.onRequest<EditsResult, void>(METHODS.keepTrace, (params: KeepTraceParams, token: CancellationToken) =>
    safely<EditsResult>(log, "keep trace", token, { ok: false, message: "" }, async () => {
      const result = await context.analyzer()?.keepTrace(params, context.locale());
      if (result === undefined) return { ok: false, message: "" };
      return result.ok ? { ...result, versions: versionsOf(context, result.edits) } : result;
    }),
  );
  connection.onRequest<ExplainResult, void>(METHODS.explain, (params: ExplainParams, token: CancellationToken) =>
    safely<ExplainResult>(log, "explain", token, { explanations: [], versions: {}, locale: context.locale() }, () =>
      explained(context, params),
    ),
  );
  connection.onRequest<DevicesResult, void>(METHODS.devices, (_: unknown, token: CancellationToken) =>
    safely<DevicesResult>(log, "devices", token, { common: [], groups: [] }, () => deviceGroups(context.locale())),
  );
  connection.onRequest<ModelsResult, void>(METHODS.models, (_: unknown, token: CancellationToken) =>
    safely<ModelsResult>(
      log,
      "models",
      token,
      { models: [] },
      async () => (await context.analyzer()?.models()) ?? { models: [] },
    ),
  );
  connection.onRequest<FindDeviceResult, void>(
    METHODS.findDevice,
    (params: FindDeviceParams, token: CancellationToken) =>
      safely<FindDeviceResult>(log, "find device", token, { device: null, suggestions: [] }, () =>
        lookUpDevice(params.text),
      ),
  );
}

/** The runs that a file is the config of, in a line each. */
async function summary(context: RequestContext, { uri }: UriParams, token: Cancellation): Promise<SummaryResult> {
  const analysis = await context.analysis(uri, false, token);
  if (analysis === undefined) return { runs: [] };
  const isOwn = ({ documents }: ReportRun) => documents[0] === analysis.uri;
  // A part of another file's run is no run of its own.
  const isPart = analysis.runs.some((run) => !isOwn(run));
  const own = analysis.runs.filter((run) => isOwn(run) && (run.perDevice !== null || !isPart));
  const [error] = analysis.report.errors;
  return { runs: own.map(statusRun), ...(error === undefined ? {} : { error: error.message }) };
}

/** The analysis once its document is not being typed in; undefined when cancelled. */
async function restingAnalysis(
  context: RequestContext,
  { uri }: RunParams,
  token: Cancellation,
): Promise<ServedAnalysis | undefined> {
  return (await context.idle(uri, token)) ? context.analysis(uri, false, token) : undefined;
}

async function report(
  context: RequestContext,
  params: ReportParams,
  token: Cancellation,
): Promise<ReportResult | null> {
  const settings = await context.settings(params.uri);
  const version = context.versionOf(params.uri) ?? null;
  const isOverridden = params.device !== undefined || params.set !== undefined;
  const analysis = isOverridden
    ? await context.analyzer()?.analyse(normalise(params.uri), {
        ...context.options(settings),
        plans: true,
        ...(params.device === undefined ? {} : { device: params.device }),
        ...(params.set === undefined ? {} : { set: params.set }),
      })
    : (await context.idle(params.uri, token))
      ? await context.analysis(params.uri, true, token)
      : undefined;
  if (analysis === undefined) return null;
  return {
    uri: params.uri,
    version,
    recognised: recognised(analysis, context.locale()),
    report: context.inEditor(analysis.report),
    runId: mainRun(analysis.runs)?.id ?? null,
    reserve: settings.reserve,
    locale: context.locale(),
    broken: brokenIn(analysis)?.message ?? null,
  };
}

/** As the model-context server answers: the same words and the same refusals. */
async function toolReply(context: RequestContext, { uri, name, asked }: ToolParams): Promise<ToolReply | null> {
  const settings = await context.settings(uri);
  const { device, devices } = asked;
  const analysis = await context.analyzer()?.analyse(normalise(uri), {
    ...context.options(settings),
    plans: name === "find_fitting_config",
    ...(device === undefined ? {} : { device }),
    ...(devices === undefined ? {} : { deviceCount: devices }),
    set: triedValues(asked),
  });
  if (analysis === undefined) return null;
  const complaint = analysis.report.errors.find(({ code }) => code === "asked");
  if (complaint !== undefined) return { text: complaint.message, refused: true };
  return { text: toolAnswer(name, analysis.report, asked.path).text, refused: false };
}

async function planEdits(context: RequestContext, params: PlanEditsParams, token: Cancellation): Promise<EditsResult> {
  const analysis = await context.analysis(params.uri, true, token);
  const run = analysis?.runs.find(({ id }) => id === params.runId);
  if (run === undefined) return refusal(context, "runGone");
  const plan = run.plans[params.planIndex];
  if (plan === undefined || plan.title !== params.title) return refusal(context, "planGone");
  if (plan.edits.length === 0) return refusal(context, "planEmpty");
  return versioned(context, plan.title, plan.edits);
}

async function whatIfEdits(
  context: RequestContext,
  { uri, runId, set }: WhatIfParams,
  token: Cancellation,
): Promise<EditsResult> {
  const result = (await (await context.analysis(uri, false, token))?.whatIfEdits(runId, set)) ?? null;
  if (result === null) return refusal(context, "runGone");
  if ("refused" in result) return { ok: false, message: result.refused };
  if (result.edits.length === 0) return refusal(context, "planEmpty");
  const title = await context.analyzer()?.changesSaid(result.edits, context.locale());
  return versioned(context, title ?? "", result.edits);
}

/** Analyses each config on the card that the log describes; the person's own settings of plans hold. */
async function explained(context: RequestContext, { text: log, configs }: ExplainParams): Promise<ExplainResult> {
  const locale = context.locale();
  const configured = async (uri: string): Promise<ConfigOfLog> => ({
    uri,
    options: context.options(await context.settings(uri)),
  });
  const given = await Promise.all(configs.map(normalise).map(configured));
  const made = context.inEditor((await context.analyzer()?.explainLog(log, given, locale)) ?? []);
  const edits = made.flatMap(({ advice }) => advice.flatMap((one) => one.edits));
  return { explanations: made, versions: versionsOf(context, edits), locale };
}

/** Pins a value, in files that are open as they are now. */
async function settled(context: RequestContext, params: SettleParams): Promise<EditsResult> {
  const made = await context.analyzer()?.settle(params, context.workspaceFolders(), context.locale());
  if (made === undefined) return refusal(context, "settleUnknown", params.key);
  return made.ok ? { ...made, versions: versionsOf(context, made.edits) } : made;
}

function versionsOf(context: RequestContext, edits: readonly ReportEdit[]): Record<string, number> {
  const versions: Record<string, number> = {};
  for (const { uri } of edits) {
    const version = context.versionOf(uri);
    if (version !== undefined) versions[uri] = version;
  }
  return versions;
}

/** Edits with the versions of the open documents they were made for. */
function versioned(context: RequestContext, title: string, made: readonly ReportEdit[]): EditsResult {
  const edits = context.inEditor(made);
  return { ok: true, title, create: [], edits, versions: versionsOf(context, edits) };
}

function refusal(context: RequestContext, key: TextKey, ...values: string[]): EditsResult {
  return { ok: false, message: text(context.locale(), key, ...values) };
}
