/** Small pieces that levers are written with. */
import type { SettingName } from "../../../terms/settings";
import type { DeepSpeedSpec, ParallelSpec, TrainingRun } from "../../training/run";
import type { Effect, Lever, LeverId, LeverOption, Requirement, SettingChange } from "../types";

export const set = (name: SettingName, value: SettingChange["value"]): SettingChange => ({ name, value });

/** The only position of a lever. */
export const one = (value: string | number, run: TrainingRun, ...settings: SettingChange[]): LeverOption[] => [
  { value, run, settings },
];

export const needs = (name: string): Requirement => ({ kind: "package", name });
export const hostMemory = (name: string): Requirement => ({ kind: "host-memory", name });

/** What a lever is besides its positions. */
export interface Traits {
  readonly requires?: readonly Requirement[];
  /** It spends memory, too: copies, buckets, float32 leftovers. */
  readonly uneven?: boolean;
  /** Taken for reasons of one's own: searched only when nothing fits without such levers. */
  readonly rare?: boolean;
}

/** Whether the loss is the model's own, or SFT's: other trainers take neither fused losses nor packed rows. */
export function learnsFromText({ trainer }: TrainingRun): boolean {
  return trainer == null || trainer.kind === "sft";
}

export function lever(
  id: LeverId,
  effect: Effect,
  options: (run: TrainingRun) => readonly LeverOption[],
  { requires = [], uneven = false, rare = false }: Traits = {},
): Lever {
  return { id, effect, requires, options, uneven, rare };
}

export function withParallel(run: TrainingRun, change: Partial<ParallelSpec>): TrainingRun {
  return { ...run, parallel: { ...run.parallel, ...change } };
}

export function withDeepSpeed(run: TrainingRun, change: Partial<DeepSpeedSpec>): TrainingRun {
  const { deepspeed } = run.parallel;
  return deepspeed === null ? run : withParallel(run, { deepspeed: { ...deepspeed, ...change } });
}

/** Whether DeepSpeed or FSDP carries the run out. */
export function sharded(run: TrainingRun): boolean {
  return run.parallel.deepspeed !== null || run.parallel.fsdp !== null;
}

export function older(version: string, major: number): boolean {
  const found = Number.parseInt(version, 10);
  return Number.isFinite(found) && found < major;
}

/** Halves of `from` down to `least`, largest first. */
export function halves(from: number, least: number): number[] {
  const found: number[] = [];
  for (let value = Math.floor(from / 2); value >= least; value = Math.floor(value / 2)) found.push(value);
  return found;
}
