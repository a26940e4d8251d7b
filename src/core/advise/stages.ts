/**
 * A staged plan for people who are new to this: first what costs nothing or next to nothing, then what trades time or
 * rounding for memory, then what changes the training or the machine. Each stage builds on the ones before it.
 */
import type { Estimate } from "../report/estimate";
import type { TrainingRun } from "../training/run";
import { allowedLevers } from "./allowed";
import { fitsHost, fitsWithin, hostBytes, type Limits } from "./limits";
import { stepOf } from "./moves";
import { rooflineFactor } from "./search";
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
  optimised: [
    "gradient-checkpointing",
    "8-bit-optimizer",
    "adafactor",
    "zero-stage",
    "fsdp",
    "sequence-parallel",
    "tensor-parallel",
    "context-parallel",
    "expert-parallel",
    "pipeline-parallel",
    "half-weights",
  ],
  advanced: [
    "offload-nvme",
    "offload-fsdp",
    "offload-optimizer",
    "offload-parameters",
    "offload-checkpoints",
    "offload-activations",
    "plain-lora",
    "lora",
    "qlora",
    "lora-rank",
    "lora-targets",
    "more-gpus",
    "shorter-sequence",
  ],
};

/** An item that frees less than this much of the peak is not worth a beginner's attention. */
const WORTHWHILE = 0.01;

/** The levers by what people call them: those of one name are positions of one. */
function byName(options: SearchOptions): ReadonlyMap<LeverId, Lever> {
  const named = new Map<LeverId, Lever>();
  for (const lever of allowedLevers(options)) {
    const before = named.get(lever.id);
    const all = (run: TrainingRun) => [...(before?.options(run) ?? []), ...lever.options(run)];
    named.set(lever.id, before === undefined ? lever : { ...lever, options: all });
  }
  return named;
}

/**
 * The stages up to the first whose end fits; all of them when none does. Levers that free next to nothing at their
 * place are left out, and a lever goes only as far as fitting asks for. What host memory has no room for goes to a drive at
 * once, or stays where it is. The micro-batch is what closes a stage: it is lowered (with more accumulation) where that
 * settles it, and otherwise only when everything else was tried.
 */
export function stagedPlan(
  run: TrainingRun,
  estimate: EstimateFunction,
  options: SearchOptions,
  timeFactor: TimeFactor = rooflineFactor,
): readonly Stage[] {
  const levers = byName(options);
  const first = estimate(run);
  if (first === null) return [];
  const base: Estimated = { run, estimate: first };
  let state = base;
  const stages: Stage[] = [];
  for (const id of STAGES) {
    const items: StageItem[] = [];
    const take = (leverId: LeverId, onlyIfItFits: boolean): void => {
      const lever = levers.get(leverId);
      if (lever === undefined || fitsWithin(state.estimate, options)) return;
      const placed = withDrive(lever, levers.get("offload-nvme"), state, estimate, options);
      const end = placed.at(-1)?.after;
      if (end === undefined || (onlyIfItFits && !fitsWithin(end, options))) return;
      for (const one of placed) {
        items.push(item(state, one, timeFactor));
        state = { run: one.option.run, estimate: one.after };
      }
    };
    for (const leverId of CONTENTS[id]) {
      take(leverId, false);
      if (id === "advanced") take("micro-batch", true);
    }
    take("micro-batch", id !== "advanced");
    const fits = fitsWithin(state.estimate, options);
    const { usedPeakBytes } = state.estimate;
    if (items.length > 0) stages.push({ id, items, usedPeakBytes, fits, stepTimeFactor: timeFactor(base, state) });
    if (fits) break;
  }
  return stages;
}

interface Placed {
  readonly lever: Lever;
  readonly option: LeverOption;
  readonly after: Estimate;
}

function item(state: Estimated, { lever, option, after }: Placed, timeFactor: TimeFactor): StageItem {
  return {
    step: stepOf(lever, option),
    settings: option.settings,
    run: option.run,
    effect: lever.effect,
    requires: lever.requires,
    freesBytes: state.estimate.usedPeakBytes - after.usedPeakBytes,
    stepTimeFactor: timeFactor(state, { run: option.run, estimate: after }),
  };
}

/** A lever in its place, with the drive behind it where the host has no room for what it frees; empty for none. */
function withDrive(
  lever: Lever,
  drive: Lever | undefined,
  state: Estimated,
  estimate: EstimateFunction,
  limits: Limits,
): readonly Placed[] {
  const placed = place(lever, state, estimate, limits);
  if (placed === null) return [];
  if (fitsHost(placed.after, limits) || !fitsHost(state.estimate, limits)) return [placed];
  const waiting = { run: placed.option.run, estimate: placed.after };
  const moved = drive === undefined ? null : place(drive, waiting, estimate, limits);
  return moved !== null && fitsHost(moved.after, limits) ? [placed, moved] : [];
}

/** Whether a change frees enough of what there is too little of. */
function worthwhile(now: Estimate, after: Estimate, limits: Limits): boolean {
  const onHost = !fitsHost(now, limits) && hostBytes(now) - hostBytes(after) >= WORTHWHILE * hostBytes(now);
  const onGpu = now.usedPeakBytes - after.usedPeakBytes >= WORTHWHILE * now.usedPeakBytes;
  return onHost || (onGpu && now.usedPeakBytes > limits.limitBytes);
}

/** The weakest position of a lever that fits, else its strongest; null when it frees nothing worth the change. */
function place(
  lever: Lever,
  { run, estimate: now }: Estimated,
  estimate: EstimateFunction,
  limits: Limits,
): Placed | null {
  const options = lever.options(run);
  const strongest = options.at(-1);
  if (strongest === undefined) return null;
  const most = estimate(strongest.run);
  if (most === null || !worthwhile(now, most, limits)) return null;
  let best: Placed = { lever, option: strongest, after: most };
  if (most.usedPeakBytes <= limits.limitBytes) {
    let low = 0;
    let high = options.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      const option = options[middle]!;
      const after = estimate(option.run);
      if (after !== null && after.usedPeakBytes <= limits.limitBytes) {
        best = { lever, option, after };
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
