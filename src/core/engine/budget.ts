/**
 * How far a run is followed. What repeats is folded, so a run's cost is that of the distinct things in it; loops that make
 * blocks of their own in every round (a recurrence over millions of tokens, a hundred thousand scoring passes that each keep
 * a result) still have a stream as long as they are. Past these lengths it is not followed: the answer says so.
 */
import { say } from "../../words/message";
import { NotModelled } from "./not-modelled";

/** Events of a run, played ones included: about half a second, and 200 MB. */
export const MOST_EVENTS = 12_000_000;
/** Allocations that are simulated one by one: ordinary runs have tens of thousands. */
export const MOST_SIMULATED = 2_000_000;

/** The run was not followed to its end; what was alive until then is a lower bound. */
export class OverBudget extends NotModelled {
  constructor(readonly atLeastBytes: number) {
    super(say("engine.too-long", { millions: MOST_EVENTS / 1e6, size: `${(atLeastBytes / 2 ** 30).toFixed(1)} GiB` }));
  }
}
