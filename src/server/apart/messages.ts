/**
 * What the server and its analysis thread say to one another: plain data, in the order it is sent. The thread has no files of
 * its own; it asks for all it reads, so that unsaved text and what may be read are decided in one place.
 */
import type { DocumentAnalysis, Recognition } from "../../analysis/analyzer";
import type { AnalysisOptions } from "../../analysis/options";
import type { Report } from "../../core/report/schema";
import type { Errands } from "./errands";

/** Questions to an analysis that is there; the names are those of its methods. */
export type Question =
  | "hover"
  | "complete"
  | "fixes"
  | "links"
  | "whatIf"
  | "guide"
  | "compare"
  | "sweep"
  | "edited"
  | "explain"
  | "whatIfEdits";

/** What changes of the runtime while the server runs. */
export interface Surroundings {
  readonly hubCaches: readonly string[];
  readonly workspaceFolders: readonly string[];
  readonly trusted: boolean;
}

export type ToThread =
  | { readonly kind: "recognise"; readonly id: number; readonly uri: string; readonly text: string }
  | { readonly kind: "errand"; readonly id: number; readonly errand: keyof Errands; readonly given: readonly unknown[] }
  | {
      readonly kind: "analyse";
      readonly id: number;
      readonly uri: string;
      readonly options: Omit<AnalysisOptions, "stopped">;
      readonly around: Surroundings;
      /** One number in memory that both see: not 0 once nobody wants the answer. null: memory cannot be shared. */
      readonly stop: Int32Array | null;
    }
  | {
      readonly kind: "ask";
      readonly id: number;
      /** The request that made the analysis. */
      readonly analysis: number;
      readonly question: Question;
      readonly given: readonly unknown[];
    }
  | { readonly kind: "invalidate"; readonly uris: readonly string[] }
  | { readonly kind: "forget"; readonly analysis: number }
  | { readonly kind: "read"; readonly id: number; readonly value: unknown }
  /** Answered at once by a thread that is not busy. */
  | { readonly kind: "ping" };

export type FromThread =
  | { readonly kind: "ready" }
  | { readonly kind: "pong" }
  | { readonly kind: "done"; readonly id: number; readonly value: unknown }
  | { readonly kind: "failed"; readonly id: number; readonly message: string }
  | { readonly kind: "read"; readonly id: number; readonly what: ReadKind; readonly path: string };

export type ReadKind = "readText" | "stat" | "list" | "resolve" | "modelData" | "modelArchive";

/** An analysis as it is sent: all but what has to be asked for. */
export interface SentAnalysis extends Pick<DocumentAnalysis, "uri" | "dependencies"> {
  readonly recognition: Recognition | null;
  readonly report: Report;
}

/** One end of a channel between threads. */
export interface Port {
  post(message: unknown): void;
  listen(handler: (message: unknown) => void): void;
}
