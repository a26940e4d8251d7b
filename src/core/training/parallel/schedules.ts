/**
 * What a rank with several stages of a pipeline does, in its order: torch's own schedules. Source:
 * torch/distributed/pipelining/schedules.py, whose classes' names the functions have.
 */

/** How stages of a rank take turns. */
export type StagesSchedule =
  | "interleaved"
  | "looped-bfs"
  | "interleaved-zero-bubble"
  | "zbv-zero-bubble"
  | "dual-pipe-v";

/** A rank in its pipeline. */
export interface SeveralStages {
  readonly rank: number;
  readonly ranks: number;
  /** Stages of each rank. */
  readonly stages: number;
  readonly microBatches: number;
  readonly schedule: StagesSchedule;
}

/** `stage` counts this rank's; `input` and `weight` are the two halves of a backward. */
export interface Action {
  readonly stage: number;
  readonly does: "forward" | "backward" | "input" | "weight";
}

/** Schedules whose ranks have one stage on the way there and one on the way back. */
const FOLDED: ReadonlySet<string> = new Set<StagesSchedule>(["zbv-zero-bubble", "dual-pipe-v"]);

/** The numbers of a rank's stages among all (`generate_rank_to_stage_mapping`). */
export function stagesOfRank({ rank, ranks, stages, schedule }: Omit<SeveralStages, "microBatches">): number[] {
  if (FOLDED.has(schedule)) return [rank, 2 * ranks - 1 - rank];
  return Array.from({ length: stages }, (_, k) => rank + k * ranks);
}

/** A rank's actions; null: torch refuses so many stages or micro-batches. */
export function actionsOf(place: SeveralStages): Iterable<Action> | null {
  const { ranks, stages, microBatches, schedule } = place;
  if (FOLDED.has(schedule) && stages !== 2) return null;
  if (schedule === "looped-bfs") return loopedBfs(place);
  if (schedule === "zbv-zero-bubble") return zbvZeroBubble(place);
  if (schedule === "dual-pipe-v") return microBatches < 2 * ranks ? null : dualPipeV(place);
  const rounds = Math.max(1, Math.floor(microBatches / ranks));
  if (microBatches % rounds !== 0) return null;
  return interleaved(place, microBatches / rounds);
}

/** `ScheduleInterleaved1F1B` and `ScheduleInterleavedZeroBubble` (`_get_1f1b_rank_ops`). */
function* interleaved(
  { rank, ranks, stages, microBatches, schedule }: SeveralStages,
  round: number,
): Generator<Action> {
  const splits = schedule === "interleaved-zero-bubble";
  const all = stages * microBatches;
  const hops = (splits ? 1 : 2) * (ranks - 1 - rank);
  const warmup = Math.min((stages - 1) * round + hops, all);
  const forward = (step: number): number => Math.floor(step / round) % stages;
  const backward = (step: number): number => stages - 1 - (Math.floor(step / round) % stages);
  let weights = 0;
  for (let step = 0; step < all + warmup; step++) {
    if (step < all) yield { stage: forward(step), does: "forward" };
    if (step < warmup) continue;
    yield { stage: backward(step - warmup), does: splits ? "input" : "backward" };
    if (splits && step - warmup >= rank) yield { stage: backward(weights++), does: "weight" };
  }
  while (splits && weights < all) yield { stage: backward(weights++), does: "weight" };
}

/** `ScheduleLoopedBFS`. */
function* loopedBfs({ stages, microBatches }: SeveralStages): Generator<Action> {
  for (let stage = 0; stage < stages; stage++) for (let k = 0; k < microBatches; k++) yield { stage, does: "forward" };
  for (let stage = stages - 1; stage >= 0; stage--)
    for (let k = 0; k < microBatches; k++) yield { stage, does: "backward" };
}

/** `ScheduleZBVZeroBubble`; what it plans of micro-batches that are not there is left out. */
function* zbvZeroBubble({ rank, ranks, microBatches }: SeveralStages): Generator<Action> {
  const planned = Math.max(2 * ranks - 1, microBatches);
  const done = { forward: [0, 0], input: [0, 0], weight: [0, 0] };
  const act = (does: "forward" | "input" | "weight", stage: 0 | 1): Action[] =>
    done[does][stage]!++ < microBatches ? [{ stage, does }] : [];
  const both = (stage: 0 | 1): Action[] => [...act("input", stage), ...act("weight", stage)];
  for (let k = 0; k < 2 * (ranks - rank) - 1; k++) yield* act("forward", 0);
  for (let k = 0; k < rank; k++) yield* [...act("forward", 1), ...act("forward", 0)];
  for (let k = 0; k < ranks - rank; k++) yield* [...act("forward", 1), ...both(1)];
  while (done.forward[1]! < done.forward[0]! || done.forward[0]! < planned) {
    if (done.forward[0]! < planned) yield* act("forward", 0);
    yield* [...both(0), ...act("forward", 1), ...both(1)];
  }
  for (let k = 0; k < rank; k++) yield* [...act("input", 0), ...act("input", 1)];
  for (let k = 0; k < ranks - rank; k++) yield* [...act("input", 0), ...act("weight", 0)];
  for (const stage of [1, 0] as const) while (done.weight[stage]! < done.input[stage]!) yield* act("weight", stage);
}

/** `ScheduleDualPipeV`. */
function* dualPipeV({ rank, ranks, microBatches }: SeveralStages): Generator<Action> {
  const pending: Action[] = [];
  const act = (does: Action["does"], stage: number): Action => {
    if (does === "input") pending.push({ stage, does: "weight" });
    return { stage, does };
  };
  const oldest = (): Action[] => pending.splice(0, 1);
  const after = ranks - rank - 1;
  for (let k = 0; k < 2 * after; k++) yield act("forward", 0);
  for (let k = 0; k <= rank; k++) yield* [act("forward", 0), act("forward", 1)];
  for (let k = 0; k < after; k++) {
    yield act("input", 1);
    yield* [...oldest(), act("forward", 1)];
  }
  for (let k = 0; k < microBatches - 2 * ranks + rank + 1; k++)
    yield* [act("forward", 0), act("backward", 1), act("forward", 1), act("backward", 0)];
  for (let k = 0; k < after; k++) yield* [act("backward", 1), act("forward", 1), act("backward", 0)];
  let splits = false;
  const half = Math.floor((rank + 1) / 2);
  for (let k = 0; k <= rank; k++) {
    if (k === half && rank % 2 === 1) splits = true;
    yield act(splits ? "input" : "backward", 1);
    if (k === half && rank % 2 === 0) splits = true;
    yield act(splits ? "input" : "backward", 0);
  }
  for (let k = 0; k < after; k++) yield* [...oldest(), act(splits ? "input" : "backward", 0)];
  while (pending.length > 0) yield* oldest();
}
