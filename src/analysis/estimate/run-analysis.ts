/** One run with its estimate: what hovers, findings, fixes and what-ifs are made from. */
import type { VariedReserve } from "../../core/allocator/lengths";
import type { EstimateResult } from "../../core/estimate";
import { buildsNoMask } from "../../core/graph/flash";
import { boundOfPadded, MOST_PADDED, type PaddedBatches, reserveOfPadded } from "../../core/padded";
import type { Enough, Estimate } from "../../core/report/estimate";
import type { ReportEdit } from "../../core/report/schema";
import type { TrainingRun } from "../../core/training/run";
import { say } from "../../words/message";
import type { RunInputs } from "../linking/inputs";
import type { Locale } from "../messages";
import type { AnalysisOptions } from "../options";
import { type Choice, type Resolution, resolveRun, type Supposition } from "../resolve";
import type { Estimator } from "./estimator";
import { hasHosts, openSplit } from "./gpu-count";
import { Stopped } from "./stopped";
import { needsMore, usableOf, type Verdict, verdictOf } from "./verdict";

/**
 * Events that one answer may follow beside those of the run itself (what other values, plans and batches come to), what is
 * simulated among them counted for as many as it takes: one to two seconds. Ordinary runs come to a hundred thousand, so that
 * it is more than anything asked for takes.
 */
const MOST_BESIDE = 12_000_000;
const TOO_LONG: EstimateResult = {
  ok: false,
  code: "not-modelled",
  reason: say("engine.no-time-left"),
};

/** A run resolved and estimated under some overrides. */
export interface Variant {
  readonly resolution: Resolution;
  readonly result: EstimateResult | undefined;
  readonly estimate: Estimate | undefined;
  readonly usable: number | null;
  readonly verdict: Verdict;
}

/** The verdict; one GPU is no answer for a run that is meant for several when nothing says how many, or how it is split. */
function judged(resolution: Resolution, estimate: Estimate | undefined, usable: number | null): Verdict {
  return (needsMore({ estimate, usable }) && openSplit(resolution) !== undefined) ||
    (usable !== null && hasHosts(resolution))
    ? "unknown"
    : verdictOf(estimate, usable);
}

/** How a run's batches differ in length; undefined where they do not. */
function batchesOf({ run, padding }: Resolution): PaddedBatches | undefined {
  return run === null || padding === null
    ? undefined
    : { ...padding, samples: padding.grouped ? 1 : run.microBatchSize };
}

/** The run as its files will say it with some edits; undefined when it is no run any more. */
export type Reread = (edits: readonly ReportEdit[]) => Promise<RunAnalysis | undefined>;

export class RunAnalysis {
  /** The run as its documents (and the person's own overrides) state it. */
  readonly base: Variant;
  private paddedReserve: VariedReserve | null | undefined;
  private variedBase: Variant | undefined;
  /** Events that the answer in the making may still take. */
  private left = MOST_BESIDE;
  private isCut = false;

  constructor(
    readonly inputs: RunInputs,
    readonly options: AnalysisOptions,
    readonly locale: Locale,
    private readonly estimator: Estimator,
    readonly reread: Reread,
    detail: "full" | "peaks" = "full",
  ) {
    this.base = this.vary({}, detail, detail === "full");
    this.begin();
  }

  /** Another question is to be answered: it may take as long as any. */
  begin(): void {
    this.left = MOST_BESIDE;
    this.isCut = false;
  }

  /** Counts what another analysis took for this answer. */
  spend({ base }: RunAnalysis): void {
    this.left -= base.estimate?.effort ?? 0;
  }

  /** Whether something was left out of the present answer because it takes too long. */
  get cutShort(): boolean {
    return this.isCut;
  }

  /** Peaks of a run made from this one's, without a breakdown; undefined when the engine cannot say. */
  estimateOf(run: TrainingRun, enough?: Enough): Estimate | undefined {
    const { result } = this.simulate(run, "peaks", enough);
    return result.ok ? result.estimate : undefined;
  }

  /** What the allocator's pool holds when batches differ in length; null when they do not, or nothing is known. */
  get padded(): VariedReserve | null {
    if (this.paddedReserve === undefined) {
      const { resolution, estimate, result } = this.base;
      const batches = batchesOf(resolution);
      const long = (estimate?.events ?? 0) > MOST_PADDED;
      if (long && batches !== undefined) this.isCut = true;
      const known = result?.ok ? result.padded : undefined;
      this.paddedReserve =
        resolution.run === null || batches === undefined || estimate === undefined || long
          ? null
          : known !== undefined
            ? known
            : reserveOfPadded(
                resolution.run,
                this.inputs.graphs,
                batches,
                estimate.usedPeakBytes - estimate.reservedPeakBytes,
              );
    }
    return this.paddedReserve;
  }

  /** The run as it is written, with what batches of different lengths do to the pool in its band. */
  get varied(): Variant {
    this.variedBase ??= this.widened();
    return this.variedBase;
  }

  /** Whether a variant is the run as it is written. */
  isBase(variant: Variant): boolean {
    return variant === this.base || variant === this.variedBase;
  }

  private widened(): Variant {
    const { base } = this;
    const { estimate, resolution, usable } = base;
    const { run, padding } = resolution;
    const reserve = run === null || estimate === undefined || padding?.varies !== true ? null : this.padded;
    if (run === null || estimate === undefined || reserve === null) return base;
    const highBytes = boundOfPadded(estimate, reserve, run, usable);
    if (highBytes === estimate.band.highBytes) return base;
    const wider = { ...estimate, band: { ...estimate.band, highBytes } };
    return { ...base, estimate: wider, verdict: judged(resolution, wider, usable) };
  }

  /**
   * The run with further overrides; cheap when it was asked before. `peaks` leaves the breakdown out, `padded` finds what
   * batches of different lengths do to the pool from the same simulation, where that will be asked for. `enough` tells the
   * peaks that need not be known but for their least.
   */
  vary(
    set: Readonly<Record<string, string>>,
    detail: "full" | "peaks" = "full",
    padded = false,
    enough?: Enough,
  ): Variant {
    const choice: Choice = {
      device: this.options.device,
      defaultDevice: this.options.defaultDevice,
      deviceCount: this.options.deviceCount,
      learns: this.options.learns,
      set: { ...this.options.set, ...set },
    };
    const resolved = resolveRun(this.inputs, choice);
    const shown = padded && (resolved.padding?.varies === true || this.options.guide === true);
    const simulated =
      resolved.run === null
        ? undefined
        : this.simulate(resolved.run, detail, enough, shown ? batchesOf(resolved) : undefined);
    const resolution =
      simulated?.supposed === undefined
        ? resolved
        : { ...resolved, suppositions: [...resolved.suppositions, simulated.supposed] };
    const result = simulated?.result;
    const estimate = result?.ok ? result.estimate : undefined;
    const usable = usableOf(resolution.device.spec);
    return { resolution, result, estimate, usable, verdict: judged(resolution, estimate, usable) };
  }

  /**
   * Kernels without masks (flash attention by whatever package, flex attention, xformers) of families whose graphs were
   * captured with SDPA only: SDPA's own flash kernel saves the same tensors (query, key, value, output and one float32 per
   * row), so its graph stands in without masks, and the report says so.
   */
  private simulate(
    run: TrainingRun,
    detail: "full" | "peaks",
    enough?: Enough,
    batches?: PaddedBatches,
  ): { result: EstimateResult; supposed?: Supposition } {
    if (this.options.stopped?.() === true) throw new Stopped();
    if (this.left <= 0) {
      this.isCut = true;
      return { result: TOO_LONG };
    }
    const result = this.estimator.estimate(run, this.inputs.graphs, detail, enough, batches);
    if (result.ok) this.left -= result.estimate.effort;
    const captured = this.inputs.graphs?.graphs.some(({ attention }) => attention === run.attention);
    if (!result.ok || captured === true || !buildsNoMask(run.attention)) return { result };
    const supposed = { message: say("assume.attention", { attention: run.attention }), settleWith: "attention" };
    return { result, supposed };
  }
}
