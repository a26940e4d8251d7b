/**
 * Every message beyond standard LSP, and the messages between the panel's page and its host.
 *
 * Method names are plain strings and payloads plain interfaces, so that client, server and page may use different
 * versions of the protocol library. docs/protocol.md documents this file; test/server/protocol.test.ts keeps the two
 * together. Standard features (diagnostics, hover, code actions, links, inlay hints, code lenses) work without any
 * message of this file, so other editors lose only the panel.
 */

import type { Explanation } from "../analysis/explain/explain";
import type { Entry } from "../analysis/runtime";
import type { Report, ReportCompared, ReportEdit, ReportGuide, ReportRun, ReportSweep } from "../core/report/schema";
import type { ToolInput, ToolName } from "../core/report/tools";

export type { Explanation };

/** Method names of the custom LSP messages. */
export const METHODS = {
  /** Client → server, request. {@link ReportParams} → {@link ReportResult}. The report of one document. */
  report: "vramlens/report",
  /** Client → server, request. {@link WhatIfParams} → {@link WhatIfResult}. A run with other values, no file touched. */
  whatIf: "vramlens/whatIf",
  /** Client → server, request. {@link RunParams} → {@link GuideResult}. The plan in stages and how far a run could go. */
  guide: "vramlens/guide",
  /** Client → server, request. {@link RunParams} → {@link CompareResult}. A run on other cards, slices and numbers. */
  compare: "vramlens/compare",
  /** Client → server, request. {@link RunParams} → {@link SweepResult}. The peak over micro-batch and length. */
  sweep: "vramlens/sweep",
  /** Client → server, request. {@link EditedParams} → {@link WhatIfResult}. A run as its files would be with edits. */
  edited: "vramlens/edited",
  /** Client → server, request. {@link UriParams} → {@link SummaryResult}. The runs of a file in a line each. */
  summary: "vramlens/summary",
  /** Client → server, request. {@link WhatIfParams} → {@link EditsResult}. Edits that write what a what-if tried. */
  whatIfEdits: "vramlens/whatIfEdits",
  /** Client → server, request. {@link PlanEditsParams} → {@link EditsResult}. Edits of one plan, for preview or apply. */
  planEdits: "vramlens/planEdits",
  /** Client → server, request. {@link SettleParams} → {@link EditsResult}. Edits of `.vramlens.yaml` that pin a value. */
  settle: "vramlens/settle",
  /** Client → server, request. `{}` → {@link DevicesResult}. The catalogue of devices, grouped. */
  devices: "vramlens/devices",
  /** Client → server, request. {@link FindDeviceParams} → {@link FindDeviceResult}. What a typed name or size means. */
  findDevice: "vramlens/findDevice",
  /** Client → server, request. `{}` → {@link ModelsResult}. The models that are known by name. */
  models: "vramlens/models",
  /** Client → server, request. {@link TraceParams} → {@link KeptTraceResult}. How a model was traced before. */
  keptTrace: "vramlens/keptTrace",
  /** Client → server, request. {@link KeepTraceParams} → {@link EditsResult}. Edits of `.vramlens.yaml` that keep a trace. */
  keepTrace: "vramlens/keepTrace",
  /** Client → server, request. {@link ExplainParams} → {@link ExplainResult}. What happened where memory ran out. */
  explain: "vramlens/explain",
  /** Client → server, request. {@link ToolParams} → {@link ToolReply}. What a language model asks, as it is answered. */
  tool: "vramlens/tool",
  /** Client → server, notification. {@link ThemeParams}. The colour theme is of another kind. */
  theme: "vramlens/theme",
  /** Client → server, notification. {@link TrustParams}. The person trusted the workspace, or no longer does. */
  trust: "vramlens/trust",
  /** Server → client, notification. {@link StatusParams}. The answer for a document changed, or is being computed. */
  status: "vramlens/status",
  /** Server → client, request. {@link UriParams} → {@link ReadTextResult}. Reads a file the server cannot reach. */
  readText: "vramlens/readText",
  /** Server → client, request. {@link UriParams} → {@link StatResult}. */
  stat: "vramlens/stat",
  /** Server → client, request. {@link UriParams} → {@link ListResult}. */
  list: "vramlens/list",
  /** Server → client, request. nothing → {@link ModelDataResult}. Reads the archive of packaged data. */
  modelData: "vramlens/modelData",
} as const;

/** Code of the one code action kind for all safe fixes of a document. */
export const FIX_ALL_KIND = "source.fixAll.vramlens";

/** Commands of the VS Code client that hovers and lenses may link to; other clients never see links to them. */
export const CLIENT_COMMANDS = {
  openPanel: "vramlens.openPanel",
  chooseDevice: "vramlens.chooseDevice",
  /** `[uri]`: applies the first plan of the document's run, or shows it first where it changes results. */
  applyBest: "vramlens.applyBest",
  /** `[uri, runId, set]`: writes values into the files, as a what-if does. */
  applyValues: "vramlens.applyValues",
  /** `[uri]`: a folder that holds the model's config.json, pinned for the document. */
  pointToModel: "vramlens.pointToModel",
  /** `[uri]`: a model of the catalogue, pinned for the document. */
  chooseModel: "vramlens.chooseModel",
  /** `[uri]`: a model of a Python file, or the one that it trains, traced by the person's own Python once that is agreed to. */
  traceModel: "vramlens.traceModel",
  /** `[uri, key, value]`: a pin of `.vramlens.yaml` for the document. */
  pin: "vramlens.pin",
} as const;

/** Kinds of colour themes that pictures are drawn for. */
export type ThemeKind = "dark" | "light" | "contrast-dark" | "contrast-light";

/** Sent by the client in `initializationOptions`; every field optional so that any editor can start the server. */
export interface InitializationOptions {
  /** URL of the packed program of the analysis thread, for a server in a Web Worker. */
  readonly analysisProgram?: string;
  /** Language of messages: `en` or `zh-cn` (default: the client's `locale`, else `en`). */
  readonly locale?: string;
  /** Client commands that may appear as links in hovers and as lens commands. */
  readonly commands?: readonly string[];
  /** The client shows pictures and findings in hovers; the kind of its colour theme, which `theme` notifications change. */
  readonly pictures?: ThemeKind;
  /** The client answers `readText`, `stat` and `list`: used for every URI scheme the server cannot read itself. */
  readonly fileRequests?: boolean;
  /** The client answers `modelData` (a server in a Web Worker has no files of its own). */
  readonly modelDataRequests?: boolean;
  /** Whether the person trusts the workspace (default true): else nothing outside of its folders is read. */
  readonly trusted?: boolean;
  /** Settings for clients without `workspace/configuration`, shaped like the section `vramlens`. */
  readonly settings?: Record<string, unknown>;
}

export interface ThemeParams {
  readonly theme: ThemeKind;
}

export interface TrustParams {
  readonly trusted: boolean;
}

/** A document by URI. */
export interface UriParams {
  readonly uri: string;
}

export interface ReportParams extends UriParams {
  /** Device to use instead of the configured one: catalogue name, alias or size (`24GB`). */
  readonly device?: string;
  /** Overrides by canonical name or format key. */
  readonly set?: Readonly<Record<string, string>>;
}

export interface ToolParams extends UriParams {
  readonly name: ToolName;
  readonly asked: ToolInput;
}

export interface ToolReply {
  readonly text: string;
  /** The question cannot be met as it was put; `text` says why. */
  readonly refused: boolean;
}

export interface ReportResult {
  readonly uri: string;
  /** Version of the open document the report was made from; null when it is not open. */
  readonly version: number | null;
  /** Why the file is analysed; null when it is neither a training config nor a part of a run. */
  readonly recognised: { readonly formats: readonly string[]; readonly because: string } | null;
  readonly report: Report;
  /** The run to show first; null when there is none. */
  readonly runId: string | null;
  /** Share of usable memory that plans keep free, 0..1. */
  readonly reserve: number;
  readonly locale: string;
  /** Why the file cannot be read as it is: what can be read of it is no run anybody meant; null when it can. */
  readonly broken: string | null;
}

export interface WhatIfParams extends UriParams {
  readonly runId: string;
  /** Values by canonical name, as a person would type them. */
  readonly set: Readonly<Record<string, string>>;
}

export interface WhatIfResult {
  /** null: the run is gone, or the values cannot be applied. */
  readonly run: ReportRun | null;
}

/** One run of a document. */
export interface RunParams extends UriParams {
  readonly runId: string;
}

export interface GuideResult {
  /** null: the run is gone, or nothing is known of it. */
  readonly guide: ReportGuide | null;
}

export interface CompareResult {
  /** null: the run is gone, or nothing is known of it. */
  readonly lines: readonly ReportCompared[] | null;
}

export interface ExplainParams {
  /** A log, or a part of one. */
  readonly text: string;
  /** Documents whose run it may be of, likeliest first. */
  readonly configs: readonly string[];
}

export interface ExplainResult {
  /** Empty: nothing in the text says that memory ran out. */
  readonly explanations: readonly Explanation[];
  /** Versions of the open documents that the edits refer to. */
  readonly versions: Readonly<Record<string, number>>;
  readonly locale: string;
}

export interface SweepResult {
  /** null: the run is gone, has no length, or nothing is known of it. */
  readonly sweep: ReportSweep | null;
}

export interface EditedParams extends RunParams {
  readonly edits: readonly ReportEdit[];
}

export interface SummaryResult {
  /** Empty: no training config, or it could not be read. */
  readonly runs: readonly StatusRun[];
  /** Why it could not be read. */
  readonly error?: string;
}

export interface PlanEditsParams extends UriParams {
  readonly runId: string;
  readonly planIndex: number;
  /** Title the person saw; the server refuses when the plan at this index is another one by now. */
  readonly title: string;
}

export interface SettleParams extends UriParams {
  /** Key of `.vramlens.yaml`, dotted (`sequence_length`, `device.name`). */
  readonly key: string;
  readonly value: string;
}

/** A model that is to be traced by the person's own Python. */
export interface TraceParams {
  /** URI of the folder that holds `.vramlens`. */
  readonly folder: string;
  /** The Python file, relative to the folder. */
  readonly file: string;
  /** A class of the file; empty: its outermost one. */
  readonly entry: string;
  /** The file is a script that trains the model. */
  readonly script: boolean;
  /** Arguments of that script. */
  readonly arguments: string;
}

export interface KeptTraceResult {
  /** null: nothing is kept. */
  readonly kept: { readonly inputs?: string; readonly loss?: string; readonly arguments?: string } | null;
}

export interface KeepTraceParams extends TraceParams {
  /** Name of the graph that was made. */
  readonly name: string;
}

/** Edits to apply as one undoable change, or why there are none. */
export type EditsResult =
  | {
      readonly ok: true;
      readonly title: string;
      /** Files to create (empty) before editing. */
      readonly create: readonly string[];
      readonly edits: readonly ReportEdit[];
      /** Versions of the open documents the ranges refer to. */
      readonly versions: Readonly<Record<string, number>>;
    }
  | { readonly ok: false; readonly message: string };

/** One entry of the device catalogue. */
export interface DeviceItem {
  readonly name: string;
  readonly memoryBytes: number;
  /** Parts a card can be cut into (MIG). */
  readonly slices: readonly { readonly name: string; readonly memoryBytes: number }[];
}

export interface DevicesResult {
  /** Names that most people look for, to be offered first. */
  readonly common: readonly string[];
  readonly groups: readonly { readonly label: string; readonly devices: readonly DeviceItem[] }[];
}

export interface FindDeviceParams {
  readonly text: string;
}

export interface ModelsResult {
  /** In the catalogue's order. */
  readonly models: readonly { readonly name: string; readonly parameters: number }[];
}

export interface FindDeviceResult {
  /** null: no device is called so, and the text is no size. */
  readonly device: { readonly name: string; readonly memoryBytes: number; readonly count: number } | null;
  /** Names that were perhaps meant. */
  readonly suggestions: readonly string[];
}

/** What the status item shows of a document. */
export interface StatusParams extends UriParams {
  /** `broken`: a config that cannot be read as it is being typed; `run` is the last one known. */
  readonly state: "computing" | "ready" | "broken" | "not-recognised" | "off" | "failed";
  /** Why the file is analysed, what is broken, or why it failed. */
  readonly because: string;
  /** Of the document's first run; null while nothing is known. */
  readonly run: StatusRun | null;
  /** Something the person should know and no place in a document shows (a GPU setting that names no GPU). */
  readonly notice?: string;
}

export interface StatusRun {
  readonly id: string;
  readonly verdict: ReportRun["verdict"];
  readonly modelName: string | null;
  readonly usedPeakBytes: number | null;
  readonly deviceName: string | null;
  /** Where the device was named. */
  readonly deviceSource: ReportRun["devices"]["source"];
  readonly memoryBytes: number | null;
  readonly deviceCount: number;
  /** The verdict in words, as in the report. */
  readonly statement: ReportRun["statement"];
  /** Components at the peak, largest first. */
  readonly parts: readonly { readonly kind: string; readonly bytes: number }[];
}

export interface ReadTextResult {
  /** null: absent or unreadable. */
  readonly text: string | null;
}

export interface StatResult {
  readonly stat: { readonly type: "file" | "directory"; readonly size: number; readonly mtime: number } | null;
}

export interface ListResult {
  readonly entries: readonly Entry[];
}

export interface ModelDataResult {
  /** The bytes of `dist/models.xz`; null: absent or unreadable. */
  readonly base64: string | null;
}
