/** Trainers that generate in every step and have the completions rated (trl/experimental/{online_dpo,xpo,nash_md}). */
import type { TrainerKind } from "../run";

const ONLINE: ReadonlySet<TrainerKind> = new Set(["online-dpo", "xpo", "nash-md"]);

/** Whether a trainer rates its own completions, and copies the policy with the cache it generates with. */
export function isOnline(kind: TrainerKind): boolean {
  return ONLINE.has(kind);
}
