/** What the parallel degrees of a run multiply to. */
import type { ParallelSpec } from "../run";

type Degrees = Pick<ParallelSpec, "tensorParallel" | "pipelineParallel" | "contextParallel">;

/** Ranks that one micro-batch of one copy of the model is split over. */
export function modelParallelSize({ tensorParallel, pipelineParallel, contextParallel }: Degrees): number {
  return tensorParallel * pipelineParallel * contextParallel;
}

/** Ranks that one copy of a stage's experts is split over: a mesh of its own in Megatron (megatron/core/parallel_state.py). */
export function expertParallelSize({
  tensorParallel,
  expertParallel,
  expertTensorParallel = tensorParallel,
}: Pick<ParallelSpec, "tensorParallel" | "expertParallel" | "expertTensorParallel">): number {
  return expertParallel * expertTensorParallel;
}

/** Ranks that share a stage's experts, of those that share its other weights: less than one where experts are split by less. */
export function expertShare(parallel: Parameters<typeof expertParallelSize>[0]): number {
  return expertParallelSize(parallel) / parallel.tensorParallel;
}

/** Processes of a run: one has all GPUs where it puts layers on each (`device_map`). */
export function processesOf({ worldSize, oneAtATime }: Pick<ParallelSpec, "worldSize" | "oneAtATime">): number {
  return oneAtATime === true ? 1 : Math.max(1, worldSize);
}

/** Groups of ranks that have samples of their own; not whole where the degrees do not divide the ranks. */
export function dataParallelSize(parallel: Degrees & Pick<ParallelSpec, "worldSize">): number {
  return Math.max(1, parallel.worldSize / modelParallelSize(parallel));
}

/** GPUs that share one copy of the parameters. */
export function shardedOver(parallel: ParallelSpec): number {
  return Math.max(1, dataParallelSize(parallel) / (parallel.fsdp?.replicas ?? 1));
}
