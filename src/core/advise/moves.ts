/** Applying several levers to a run, one after the other. */
import type { TrainingRun } from "../training/run";
import type { Effect, Lever, LeverId, LeverOption, Plan, PlanStep, Requirement, SettingChange } from "./types";
import { EFFECTS } from "./types";

/** Levers at chosen positions: the run they make of the base, and how. */
export interface Move {
  readonly run: TrainingRun;
  readonly steps: readonly PlanStep[];
  readonly settings: readonly SettingChange[];
}

export const STAY = (run: TrainingRun): Move => ({ run, steps: [], settings: [] });

/** A lever at one of its positions. */
export function stepOf(lever: Lever, { value, kept }: LeverOption): PlanStep {
  return { lever: lever.id, value, ...(kept === undefined ? {} : { kept }) };
}

function extend(move: Move, lever: Lever, option: LeverOption): Move {
  const names = new Set(option.settings.map(({ name }) => name));
  return {
    run: option.run,
    steps: [...move.steps, stepOf(lever, option)],
    settings: [...move.settings.filter(({ name }) => !names.has(name)), ...option.settings],
  };
}

/** Levers that leave nothing to another one: with both, the plan is the stronger lever's alone and one setting more. */
const COVERED: Readonly<Partial<Record<LeverId, LeverId>>> = {
  "half-weights": "mixed-precision",
  qlora: "lora",
  "8-bit-base": "lora",
};

/**
 * All levers at the strongest positions that they can have together; null when they cannot be had together (one takes
 * away what another needs, or leaves it nothing to do).
 */
export function strongest(move: Move, levers: readonly Lever[]): Move | null {
  const [lever, ...rest] = levers;
  if (lever === undefined) return move;
  if (move.steps.some((step) => step.lever === COVERED[lever.id])) return null;
  const options = lever.options(move.run);
  for (let index = options.length - 1; index >= 0; index--) {
    const next = strongest(extend(move, lever, options[index]!), rest);
    if (next !== null) return next;
  }
  return null;
}

/** The levers at given positions, counted from the weakest; null when a lever does not have that position there. */
export function positioned(move: Move, levers: readonly Lever[], positions: readonly number[]): Move | null {
  let current = move;
  for (const [index, lever] of levers.entries()) {
    const option = lever.options(current.run)[positions[index] ?? -1];
    if (option === undefined) return null;
    current = extend(current, lever, option);
  }
  return current;
}

/** Positions, counted from the weakest, that a move has its levers at. */
export function positionsOf(base: Move, levers: readonly Lever[], move: Pick<Move, "steps">): number[] {
  let current = base;
  return levers.map((lever, index) => {
    const options = lever.options(current.run);
    const position = options.findIndex(({ value }) => value === move.steps[index]?.value);
    current = extend(current, lever, options[position]!);
    return position;
  });
}

/** The strongest effect of several levers. */
export function effectOf(levers: readonly Lever[]): Effect {
  return EFFECTS[Math.max(0, ...levers.map(({ effect }) => EFFECTS.indexOf(effect)))]!;
}

/** What several levers need, each thing once. */
export function requirementsOf(levers: readonly Lever[]): Requirement[] {
  const found = new Map<string, Requirement>();
  for (const requirement of levers.flatMap(({ requires }) => requires))
    found.set(`${requirement.kind} ${requirement.name}`, requirement);
  return [...found.values()];
}

/** How many settings' worth a change of the optimisation weighs: touching numbers one more, the method three more. */
const WEIGHT: Readonly<Record<Effect, number>> = { nothing: 0, numerics: 1, method: 3 };

/** What the size of a change is told from. */
export type Change = Pick<Plan, "settings" | "effect" | "requires" | "steps">;

/** Levers that were moved, as a change. */
export function changeOf({ settings, steps }: Move, levers: readonly Lever[]): Change {
  return { settings, steps, effect: effectOf(levers), requires: requirementsOf(levers) };
}

/** More hardware weighs as much as training something else. */
const DEVICES_WEIGHT = 3;

/**
 * Size of a change, for "smallest change first": settings touched, plus the weight of its effect and of new GPUs. Cut
 * samples weigh as often as what is lost of them holds what is kept: half of a sample is one change of the method, an
 * eighth is seven, behind whatever keeps them whole.
 */
export function changeSize({ settings, effect, requires, steps }: Change): number {
  const devices = requires.some(({ kind }) => kind === "devices") ? DEVICES_WEIGHT : 0;
  const cut = steps.reduce((most, { kept = 1 }) => Math.max(most, 1 / kept - 1), 0);
  return settings.length + Math.max(WEIGHT[effect], WEIGHT.method * cut) + devices;
}
