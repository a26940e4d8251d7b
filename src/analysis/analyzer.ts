/**
 * The analysis as the surfaces see it: a document in, runs with their reports, hovers and edits out.
 * Every result is plain data in editor terms (URIs, zero-based ranges, Markdown); nothing here knows LSP.
 */

import type { Parting, Stream } from "../core/matching/parting";
import type {
  Range,
  Report,
  ReportCompared,
  ReportEdit,
  ReportGuide,
  ReportRun,
  ReportSweep,
} from "../core/report/schema";
import type { Failure } from "../evidence/log/failures";
import type { Explanation } from "./explain/explain";
import type { HoverParts } from "./hover/hover";
import type { AnalysisOptions } from "./options";
import type { Runtime } from "./runtime";

/** A document recognised as a training config. */
export interface Recognition {
  readonly uri: string;
  /** Ids of `report-contract`, the schema first, then its carrier. */
  readonly formats: readonly string[];
  /** 0..1 */
  readonly confidence: number;
  /** Why, in one short sentence ("has `output_dir` and 7 other TrainingArguments keys"). */
  readonly because: string;
}

/** A hover by its parts; the server lays them out for what its client can show. */
export interface HoverContent extends HoverParts {
  readonly range: Range;
  /** All of it as Markdown without pictures and links. */
  readonly markdown: string;
  readonly runId: string;
  /** A plan would help: the run does not fit, or hardly. */
  readonly needsPlan: boolean;
  /** The finding that says the verdict is at this place, where editors show it above the hover. */
  readonly saidByFinding: boolean;
  /** The best plan, where plans were searched. */
  readonly best?: { readonly title: string; readonly says: string };
  /** What must be stated before anything else is worth doing: the model, the GPU, or how many there are. */
  readonly open?:
    | { readonly what: "model" | "device" }
    | { readonly what: "count"; readonly title: string; readonly value: string };
}

/** A fix to offer at a place; `edits` may touch several documents. */
export interface FixContent {
  readonly title: string;
  readonly code: string;
  readonly preferred: boolean;
  /** Whether it keeps what is computed (safe for fix-all) or changes results (asks for confirmation). */
  readonly safe: boolean;
  readonly edits: readonly ReportEdit[];
  /** Instead of edits: a pin of `.vramlens.yaml`, which may have to be made first. */
  readonly pin?: { readonly key: string; readonly value: string };
}

/** Something that may be typed at a place. */
export interface CompletionContent {
  readonly kind: "key" | "value";
  readonly label: string;
  readonly insertText: string;
  /** One short remark: the peak with this value, or that the key costs no memory. */
  readonly detail: string;
  readonly documentation: string;
  /** What the text replaces. */
  readonly range: Range;
  readonly sortText: string;
}

/** All that is known of the runs one document takes part in; immutable. */
export interface DocumentAnalysis {
  readonly uri: string;
  readonly recognition: Recognition | null;
  readonly report: Report;
  /** URIs (existing or not) whose change would change this result. */
  readonly dependencies: readonly string[];
  /** Runs of the document, the one whose own file it is first. */
  readonly runs: readonly ReportRun[];
  hover(line: number, character: number): Promise<HoverContent | null>;
  /** Keys and values that fit at a place, with their effect on memory. */
  complete?(line: number, character: number): Promise<readonly CompletionContent[]>;
  fixes(range: Range): readonly FixContent[];
  /** Links to the other documents of the run. */
  links(): readonly { readonly range: Range; readonly target: string; readonly tooltip: string }[];
  /** What the run would be with other values, for what-if controls; same report, no file touched. */
  whatIf(runId: string, set: Readonly<Record<string, string>>): Promise<ReportRun | null>;
  /** The plan in stages and how far the run could go; null when the run is gone or nothing is known of it. */
  guide?(runId: string): Promise<ReportGuide | null>;
  /** The run on other cards, slices and numbers of cards; null when the run is gone or nothing is known of it. */
  compare?(runId: string): readonly ReportCompared[] | null;
  /** What happened where memory ran out, matched with a run; null when the run is gone. */
  explain?(runId: string, failure: Failure): Explanation | null;
  /** Where the run's events part from those of its own code; null where they do not, or the run has none. */
  parting?(runId: string, measured: Stream): Parting | null;
  /** The peak over micro-batch and length; null where the run has no length, is gone, or nothing is known of it. */
  sweep?(runId: string): ReportSweep | null;
  /** The run as its files would say it with some edits: of a plan, or of another version of a file. */
  edited?(runId: string, edits: readonly ReportEdit[]): Promise<ReportRun | null>;
  /** Edits that make the files say what a what-if tried; why there are none; null when the run is gone. */
  whatIfEdits(
    runId: string,
    set: Readonly<Record<string, string>>,
  ): { readonly edits: readonly ReportEdit[] } | { readonly refused: string } | null;
}

/** What a search below a folder found. */
export interface Discovery {
  /** URIs of the recognised configs. */
  readonly configs: readonly string[];
  /** Files that look like configs and do not parse, with the first reason. */
  readonly skipped: NonNullable<Report["skipped"]>;
}

export interface Analyzer {
  /** Cheap: looks at the name and the text only. */
  recognise(uri: string, content: string, locale?: string): Recognition | null;
  /** Analyses a document, read through the runtime (which overlays unsaved text). Never rejects. */
  analyse(uri: string, options: AnalysisOptions): Promise<DocumentAnalysis>;
  /** Every recognised config below a directory, or the file itself; what looks like one and does not parse is named. */
  discover(uri: string, locale?: string): Promise<Discovery>;
  /** Forgets what was read of a document (it changed or went away). */
  invalidate(uri: string): void;
}

/** What may be there at once or later. */
type Awaitable<T> = T | Promise<T>;

/** An analysis as a server has it, made where it is or elsewhere. */
export interface ServedAnalysis
  extends Pick<
    DocumentAnalysis,
    "uri" | "recognition" | "report" | "dependencies" | "runs" | "hover" | "complete" | "whatIf" | "guide"
  > {
  fixes(range: Range): Awaitable<readonly FixContent[]>;
  links(): Awaitable<ReturnType<DocumentAnalysis["links"]>>;
  compare?(runId: string): Awaitable<readonly ReportCompared[] | null>;
  sweep?(runId: string): Awaitable<ReportSweep | null>;
  edited?(runId: string, edits: readonly ReportEdit[]): Promise<ReportRun | null>;
  explain?(runId: string, failure: Failure): Awaitable<Explanation | null>;
  whatIfEdits(
    runId: string,
    set: Readonly<Record<string, string>>,
  ): Awaitable<ReturnType<DocumentAnalysis["whatIfEdits"]>>;
}

/** An analyzer as a server has it. */
export interface ServedAnalyzer {
  recognise(uri: string, text: string): Awaitable<Recognition | null>;
  /** As an analyzer does it; rejects with `Stopped` once nobody wants the answer. */
  analyse(uri: string, options: AnalysisOptions, signal?: AbortSignal): Promise<ServedAnalysis>;
  invalidate(uri: string): void;
  dispose?(): void;
}

export type CreateAnalyzer = (runtime: Runtime) => Analyzer;
