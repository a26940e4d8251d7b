/** Which plans are shown, and in which order; sets of levers as bits. */

import { changeSize } from "./moves";
import { LEVER_IDS, type Plan } from "./types";

/**
 * Plans that no other beats in size of change, time and memory at once, and for every lever that none of them uses the
 * best plan that does: people have reasons of their own to prefer a lever. Smallest change first.
 */
export function front(plans: readonly Plan[]): Plan[] {
  const scores = (plan: Plan) => [changeSize(plan), plan.stepTimeFactor, plan.usedPeakBytes] as const;
  const beats = (a: Plan, b: Plan): boolean => {
    const [x, y] = [scores(a), scores(b)];
    return x.every((value, index) => value <= y[index]!) && x.some((value, index) => value < y[index]!);
  };
  const ordered = inOrderOfSize(plans);
  const chosen = new Set(ordered.filter((plan) => !ordered.some((other) => beats(other, plan))));
  for (const lever of LEVER_IDS) {
    const uses = (plan: Plan) => plan.steps.some((step) => step.lever === lever);
    const best = ordered.find(uses);
    if (best !== undefined && ![...chosen].some(uses)) chosen.add(best);
  }
  return inOrderOfSize([...chosen]);
}

/** Smallest change first, then the faster, then the smaller. */
export function inOrderOfSize(plans: readonly Plan[]): Plan[] {
  return [...plans].sort(
    (a, b) => changeSize(a) - changeSize(b) || a.stepTimeFactor - b.stepTimeFactor || a.usedPeakBytes - b.usedPeakBytes,
  );
}

/** Every set of `size` of `count` things, as bits. */
export function* masks(count: number, size: number, from = 0): Generator<number> {
  if (size === 0) yield 0;
  else
    for (let index = from; index <= count - size; index++)
      for (const rest of masks(count, size - 1, index + 1)) yield rest | (1 << index);
}
