/**
 * How far a run is followed. What repeats is folded, so a run's cost is that of the distinct things in it; loops that make
 * blocks of their own in every round (a recurrence over millions of tokens, a hundred thousand scoring passes that each keep
 * a result) still have a stream as long as they are. Past these lengths it is not followed: the answer says so.
 */
import { say } from "../../words/message";
import { NotModelled } from "./not-modelled";

/** Events of a run, played ones included: about half a second, and 200 MB. */
export const MOST_EVENTS = 12_000_000;
/** Events that are played in the time that one allocation takes to simulate, with the operator that makes it (1.1 against 0.13 µs). */
export const SIMULATED = 8;

/** Allocations that are simulated one by one: ordinary runs have tens of thousands, the largest known 70,000. */
export const MOST_SIMULATED = 400_000;
/** Weights of a model: the one with the most has 70,000 (experts that are counted one by one). */
export const MOST_WEIGHTS = 150_000;

/** The model has more weights than are looked at. */
export class TooManyWeights extends NotModelled {
  constructor() {
    super(say("engine.too-many-weights", { count: String(MOST_WEIGHTS) }));
  }
}

/** The run was not followed to its end; what was alive until then is a lower bound. */
export class OverBudget extends NotModelled {
  /** @param most what it has more of: events, or allocations that are simulated */
  constructor(
    readonly atLeastBytes: number,
    most = MOST_EVENTS,
  ) {
    super(say("engine.too-long", { millions: most / 1e6, size: `${(atLeastBytes / 2 ** 30).toFixed(1)} GiB` }));
  }
}
