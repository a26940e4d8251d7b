/** Messages between the page that shows what really happened and the extension that hosts it. */
import type { Explanation } from "./protocol";

/** One sample of an estimate's timeline: bytes alive, `at` from 0 to 1 over the step. */
export interface EstimatePoint {
  readonly at: number;
  readonly phase: string;
  readonly allocatedBytes: number;
}

/** Host → page. Complete snapshots of what is to be shown. */
export type HostToEvidence =
  | {
      readonly type: "explanations";
      /** What the log is called. */
      readonly label: string;
      readonly explanations: readonly Explanation[];
      readonly locale: string;
    }
  | {
      readonly type: "snapshot";
      readonly label: string;
      /** URL of the file, to be read by the page. */
      readonly file: string;
      /** The run's own estimate, to be drawn beside; null: no run is known. */
      readonly estimate: { readonly label: string; readonly points: readonly EstimatePoint[] } | null;
      readonly locale: string;
      /** URL of the worker's program, to be read by the page. */
      readonly worker: string;
    }
  /** There is nothing to show, and why. */
  | { readonly type: "nothing"; readonly label: string; readonly message: string; readonly locale: string }
  /** What became of an action, to be announced. */
  | { readonly type: "outcome"; readonly ok: boolean; readonly message: string };

/** Page → host. */
export type EvidenceToHost =
  | { readonly type: "ready" }
  /** Writes a change of an explanation into the files, or shows it first. */
  | { readonly type: "apply" | "preview"; readonly explanation: number; readonly advice: number }
  /** Shows a line of a source file, if it is one of the workspace. */
  | { readonly type: "source"; readonly file: string; readonly line: number }
  /** Opens the config that a failure was matched with. */
  | { readonly type: "open"; readonly uri: string };
