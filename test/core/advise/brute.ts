/** Plans by the definition of a plan alone: slow, and plainly right. */
import { strict as assert } from "node:assert";
import { allowedLevers } from "../../../src/core/advise/allowed";
import { fitsWithin } from "../../../src/core/advise/limits";
import { effectOf, type Move, positioned, requirementsOf, STAY, strongest } from "../../../src/core/advise/moves";
import { front, inOrderOfSize, masks } from "../../../src/core/advise/plan-order";
import {
  EFFECTS,
  type EstimateFunction,
  type Lever,
  type Plan,
  type SearchOptions,
  type TimeFactor,
} from "../../../src/core/advise/types";
import type { Estimate } from "../../../src/core/report/estimate";
import type { TrainingRun } from "../../../src/core/training/run";

/** Every set of levers at every combination of positions, by the definition of a plan alone. */
export function bruteForce(
  run: TrainingRun,
  estimator: EstimateFunction,
  options: SearchOptions,
  timeFactor: TimeFactor,
): Plan[] {
  const estimate = (of: TrainingRun): Estimate => {
    const found = estimator(of);
    assert.ok(found);
    return found;
  };
  // What the estimator has nothing to say of is no plan.
  const fits = (of: TrainingRun): boolean => {
    const found = estimator(of);
    return found !== null && fitsWithin(found, options);
  };
  const base = estimate(run);
  if (fitsWithin(base, options)) return [];
  const levers = allowedLevers(options).filter((lever) => lever.options(run).length > 0);
  const found = new Map<number, Plan>();
  for (let size = 1; size <= (options.maxLevers ?? 3); size++)
    for (const mask of masks(levers.length, size)) {
      if ([...found.keys()].some((other) => (mask & other) === other)) continue;
      const members = levers.filter((_, index) => (mask & (1 << index)) !== 0);
      const strong = strongest(STAY(run), members);
      if (strong === null || !fits(strong.run)) continue;
      found.set(mask, planOf(strong, members));
    }
  // Compared at their strongest, then weakened.
  const shown = front([...found.values()]).map((plan) => {
    const mask = [...found].find(([, known]) => known === plan)?.[0] ?? 0;
    const members = levers.filter((_, index) => (mask & (1 << index)) !== 0);
    const move = weakest(run, members, fits);
    assert.ok(move);
    return planOf(move, members);
  });
  return inOrderOfSize(shown);

  function planOf(move: Move, members: readonly Lever[]): Plan {
    const used = estimate(move.run);
    return {
      ...move,
      estimate: used,
      usedPeakBytes: used.usedPeakBytes,
      savesBytes: base.usedPeakBytes - used.usedPeakBytes,
      stepTimeFactor: timeFactor({ run, estimate: base }, { run: move.run, estimate: used }),
      fits: true,
      effect: effectOf(members),
      requires: requirementsOf(members),
    };
  }
}

/** Of all positions that fit, the weakest: of the lever that changes most first. */
function weakest(run: TrainingRun, levers: readonly Lever[], fits: (run: TrainingRun) => boolean) {
  const order = [...levers.keys()].sort(
    (a, b) => EFFECTS.indexOf(levers[b]!.effect) - EFFECTS.indexOf(levers[a]!.effect) || a - b,
  );
  let best: { key: number[]; positions: number[] } | undefined;
  const visit = (positions: number[]): void => {
    if (positions.length < levers.length) {
      for (let position = 0; position < 24; position++) visit([...positions, position]);
      return;
    }
    const move = positioned(STAY(run), levers, positions);
    if (move === null || !fits(move.run)) return;
    const key = order.map((index) => positions[index]!);
    const smaller =
      best === undefined ||
      key.find((value, index) => value !== best!.key[index])! < best.key.find((value, index) => value !== key[index])!;
    if (smaller) best = { key, positions };
  };
  // Most levers have one position: visiting only those that exist keeps this exhaustive and quick.
  const counts = levers.map((_, index) => countAt(run, levers.slice(0, index), levers[index]!));
  const product = counts.reduce<number[][]>(
    (all, count) => all.flatMap((prefix) => Array.from({ length: count }, (_, position) => [...prefix, position])),
    [[]],
  );
  for (const positions of product) visit(positions);
  return best === undefined ? null : positioned(STAY(run), levers, best.positions);
}

function countAt(run: TrainingRun, before: readonly Lever[], lever: Lever): number {
  const move = strongest(STAY(run), before);
  const counts = [run, ...(move === null ? [] : [move.run])].map((each) => lever.options(each).length);
  return Math.max(...counts, 3);
}
