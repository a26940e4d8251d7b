/**
 * Tensor parallelism: columns and rows of every matrix, the vocabulary's too, and all that is computed from them, are
 * split over the group. Sources: megatron/core/tensor_parallel/layers.py, torch/distributed/tensor/parallel/style.py.
 */
import { numel } from "../../engine/shape";
import type { Torch } from "../../engine/torch";
import { hiddenSize } from "../../graph/config";
import type { ComponentKind } from "../../report/estimate";
import type { TrainingRun } from "../run";
import { sequencesPerSample } from "../trainers/sequences";
import { isWhole } from "./tensor-plan/sequences";

/** What is as large as a matrix of weights, which may have as many elements as the residual stream. */
const OF_WEIGHTS: ReadonlySet<ComponentKind> = new Set(["weights", "gradients", "optimizer"]);

/**
 * How many ways a tensor is split. The residual stream between the split matrices is whole on every GPU unless sequence
 * parallelism splits it, too (megatron/core/tensor_parallel/mappings.py).
 */
export function shareOf(run: TrainingRun, torch: Torch): Torch["share"] {
  const { tensorParallel, sequenceParallel, sequencePlan } = run.parallel;
  if (tensorParallel <= 1) return undefined;
  if (sequenceParallel === true && sequencePlan === undefined) return () => tensorParallel;
  const stream =
    run.microBatchSize * sequencesPerSample(run) * run.sequenceLength * (hiddenSize(run.model.config) ?? 0);
  return (sizes, kind) => {
    const isStream = numel(sizes) === stream && !(kind !== undefined && OF_WEIGHTS.has(kind));
    return isStream && (sequenceParallel !== true || isWhole(torch, sequencePlan!)) ? 1 : tensorParallel;
  };
}
