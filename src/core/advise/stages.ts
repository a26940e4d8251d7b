/**
 * A staged plan for people who are new to this: first what costs nothing or next to nothing, then what trades time or
 * rounding for memory, then what changes the training or the machine. Each stage builds on the ones before it.
 */
import type { Estimate } from "../report/estimate";
import type { TrainingRun } from "../training/run";
import { allowedLevers, rooflineFactor } from "./search";
import {
  EFFECTS,
  type Effect,
  type Estimated,
  type EstimateFunction,
  type Lever,
  type LeverId,
  type LeverOption,
  type PlanStep,
  type Requirement,
  type SearchOptions,
  type SettingChange,
  type TimeFactor,
} from "./types";

export const STAGES = ["essentials", "optimised", "advanced"] as const;
export type StageId = (typeof STAGES)[number];

/** One lever of a stage: what it frees after everything before it, and what it costs. */
export interface StageItem {
  readonly step: PlanStep;
  readonly settings: readonly SettingChange[];
  /** The run with this and everything before it. */
  readonly run: TrainingRun;
  readonly effect: Effect;
  readonly requires: readonly Requirement[];
  readonly freesBytes: number;
  /** Against the run before this item. */
  readonly stepTimeFactor: number;
}

export interface Stage {
  readonly id: StageId;
  readonly items: readonly StageItem[];
  /** After the whole stage. */
  readonly usedPeakBytes: number;
  readonly fits: boolean;
  /** Against the run as it was. */
  readonly stepTimeFactor: number;
}

/** Which levers a stage tries, in this order. */
const CONTENTS: Readonly<Record<StageId, readonly LeverId[]>> = {
  essentials: ["attention", "expandable-segments", "mixed-precision", "fused-optimizer", "fused-loss"],
  optimised: ["gradient-checkpointing", "8-bit-optimizer", "adafactor", "zero-stage", "fsdp", "half-weights"],
  advanced: [
    "offload-fsdp",
    "offload-optimizer",
    "offload-parameters",
    "offload-checkpoints",
    "offload-activations",
    "plain-lora",
    "lora",
    "qlora",
    "shorter-sequence",
    "lora-rank",
    "lora-targets",
    "more-gpus",
  ],
};

/** An item that frees less than this much of the peak is not worth a beginner's attention. */
const WORTHWHILE = 0.01;

/**
 * The stages up to the first whose end fits; all of them when none does. Levers that free next to nothing at their
 * place are left out, and a lever goes only as far as fitting asks for. The micro-batch is what closes a stage: it is
 * lowered (with more accumulation) where that settles it, and otherwise only when everything else was tried.
 */
export function stagedPlan(
  run: TrainingRun,
  estimate: EstimateFunction,
  options: SearchOptions,
  timeFactor: TimeFactor = rooflineFactor,
): readonly Stage[] {
  const levers = new Map(allowedLevers(options).map((lever) => [lever.id, lever]));
  const first = estimate(run);
  if (first === null) return [];
  const { limitBytes } = options;
  const base: Estimated = { run, estimate: first };
  let state = base;
  const stages: Stage[] = [];
  for (const id of STAGES) {
    const items: StageItem[] = [];
    const take = (leverId: LeverId, onlyIfItFits: boolean): void => {
      const lever = levers.get(leverId);
      if (lever === undefined || state.estimate.usedPeakBytes <= limitBytes) return;
      const placed = place(lever, state, estimate, limitBytes);
      if (placed === null || (onlyIfItFits && placed.after.usedPeakBytes > limitBytes)) return;
      items.push(item(lever, state, placed, timeFactor));
      state = { run: placed.option.run, estimate: placed.after };
    };
    for (const leverId of CONTENTS[id]) {
      take(leverId, false);
      if (id === "advanced") take("micro-batch", true);
    }
    take("micro-batch", id !== "advanced");
    const fits = state.estimate.usedPeakBytes <= limitBytes;
    const { usedPeakBytes } = state.estimate;
    if (items.length > 0) stages.push({ id, items, usedPeakBytes, fits, stepTimeFactor: timeFactor(base, state) });
    if (fits) break;
  }
  return stages;
}

interface Placed {
  readonly option: LeverOption;
  readonly after: Estimate;
}

function item(lever: Lever, state: Estimated, { option, after }: Placed, timeFactor: TimeFactor): StageItem {
  return {
    step: { lever: lever.id, value: option.value },
    settings: option.settings,
    run: option.run,
    effect: lever.effect,
    requires: lever.requires,
    freesBytes: state.estimate.usedPeakBytes - after.usedPeakBytes,
    stepTimeFactor: timeFactor(state, { run: option.run, estimate: after }),
  };
}

/** The weakest position of a lever that fits, else its strongest; null when it frees nothing worth the change. */
function place(
  lever: Lever,
  { run, estimate: now }: Estimated,
  estimate: EstimateFunction,
  limitBytes: number,
): Placed | null {
  const options = lever.options(run);
  const strongest = options.at(-1);
  if (strongest === undefined) return null;
  const most = estimate(strongest.run);
  if (most === null || now.usedPeakBytes - most.usedPeakBytes < WORTHWHILE * now.usedPeakBytes) return null;
  let best: Placed = { option: strongest, after: most };
  if (most.usedPeakBytes <= limitBytes) {
    let low = 0;
    let high = options.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      const option = options[middle]!;
      const after = estimate(option.run);
      if (after !== null && after.usedPeakBytes <= limitBytes) {
        best = { option, after };
        high = middle;
      } else low = middle + 1;
    }
  }
  return best;
}

/** The strongest effect of a stage's items. */
export function stageEffect(stage: Stage): Effect {
  return EFFECTS[Math.max(0, ...stage.items.map(({ effect }) => EFFECTS.indexOf(effect)))]!;
}
