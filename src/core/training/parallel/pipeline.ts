/**
 * Pipeline parallelism: the stages that may be the fullest, each as a run of its own. In the 1F1B schedule the first
 * stage runs as many forwards as there are stages before its first backward. Source:
 * megatron/core/pipeline_parallel/schedules.py; torch/distributed/pipelining/schedules.py (`Schedule1F1B`).
 */
import type { Torch } from "../../engine/torch";
import type { FamilyGraphs } from "../../graph/types";
import type { TrainingRun } from "../run";
import { reserveWhole, type Strategy } from "./strategy";
import { withSizes } from "./with-sizes";

/** A rank's part in a run: all of them alike, or an end of the pipeline. */
export type Role = "any" | "first" | "last";

/** One stage, with the micro-batches whose activations wait there while another one is run. */
export interface Stage {
  readonly role: Role;
  readonly run: TrainingRun;
  readonly waiting: number;
}

/** The first stage, where activations wait, and the last, which makes the logits; the run itself without a pipeline. */
export function stagesOf(run: TrainingRun, family: FamilyGraphs, layers: number): readonly Stage[] {
  const { pipelineParallel } = run.parallel;
  if (pipelineParallel <= 1) return [{ role: "any", run, waiting: 0 }];
  const config = withSizes(run.model.config, family, { num_hidden_layers: Math.ceil(layers / pipelineParallel) });
  const stage: TrainingRun = {
    ...run,
    // Either end holds one matrix of the vocabulary's size.
    model: { ...run.model, config: { ...config, tie_word_embeddings: true } },
    parallel: { ...run.parallel, pipelineParallel: 1 },
  };
  const waiting = run.parallel.oneAtATime ? 0 : Math.min(pipelineParallel, run.gradientAccumulationSteps) - 1;
  return [
    { role: "first", run: { ...stage, fusedLoss: true, fusedLayers: run.fusedLayers ?? run.fusedLoss }, waiting },
    { role: "last", run: stage, waiting: 0 },
  ];
}

/** The strategy with `bytes` of other micro-batches' activations kept while one is run. */
export function whileWaiting(strategy: Strategy, bytes: number): Strategy {
  let kept: { release(): void } | null = null;
  return Object.create(strategy, {
    beginPass: {
      value(torch: Torch): void {
        kept = reserveWhole(torch, "waiting_micro_batches", bytes, "uint8", "activations");
        strategy.beginPass?.(torch);
      },
    },
    endPass: {
      value(torch: Torch): void {
        strategy.endPass?.(torch);
        kept?.release();
        kept = null;
      },
    },
  });
}
