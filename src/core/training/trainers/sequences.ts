/** How many sequences a trainer runs at once. */
import type { TrainerKind, TrainerSpec, TrainingRun } from "../run";

/** Sequences one sample of the micro-batch becomes: preferences are chosen and rejected in one batch. */
const SEQUENCES: Readonly<Record<TrainerKind, number>> = {
  sft: 1,
  dpo: 2,
  kto: 1,
  orpo: 2,
  cpo: 2,
  reward: 2,
  rm: 2,
  embedding: 1,
  grpo: 1,
  rloo: 1,
  gkd: 1,
  ppo: 1,
  "online-dpo": 2,
  xpo: 1,
  "nash-md": 1,
};

/** Sequences of one sample under a trainer; 1 for the plain ones. */
export function sequencesOf(trainer: TrainerSpec | null | undefined): number {
  if (trainer == null) return 1;
  // Reward models of TRL before 0.24 run what was chosen and what was rejected one after the other.
  return trainer.variant["apart"] === true ? 1 : SEQUENCES[trainer.kind];
}

/** Sequences that one sample of a run is: those of its trainer, or the choices of a question. */
export function sequencesPerSample({ trainer, choices = 1 }: Pick<TrainingRun, "trainer" | "choices">): number {
  return sequencesOf(trainer) * choices;
}
