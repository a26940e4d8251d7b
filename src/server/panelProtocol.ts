/** Messages between the panel's page and the extension that hosts it. */

import type { Range, Report, ReportCompared, ReportGuide, ReportRun, ReportSweep } from "../core/report/schema";
import type { LocalCard } from "../terms/local-card";

/**
 * Host → page. Every message is a complete snapshot, never a difference: a hidden page keeps only the newest.
 */
export type HostToPage =
  | {
      readonly type: "report";
      readonly uri: string;
      /** Name to show: path below the workspace folder. */
      readonly label: string;
      readonly report: Report;
      /** Run to show: the one the person picked, else the document's first; null when there is none. */
      readonly runId: string | null;
      readonly locale: string;
      /** Share of usable memory that plans keep free, 0..1. */
      readonly reserve: number;
      /** Whether the panel follows the active editor. */
      readonly follow: boolean;
      /** Why the file is read as a training config. */
      readonly because: string;
      /** Whether the cards of this machine can be asked for. */
      readonly localCards: boolean;
      /** Whether an editor stands beside the page: to follow, to show changes in, with other files to compare with. */
      readonly editor: boolean;
      /** Whether the person's own code may be run, once that is agreed to: in a trusted workspace, of a file on this machine. */
      readonly runsCode: boolean;
    }
  | { readonly type: "whatIfResult"; readonly id: number; readonly runId: string; readonly run: ReportRun | null }
  /** Answers to the page's questions of the same name; null when there is nothing to say. */
  | { readonly type: "guide"; readonly runId: string; readonly guide: ReportGuide | null }
  | { readonly type: "compare"; readonly runId: string; readonly lines: readonly ReportCompared[] | null }
  | { readonly type: "sweep"; readonly runId: string; readonly sweep: ReportSweep | null }
  /** The run to stand beside the shown one, and what it is. */
  | { readonly type: "against"; readonly runId: string; readonly label: string; readonly run: ReportRun }
  /** The cards of this machine, as the vendor's tool reports them now. */
  | { readonly type: "localCards"; readonly cards: readonly LocalCard[] }
  /** The file cannot be read as it is: the report shown is the last good one. */
  | { readonly type: "broken"; readonly because: string }
  /** The report shown is being recomputed. */
  | { readonly type: "busy" }
  /** There is nothing to show, and why. */
  | {
      readonly type: "empty";
      readonly reason: "no-document" | "not-recognised" | "starting" | "off" | "failed";
      readonly message: string;
      readonly locale: string;
      /** A workspace is open, in which configs can be looked for. */
      readonly workspace?: boolean;
    }
  /** Outcome of an action of the page, to be announced politely. */
  | { readonly type: "outcome"; readonly action: PageAction; readonly ok: boolean; readonly message: string };

export type PageAction = "applyPlan" | "previewPlan" | "applyWhatIf" | "previewWhatIf" | "settle" | "export";

/** Page → host. */
export type PageToHost =
  /** The page is loaded and wants its report. */
  | { readonly type: "ready" }
  /** Asks for the run with other values; answered by `whatIfResult` with the same `id`. Newer ids supersede older. */
  | {
      readonly type: "whatIf";
      readonly id: number;
      readonly runId: string;
      readonly set: Readonly<Record<string, string>>;
    }
  /** Asks for the plan in stages and the limits, or for the comparison of cards, of a run as the files say it. */
  | { readonly type: "guide" | "compare" | "sweep"; readonly runId: string }
  /** Asks what to put beside the run: another config, the last commit, a plan; answered by `against`, if at all. */
  | { readonly type: "against"; readonly runId: string }
  /** The person wants to see the cards of this machine: the vendor's tool is started, which nothing else does. */
  | { readonly type: "localCards" }
  | { readonly type: "applyPlan"; readonly runId: string; readonly planIndex: number; readonly title: string }
  | { readonly type: "previewPlan"; readonly runId: string; readonly planIndex: number; readonly title: string }
  /** Writes what a what-if tried into the files, or shows the changes first. */
  | {
      readonly type: "applyWhatIf" | "previewWhatIf";
      readonly runId: string;
      readonly set: Readonly<Record<string, string>>;
    }
  /** Chooses a GPU: the one named, or one from the editor's quick pick; the editor asks where to keep it. */
  | { readonly type: "pickDevice"; readonly device?: string }
  /** Names the model of the document: the editor asks for a folder, or for a name of the catalogue. */
  | { readonly type: "pickModel"; readonly from: "folder" | "catalogue" }
  /** Looks for training configs in the whole workspace. */
  | { readonly type: "checkAll" }
  /** Traces the model of the document: the editor shows what would be run, and asks. */
  | { readonly type: "trace" }
  /** Shows a place in an editor. */
  | { readonly type: "reveal"; readonly uri: string; readonly range: Range }
  /** Writes the pin that settles an assumption. */
  | { readonly type: "settle"; readonly key: string; readonly value: string }
  /** `text` is the document to save; for `png` a base64 string. `copy` puts it on the clipboard instead. */
  | {
      readonly type: "export";
      readonly format: "markdown" | "html" | "json" | "csv" | "svg" | "png" | "copy";
      readonly text: string;
    }
  /** The person picked another run of the document. */
  | { readonly type: "selectRun"; readonly runId: string }
  /** Follow the active editor, or stay with this document. */
  | { readonly type: "follow"; readonly follow: boolean };

/** What the page keeps with `setState`, and the host reads to restore a panel after a reload. */
export interface PageState {
  readonly uri?: string;
  readonly runId?: string;
  readonly follow?: boolean;
}
