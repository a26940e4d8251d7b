/** Estimates with a memory of their own: the same run is simulated once, however many surfaces ask. */

import { type EstimateResult, estimate } from "../../core/estimate";
import type { FamilyGraphs } from "../../core/graph/types";
import type { PaddedBatches } from "../../core/padded";
import type { Enough } from "../../core/report/estimate";
import type { TrainingRun } from "../../core/training/run";
import { say } from "../../words/message";

const MOST_KEPT = 400;

export class Estimator {
  private readonly results = new Map<string, EstimateResult>();
  private readonly graphIds = new WeakMap<FamilyGraphs, number>();
  private nextId = 1;

  /**
   * Never throws: what the engine cannot do is an answer, too. `peaks` leaves breakdown and timeline out; for
   * `enough` and `batches` see the engine's `estimate`.
   */
  estimate(
    run: TrainingRun,
    graphs: FamilyGraphs | undefined,
    detail: "full" | "peaks" = "full",
    enough?: Enough,
    batches?: PaddedBatches,
  ): EstimateResult {
    const whole = this.keyOf(run, graphs);
    const plain = detail === "peaks" && !this.results.has(whole) ? `peaks ${whole}` : whole;
    const key = batches === undefined ? plain : `${JSON.stringify(batches)} ${whole}`;
    const known = this.results.get(key);
    if (known !== undefined) {
      // Re-inserted, so that the oldest unused falls out first.
      this.results.delete(key);
      this.results.set(key, known);
      return known;
    }
    let result: EstimateResult;
    try {
      result = estimate(run, graphs, detail, enough, batches);
    } catch (error) {
      result = {
        ok: false,
        code: "not-modelled",
        reason: say("engine.fault", { failure: error instanceof Error ? error.message : String(error) }),
      };
    }
    // What is only known to be too much is not kept: others may want the figure.
    if (result.ok && result.estimate.isAtLeast) return result;
    this.results.set(key, result);
    this.results.set(plain, result);
    const oldest = this.results.size > MOST_KEPT ? this.results.keys().next().value : undefined;
    if (oldest !== undefined) this.results.delete(oldest);
    return result;
  }

  /** Runs are compared by content: a file that is read again gives a config of its own. */
  private keyOf(run: TrainingRun, graphs: FamilyGraphs | undefined): string {
    return `${graphs === undefined ? 0 : this.id(this.graphIds, graphs)} ${JSON.stringify(run)}`;
  }

  private id<T extends object>(ids: WeakMap<T, number>, value: T): number {
    let id = ids.get(value);
    if (id === undefined) {
      id = this.nextId++;
      ids.set(value, id);
    }
    return id;
  }
}
