/**
 * The plan search.
 *
 * A plan is a set of levers that makes the run fit and of which no lever is superfluous: no proper subset fits. So a set
 * that fits settles all its supersets. Levers that are not marked uneven never raise the peak (but for fragmentation, a
 * percent or two), nor do stronger positions: a set that does not fit settles what is left of it without some of those,
 * and a position is found by bisection. Plans are compared with their levers at the strongest, where memory says how
 * much room there is; only those that are shown are then weakened as far as fitting allows. Estimates are the only cost;
 * phase peaks of the single levers predict which sets are worth one first.
 */
import { stepTimeFactor } from "../cost/step-time";
import type { Estimate } from "../report/estimate";
import type { TrainingRun } from "../training/run";
import { allowedLevers } from "./allowed";
import { lowersAny, PeakBounds, predictedPeak, sameMemory } from "./bounds";
import { fitsWithin, hostBytes } from "./limits";
import {
  changeOf,
  changeSize,
  effectOf,
  type Move,
  positioned,
  positionsOf,
  requirementsOf,
  STAY,
  strongest,
} from "./moves";
import { front, inOrderOfSize, masks } from "./plan-order";
import {
  EFFECTS,
  type Enough,
  type EstimateFunction,
  type Lever,
  type Plan,
  type SearchOptions,
  type SearchResult,
  type TimeFactor,
} from "./types";

/** Predictions this far above the limit are looked at last. */
const UNLIKELY = 1.25;
/** Share of the allowed estimates that is kept for weakening the plans that are shown. */
const KEPT_FOR_RELAXING = 0.3;
const DEFAULT_LEVERS = 3;
/** The pool holds at most about so many times what tensors need. */
const FRAGMENTED = 1.25;
/** Every peak is to be known exactly. */
const NEVER: Enough = () => false;

/** Finds every plan that fits `options.limitBytes`, smallest change first. See the file's head for what a plan is. */
export function searchPlans(
  run: TrainingRun,
  estimate: EstimateFunction,
  options: SearchOptions,
  timeFactor: TimeFactor = rooflineFactor,
): SearchResult {
  const result = new Search(run, estimate, options, timeFactor).result();
  const missed = result.plans.length > 0 && !result.plans.some(({ fits }) => fits);
  const left = (options.maxEstimates ?? Number.POSITIVE_INFINITY) - result.estimates;
  if (!missed || options.rare === true || left <= 0) return result;
  const wider = new Search(run, estimate, { ...options, rare: true, maxEstimates: left }, timeFactor).result();
  const estimates = result.estimates + wider.estimates;
  return wider.plans.some(({ fits }) => fits) ? { ...wider, estimates } : { ...result, estimates };
}

/** Step times by the cost model. */
export const rooflineFactor: TimeFactor = (base, changed) =>
  stepTimeFactor({ run: base.run, counts: base.estimate }, { run: changed.run, counts: changed.estimate });

class Search {
  private readonly known = new Map<string, Estimate | null>();
  private readonly bounds = new PeakBounds();
  private readonly base: Move;
  private most: number;
  private spent = 0;
  private stopped = false;
  /** Levers that apply and that the engine can estimate. */
  private levers: readonly Lever[] = [];
  /** Peak of each phase with one lever at its strongest, in the order of `levers`. */
  private singles: readonly Estimate[] = [];
  /** The levers marked uneven, as bits. */
  private uneven = 0;
  private readonly fitting: number[] = [];
  private readonly failing: number[] = [];
  private readonly plans = new Map<number, Plan>();
  /** Sets that do not fit, to tell the closest where none does. */
  private readonly misses: { readonly levers: readonly Lever[]; readonly move: Move }[] = [];

  constructor(
    run: TrainingRun,
    private readonly estimator: EstimateFunction,
    private readonly options: SearchOptions,
    private readonly timeFactor: TimeFactor,
  ) {
    this.base = STAY(run);
    this.most = Math.ceil((options.maxEstimates ?? Number.POSITIVE_INFINITY) * (1 - KEPT_FOR_RELAXING));
  }

  result(): SearchResult {
    const now = this.estimate(this.base, NEVER);
    if (now === null || this.fits(now)) return { plans: [], complete: true, estimates: this.spent };
    this.trySingles(now);
    this.tryWhole(now);
    this.trySets(now);
    const complete = !this.stopped;
    this.most = this.options.maxEstimates ?? Number.POSITIVE_INFINITY;
    if (this.fitting.length === 0) this.tryEverything();
    const plans = inOrderOfSize(this.best().map((plan) => (plan.fits ? this.relaxed(plan) : plan)));
    return { plans, complete, estimates: this.spent };
  }

  private fits(estimate: Estimate): boolean {
    return fitsWithin(estimate, this.options);
  }

  /** Whether a run that needs so many bytes does not fit: then it matters to nobody how many more it needs. */
  private readonly tooMuch: Enough = (bytes) => bytes > this.options.limitBytes;

  /**
   * null when the engine cannot say, or when no more estimates are allowed.
   *
   * @param enough which peaks need not be known but for their least
   */
  private estimate(move: Move, enough: Enough): Estimate | null {
    const key = JSON.stringify(move.steps);
    const known = this.known.get(key);
    const isKnown = known?.isAtLeast !== true || enough(known.usedPeakBytes);
    if (known !== undefined && isKnown) return known;
    if (this.spent >= this.most) {
      this.stopped = true;
      return null;
    }
    const found = this.estimator(move.run, enough);
    if (found !== null) {
      this.spent++;
      this.bounds.learn(move.run, found);
    }
    this.known.set(key, found);
    return found;
  }

  /** Whether earlier estimates already say that the run does not fit. */
  private excluded(move: Move): boolean {
    return this.bounds.atLeast(move.run) > this.options.limitBytes;
  }

  private members(mask: number): Lever[] {
    return this.levers.filter((_, index) => (mask & (1 << index)) !== 0);
  }

  /**
   * A lever that alone raises the peak and lowers no phase is none for this run, and one that leaves every phase as it is,
   * and the host where its memory is limited, would be superfluous in any plan.
   */
  private trySingles(now: Estimate): void {
    // What tensors need tells a change from the run as it is, but where the pools of both may lie the other way about.
    const apart: Enough = (bytes) =>
      this.tooMuch(bytes) && (bytes > now.usedPeakBytes || FRAGMENTED * bytes < now.usedPeakBytes);
    const singles = allowedLevers(this.options).flatMap((lever) => {
      const move = strongest(this.base, [lever]);
      const estimate = move === null ? null : this.estimate(move, apart);
      if (estimate === null) return [];
      if (estimate.usedPeakBytes > now.usedPeakBytes && !(lever.uneven && lowersAny(estimate, now))) return [];
      const frees = this.options.hostLimitBytes !== undefined && hostBytes(estimate) < hostBytes(now);
      return sameMemory(estimate, now) && !frees ? [] : [{ lever, estimate }];
    });
    this.levers = singles.map(({ lever }) => lever);
    this.singles = singles.map(({ estimate }) => estimate);
    const spends = ({ uneven, requires }: Lever): boolean =>
      uneven || (this.options.hostLimitBytes !== undefined && requires.some(({ kind }) => kind === "host-memory"));
    this.uneven = this.levers.reduce((mask, lever, index) => (spends(lever) ? mask | (1 << index) : mask), 0);
    for (const index of this.levers.keys()) this.settle(1 << index);
  }

  /**
   * Sets as large as can be had of all levers, of the even ones, and of those with each uneven one: one that does not
   * fit settles much of what is inside it.
   */
  private tryWhole(now: Estimate): void {
    const every = (1 << this.levers.length) - 1;
    const even = every & ~this.uneven;
    const singles = [...this.levers.keys()].map((index) => 1 << index).filter((bit) => (bit & this.uneven) !== 0);
    const whole = new Set([every, even, ...singles.map((bit) => even | bit)].flatMap((mask) => this.maximalSets(mask)));
    for (const mask of whole)
      if (this.predicted(mask, now) > 0.95 * this.options.limitBytes && !this.settled(mask)) this.settle(mask, false);
  }

  /** Sets that can bring something new first, then the other likely ones, then the unlikely ones. */
  private trySets(now: Estimate): void {
    const most = this.options.maxLevers ?? DEFAULT_LEVERS;
    const later: number[] = [];
    const late: number[] = [];
    for (let size = 2; size <= Math.min(most, this.levers.length); size++) {
      const likely: number[] = [];
      for (const mask of masks(this.levers.length, size)) {
        if (this.settled(mask)) continue;
        (this.predicted(mask, now) <= UNLIKELY * this.options.limitBytes ? likely : late).push(mask);
      }
      for (const mask of this.inOrder(likely, now)) {
        if (this.settled(mask)) continue;
        if (this.promising(mask, now)) this.settle(mask);
        else later.push(mask);
      }
    }
    for (const mask of [...this.inOrder(later, now), ...this.inOrder(late, now)]) {
      if (this.settled(mask)) continue;
      // What is left is neither smaller nor faster than what was found, or hardly fits.
      if (this.fitting.length > 0 && this.spent >= (this.options.enoughEstimates ?? Number.POSITIVE_INFINITY)) {
        this.stopped = true;
        return;
      }
      this.settle(mask);
    }
  }

  /** Whether a set has a lever that no plan has yet, or is a smaller or faster change than every plan so far. */
  private promising(mask: number, now: Estimate): boolean {
    const covered = this.fitting.reduce((all, fitting) => all | fitting, 0);
    if ((mask & ~covered) !== 0) return true;
    const levers = this.members(mask);
    const move = strongest(this.base, levers);
    if (move === null) return false;
    const size = changeSize(changeOf(move, levers));
    // Parameters hardly change, so the estimate of the run as it is serves for the time.
    const time = this.timeFactor({ run: this.base.run, estimate: now }, { run: move.run, estimate: now });
    return ![...this.plans.values()].some((plan) => changeSize(plan) <= size && plan.stepTimeFactor <= time);
  }

  /** Smallest change first, so that an early stop has the plans that people want. */
  private inOrder(sets: readonly number[], now: Estimate): number[] {
    const rank = new Map(
      sets.map((mask) => {
        const levers = this.members(mask);
        const move = strongest(this.base, levers);
        const size = move === null ? Number.POSITIVE_INFINITY : changeSize(changeOf(move, levers));
        return [mask, [size, this.predicted(mask, now)] as const] as const;
      }),
    );
    return [...sets].sort((a, b) => {
      const [x, y] = [rank.get(a)!, rank.get(b)!];
      return x[0] - y[0] || x[1] - y[1];
    });
  }

  private settled(mask: number): boolean {
    return (
      this.fitting.some((fitting) => (mask & fitting) === fitting) ||
      this.failing.some((failing) => (mask & failing) === mask && (failing & ~mask & this.uneven) === 0)
    );
  }

  /** When no few levers are enough: all that can be had together, less what is not needed, most harmful first. */
  private tryEverything(): void {
    const every = (1 << this.levers.length) - 1;
    const fitting = (mask: number): boolean => {
      const move = strongest(this.base, this.members(mask));
      const estimate = move === null ? null : this.estimate(move, this.tooMuch);
      return estimate !== null && this.fits(estimate);
    };
    const whole = this.maximalSets(every).find(fitting);
    if (whole === undefined) return;
    const rank = (index: number) => EFFECTS.indexOf(this.levers[index]!.effect);
    const order = [...this.levers.keys()].sort((a, b) => rank(b) - rank(a) || b - a);
    const needed = order.reduce((mask, index) => {
      const without = mask & ~(1 << index);
      return without !== mask && fitting(without) ? without : mask;
    }, whole);
    this.settle(needed);
  }

  /** Estimates a set at its strongest; when it fits, that is a plan. */
  private settle(mask: number, plan = true): void {
    const levers = this.members(mask);
    const move = strongest(this.base, levers);
    if (move === null) return;
    if (this.excluded(move)) {
      this.failing.push(mask);
      if (!plan) this.misses.push({ levers, move });
      return;
    }
    const estimate = this.estimate(move, this.tooMuch);
    if (estimate === null) return;
    if (!this.fits(estimate)) {
      this.failing.push(mask);
      if (!plan) this.misses.push({ levers, move });
    } else if (plan) {
      this.fitting.push(mask);
      this.plans.set(mask, this.plan(levers, move, estimate));
    }
  }

  /** Weakens one lever after the other, the one that changes most first, as long as the run fits. */
  private relaxed(plan: Plan): Plan {
    const mask = [...this.plans].find(([, known]) => known === plan)?.[0] ?? 0;
    const levers = this.members(mask);
    const positions = positionsOf(this.base, levers, plan);
    const order = [...levers.keys()].sort((a, b) => {
      const rank = (index: number) => EFFECTS.indexOf(levers[index]!.effect);
      return rank(b) - rank(a) || a - b;
    });
    let best = plan;
    for (const index of order) {
      let low = 0;
      let high = positions[index]!;
      while (low < high) {
        const middle = (low + high) >> 1;
        const tried = positioned(this.base, levers, positions.with(index, middle));
        const estimate = tried === null || this.excluded(tried) ? null : this.estimate(tried, this.tooMuch);
        if (tried !== null && estimate !== null && this.fits(estimate)) {
          best = this.plan(levers, tried, estimate);
          high = middle;
        } else low = middle + 1;
      }
      positions[index] = high;
    }
    return best;
  }

  private plan(levers: readonly Lever[], move: Move, estimate: Estimate): Plan {
    const base = this.estimate(this.base, NEVER);
    return {
      steps: move.steps,
      settings: move.settings,
      run: move.run,
      estimate,
      usedPeakBytes: estimate.usedPeakBytes,
      savesBytes: (base?.usedPeakBytes ?? 0) - estimate.usedPeakBytes,
      stepTimeFactor:
        base === null ? 1 : this.timeFactor({ run: this.base.run, estimate: base }, { run: move.run, estimate }),
      fits: this.fits(estimate),
      effect: effectOf(levers),
      requires: requirementsOf(levers),
    };
  }

  private predicted(mask: number, now: Estimate): number {
    return predictedPeak(
      now,
      this.singles.filter((_, index) => (mask & (1 << index)) !== 0),
    );
  }

  /** The largest sets of `allowed` levers that can be had together. */
  private maximalSets(allowed: number): number[] {
    const indices = [...this.levers.keys()].filter((index) => (allowed & (1 << index)) !== 0);
    const apart = new Map(
      indices.map((i) => {
        const others = indices.filter((j) => i !== j && strongest(this.base, this.pair(i, j)) === null);
        return [i, others.reduce((mask, j) => mask | (1 << j), 0)] as const;
      }),
    );
    const found: number[] = [];
    const grow = (mask: number, at: number): void => {
      const index = indices[at];
      if (index === undefined) {
        const whole = indices.every((i) => (mask & (1 << i)) !== 0 || (mask & apart.get(i)!) !== 0);
        if (whole && mask !== 0) found.push(mask);
        return;
      }
      if ((mask & apart.get(index)!) === 0) grow(mask | (1 << index), at + 1);
      if (apart.get(index) !== 0) grow(mask, at + 1);
    };
    grow(0, 0);
    return found;
  }

  private pair(i: number, j: number): Lever[] {
    return [this.levers[Math.min(i, j)]!, this.levers[Math.max(i, j)]!];
  }

  /** Plans without a superfluous lever and without a better one in every respect; the closest miss if none fits. */
  private best(): Plan[] {
    const fits = [...this.plans];
    if (fits.length === 0) {
      const measured = this.misses.flatMap((miss) => {
        const estimate = this.estimate(miss.move, this.tooMuch);
        return estimate === null ? [] : [{ ...miss, estimate }];
      });
      const [closest] = measured.toSorted((a, b) => a.estimate.usedPeakBytes - b.estimate.usedPeakBytes);
      if (closest === undefined) return [];
      const { levers, move, estimate } = closest;
      return [this.plan(levers, move, this.estimate(move, NEVER) ?? estimate)];
    }
    const minimal = fits.filter(([mask]) => !fits.some(([other]) => other !== mask && (mask & other) === other));
    return front(minimal.map(([, plan]) => plan));
  }
}
