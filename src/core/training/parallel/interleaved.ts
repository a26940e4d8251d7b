/**
 * A rank with several stages of a pipeline: what of each is kept while another one's backward runs. Source:
 * torch/distributed/pipelining/schedules.py (ScheduleInterleaved1F1B, _get_warmup_ops, _get_1f1b_rank_ops).
 */

/** A rank in its pipeline. */
export interface InterleavedRank {
  readonly rank: number;
  readonly ranks: number;
  /** Stages of each rank: this one's are `rank`, `rank + ranks`, … */
  readonly stages: number;
  readonly microBatches: number;
}

/** What a rank's stages hold as a backward begins, in their order. */
export interface Kept {
  /** Micro-batches. */
  readonly counts: readonly number[];
  /** Whether it has gradients. */
  readonly trained: readonly boolean[];
}

interface Action {
  readonly stage: number;
  readonly backward: boolean;
}

/** Stages of a rank that are followed; as a model has layers, a config may ask for thousands. */
export const MOST_STAGES = 64;

/** Micro-batches that go through one stage before the next one's turn; null: torch refuses so many. */
function perRound({ ranks, microBatches }: InterleavedRank): number | null {
  const rounds = Math.max(1, Math.floor(microBatches / ranks));
  return microBatches % rounds === 0 ? microBatches / rounds : null;
}

function* actionsOf({ rank, ranks, stages, microBatches }: InterleavedRank, round: number): Generator<Action> {
  const all = stages * microBatches;
  const warmup = Math.min((stages - 1) * round + 2 * (ranks - 1 - rank), all);
  const forward = (step: number): number => Math.floor(step / round) % stages;
  const backward = (step: number): number => stages - 1 - (Math.floor(step / round) % stages);
  for (let step = 0; step < all + warmup; step++) {
    if (step < all) yield { stage: forward(step), backward: false };
    if (step >= warmup) yield { stage: backward(step - warmup), backward: true };
  }
}

/** Steps of a schedule that are looked at; longer ones repeat what these do. */
const MOST_STEPS = 100_000;

/** What is kept of a rank's stages, the first backward's first, each once; null: torch refuses so many micro-batches. */
export function keptOf(place: InterleavedRank): readonly Kept[] | null {
  const round = perRound(place);
  if (round === null) return null;
  const counts = new Array<number>(place.stages).fill(0);
  const trained = new Array<boolean>(place.stages).fill(false);
  const found = new Map<string, Kept>();
  let steps = 0;
  for (const { stage, backward } of actionsOf(place, round)) {
    if (++steps > MOST_STEPS) break;
    if (!backward) {
      counts[stage]!++;
      continue;
    }
    const key = `${counts} ${trained}`;
    if (!found.has(key)) found.set(key, { counts: [...counts], trained: [...trained] });
    trained[stage] = true;
    counts[stage]!--;
  }
  return [...found.values()];
}
