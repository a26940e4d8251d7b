/** One run with its estimate: what hovers, findings, fixes and what-ifs are made from. */
import type { EstimateResult } from "../core/estimate";
import type { Estimate } from "../core/report/estimate";
import type { TrainingRun } from "../core/training/run";
import type { AnalysisOptions } from "./analyzer";
import type { Estimator } from "./estimator";
import type { RunInputs } from "./inputs";
import type { Locale } from "./messages";
import { type Choice, type Resolution, resolveRun } from "./resolve";
import { usableOf, type Verdict, verdictOf } from "./verdict";

/** A run resolved and estimated under some overrides. */
export interface Variant {
  readonly resolution: Resolution;
  readonly result: EstimateResult | undefined;
  readonly estimate: Estimate | undefined;
  readonly usable: number | null;
  readonly verdict: Verdict;
}

export class RunAnalysis {
  /** The run as its documents (and the person's own overrides) state it. */
  readonly base: Variant;

  constructor(
    readonly inputs: RunInputs,
    readonly options: AnalysisOptions,
    readonly locale: Locale,
    private readonly estimator: Estimator,
  ) {
    this.base = this.vary({});
  }

  /** Peaks of a run made from this one's, without a breakdown; undefined when the engine cannot say. */
  estimateOf(run: TrainingRun): Estimate | undefined {
    const result = this.estimator.estimate(run, this.inputs.graphs, "peaks");
    return result.ok ? result.estimate : undefined;
  }

  /** The run with further overrides; cheap when it was asked before. */
  vary(set: Readonly<Record<string, string>>, estimateToo = true): Variant {
    const choice: Choice = {
      device: this.options.device,
      defaultDevice: this.options.defaultDevice,
      deviceCount: this.options.deviceCount,
      set: { ...this.options.set, ...set },
    };
    const resolution = resolveRun(this.inputs, choice);
    const result =
      resolution.run === null || !estimateToo ? undefined : this.estimator.estimate(resolution.run, this.inputs.graphs);
    const estimate = result?.ok ? result.estimate : undefined;
    const usable = usableOf(resolution.device.spec);
    return { resolution, result, estimate, usable, verdict: verdictOf(estimate, usable) };
  }
}
