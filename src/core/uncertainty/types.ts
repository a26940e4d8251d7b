/** What an uncertainty is: who says so, where it comes from, and how far it moves the band. */
import type { Ledger } from "../engine/ledger";
import type { FamilyGraphs } from "../graph/types";
import type { Estimate } from "../report/estimate";
import type { Simulation } from "../simulate";
import type { SplitUncertainty } from "../training/parallel/local";
import type { TrainingRun } from "../training/run";

/** A run with what it was simulated on. */
export interface Facts {
  readonly run: TrainingRun;
  readonly graphs: FamilyGraphs;
  readonly simulation: Simulation;
  readonly ledger: Ledger;
  /** Bytes that the pool of the steps comes to. */
  readonly pool: () => number;
}

/** Bytes that may come on top of the peak or be spared, and the assumption that says so. */
export type Effect = SplitUncertainty;

interface Uncertainty {
  /** Stable name; `test/core/uncertainties.test.ts` has a run for each. */
  readonly id: string;
  /** The library's file that makes it so, or where it was measured. */
  readonly source: string;
}

/** Bytes of one buffer or kernel that the event stream cannot tell. */
export interface EffectRule extends Uncertainty {
  readonly effects: (facts: Facts) => readonly Effect[];
}

/** Code that was not captured, or is rewritten: the whole band moves. Null: the run has no such code. */
export interface BandRule extends Uncertainty {
  readonly widened: (estimate: Estimate, facts: Facts) => Estimate | null;
}
