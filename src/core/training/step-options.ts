/** What the loop of a step is told: its batch, its accumulation, what runs before it. */

import type { CompiledParts } from "../engine/compiled/tape";
import type { DType } from "../engine/dtype";
import type { Tensor } from "../engine/tensor";
import type { StageEnds } from "../graph/stage";
import type { BatchTensor } from "./forward";
import type { FurtherPasses } from "./further";
import type { KeptBatches, LoopSpec } from "./run";

export interface StepOptions {
  readonly batch: readonly BatchTensor[];
  readonly autocast: DType | null;
  readonly accumulation: number;
  readonly maxGradNorm: number;
  /** Gradients are set to zero between steps, not let go. */
  readonly keepsGradients: boolean;
  /**
   * One micro-batch a step, whose batch and outputs are local variables of the step: they live until the optimizer is done,
   * and accelerate converts nothing.
   */
  readonly plainLoop?: boolean;
  /** Micro-batches that the loop names beyond their forward; null: each goes with it. */
  readonly keepsBatches: KeptBatches | null;
  /** What of a micro-batch lives until the next one's is there; null: nothing. */
  readonly loop: LoopSpec | null;
  /** Modules keep tensors to their next forward: no micro-batch does what the one before did. */
  readonly keepsStates?: boolean;
  /** The first forward converts buffers for good: the first step does not do what later ones do. */
  readonly settles?: boolean;
  /**
   * The model is one stage of a pipeline: what it is given and the gradient of what it gives are in buffers that are there
   * already, and outputs live until backward is done.
   */
  readonly stage?: StageEnds | undefined;
  /** Whether every saved activation waits in host memory, sent each or once per storage. */
  readonly offloads: "each" | "once" | null;
  /** Whether what repeats is derived instead of simulated again. */
  readonly fold: boolean;
  /** Whether it is in micro-batches that leave something behind: throws `LayersDiffer` where they do not repeat. */
  readonly foldsInPlace: boolean;
  /** Whether the rounds of loops inside layers are: throws `RoundsDiffer` where they do not repeat. */
  readonly foldsRounds: boolean;
  /** Parameters as the optimizer groups them. */
  readonly groups: readonly (readonly Tensor[])[];
  /** Trained parameters in the order of `model.parameters()`. */
  readonly trainable: readonly Tensor[];
  /** How the model is compiled; null where it runs eagerly. */
  readonly compiled?: CompiledParts | null;
  /** Further passes of each micro-batch, and what is done around them. */
  readonly further?: FurtherPasses | null;
  /** What is generated and scored before the micro-batches that learn from it; they read it, nothing new is allocated. */
  readonly rollout?: Before | null;
}

/** What runs before micro-batches. */
export interface Before {
  due(micro: number): boolean;
  /** The first micro-batch from `micro` on before which it is due. */
  next(micro: number): number;
  run(step: number): void;
  /** The micro-batches read what it left, and allocate no batch of their own. */
  readonly holdsBatch: boolean;
}
