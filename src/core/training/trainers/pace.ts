/** Rollouts at another micro-batch: what is generated at once and how often follows as the trainer's config has it. */
import type { TrainingRun } from "../run";
import type { RolloutPace, RolloutSpec } from "../specs/trainer";

/**
 * How many completions are generated at once, and how often (trl/trainer/grpo_config.py, __post_init__;
 * trl/trainer/grpo_trainer.py, `generate_every` and `old_per_token_logps`).
 */
export function paced(
  { steps, sequences, everyStep, iterations, alwaysScores }: RolloutPace,
  microBatch: number,
  accumulation: number,
): Required<Pick<RolloutSpec, "sequences" | "every" | "scores">> {
  const each = steps ?? (sequences === undefined ? accumulation : sequences / microBatch);
  const every = everyStep ? accumulation : Math.max(1, Math.round(each * iterations));
  return {
    sequences: Math.max(microBatch, Math.round(microBatch * each)),
    every,
    scores: alwaysScores || accumulation % every !== 0,
  };
}

/**
 * The run with another micro-batch and accumulation.
 *
 * @param devices times as many of them, which share what is generated at once
 */
export function atBatch(run: TrainingRun, microBatch: number, accumulation: number, devices = 1): TrainingRun {
  const other = { ...run, microBatchSize: microBatch, gradientAccumulationSteps: accumulation };
  const rollout = run.trainer?.rollout;
  if (run.trainer == null || rollout?.pace === undefined) return other;
  const { sequences } = rollout.pace;
  const pace = sequences === undefined ? rollout.pace : { ...rollout.pace, sequences: sequences / devices };
  const next = { ...rollout, pace, ...paced(pace, microBatch, accumulation) };
  const { variant } = run.trainer;
  return {
    ...other,
    trainer: {
      ...run.trainer,
      variant: "old" in variant ? { ...variant, old: next.scores } : variant,
      rollout: next,
    },
  };
}
