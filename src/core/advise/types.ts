/** What the planner works with: levers as data, plans as its answer. */
import type { SettingName } from "../../terms/settings";
import type { Enough, Estimate } from "../report/estimate";
import type { TrainingRun } from "../training/run";
import type { Limits } from "./limits";

export type { Enough } from "../report/estimate";

/** Canonical setting and its new value, a list as several texts; null removes the key. Mirrors the formats' own type, which core must not import. */
export interface SettingChange {
  readonly name: SettingName;
  readonly value: string | number | boolean | null | readonly string[];
}

/**
 * What a lever does to the optimisation itself: `nothing` (the same mathematics, computed otherwise), `numerics`
 * (rounding, or an approximation of the same optimizer) or `method` (something else is trained).
 */
export const EFFECTS = ["nothing", "numerics", "method"] as const;
export type Effect = (typeof EFFECTS)[number];

/** Something besides the config that a lever needs. */
export interface Requirement {
  readonly kind: "package" | "host-memory" | "nvme" | "devices";
  /** Package name as pip knows it; for host memory, what is kept there. */
  readonly name: string;
}

/** Every lever, in the order in which the best plan of each is added to those that are shown. */
export const LEVER_IDS = [
  "micro-batch",
  "gradient-checkpointing",
  "checkpointing-kind",
  "checkpoint-every-layer",
  "fused-loss",
  "attention",
  "flash-attention",
  "mixed-precision",
  "fp8",
  "packing",
  "half-weights",
  "fused-optimizer",
  "8-bit-optimizer",
  "paged-8-bit-optimizer",
  "adafactor",
  "lion-8bit",
  "muon",
  "4-bit-optimizer",
  "galore",
  "apollo",
  "zero-stage",
  "fsdp",
  "more-gpus",
  "tensor-parallel",
  "sequence-parallel",
  "context-parallel",
  "pipeline-parallel",
  "expert-parallel",
  "offload-nvme",
  "offload-fsdp",
  "offload-optimizer",
  "offload-parameters",
  "offload-activations",
  "offload-checkpoints",
  "expandable-segments",
  "lora",
  "dora",
  "plain-lora",
  "lora-targets",
  "8-bit-base",
  "qlora",
  "lora-rank",
  "shorter-sequence",
] as const;

export type LeverId = (typeof LEVER_IDS)[number];

/** One position of a lever. */
export interface LeverOption {
  /** Shown to people: 2 (micro-batch), `adafactor`, … */
  readonly value: string | number;
  readonly run: TrainingRun;
  readonly settings: readonly SettingChange[];
  /** Share of a sample that the model still sees, where the position cuts samples, 0..1. */
  readonly kept?: number;
}

export interface Lever {
  readonly id: LeverId;
  readonly effect: Effect;
  readonly requires: readonly Requirement[];
  /** The lever saves in one place and spends in another (copies, buckets), so that it can raise the peak of a set. */
  readonly uneven: boolean;
  /** Taken for reasons of one's own: searched only when nothing fits without such levers. */
  readonly rare: boolean;
  /**
   * Positions that `run` can go to, weakest first; none when the lever does not apply to it. A stronger position never
   * needs more memory than a weaker one.
   */
  options(run: TrainingRun): readonly LeverOption[];
}

/** One lever of a plan at its position. */
export interface PlanStep {
  readonly lever: LeverId;
  readonly value: string | number;
  /** As of the position. */
  readonly kept?: number;
}

export interface Plan {
  readonly steps: readonly PlanStep[];
  readonly settings: readonly SettingChange[];
  /** The run after the changes, and what the engine says of it. */
  readonly run: TrainingRun;
  readonly estimate: Estimate;
  readonly usedPeakBytes: number;
  /** Against the run as it is; negative when the plan needs more. */
  readonly savesBytes: number;
  /** Time for the same tokens over that of the run as it is. */
  readonly stepTimeFactor: number;
  readonly fits: boolean;
  readonly effect: Effect;
  readonly requires: readonly Requirement[];
}

export interface SearchOptions extends Limits {
  /** Mean share of a row that samples fill, where rows are padded: packing then needs fewer of them. */
  readonly filledShare?: number;
  /** Keep micro-batch × accumulation × ranks (default true: the micro-batch lever raises the accumulation). */
  readonly keepGlobalBatch?: boolean;
  /** Leave out levers that change rounding or the optimizer. */
  readonly keepNumerics?: boolean;
  /** Allow LoRA and QLoRA on a full fine-tune (default true). */
  readonly allowAdapters?: boolean;
  /** Allow levers that need another package (default true). */
  readonly allowPackages?: boolean;
  /** Levers marked rare take part, too (default false: only when nothing fits without them). */
  readonly rare?: boolean;
  /** Levers to leave out by id. */
  readonly without?: readonly LeverId[];
  /** Most levers in one plan (default 3). */
  readonly maxLevers?: number;
  /** Most calls of the estimator (default unlimited); the search says when it stopped early. */
  readonly maxEstimates?: number;
  /** Calls after which, once there is a plan, sets that promise nothing new are left alone (default unlimited). */
  readonly enoughEstimates?: number;
}

export interface SearchResult {
  /** Smallest change first; empty when the run fits as it is. */
  readonly plans: readonly Plan[];
  /** False when `maxEstimates` ended the search before every combination was settled. */
  readonly complete: boolean;
  readonly estimates: number;
}

/** null: the engine cannot estimate this run. A peak that is `enough` may be told by its least (`isAtLeast`). */
export type EstimateFunction = (run: TrainingRun, enough?: Enough) => Estimate | null;

/** A run with what the engine says of it. */
export interface Estimated {
  readonly run: TrainingRun;
  readonly estimate: Estimate;
}

/** Time of `changed` over that of `base` for the same tokens. */
export type TimeFactor = (base: Estimated, changed: Estimated) => number;
