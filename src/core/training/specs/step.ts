/** What a step does beside forward and backward of the model: its optimizer, checkpointing, a loss over pieces. */
import type { CheckpointingOptions } from "../../engine/interpreter/options";

/** Optimizer by the name the HF Trainer's `optim` uses (`adamw_torch_fused`, `adafactor`, `sgd`, …). */
export interface OptimizerSpec {
  readonly name: string;
  /** Parsed `optim_args` (for example `{ momentum: "0.9" }`). */
  readonly args: Readonly<Record<string, string>>;
  /** Each parameter has an optimizer of its own, stepped in backward when its gradient is there. */
  readonly stepsInBackward?: boolean;
  /** It is given `model.parameters()` as they are, not split by weight decay. */
  readonly oneGroup?: true;
  /** BAdam: the one layer that is trained; the others wait for their turn. */
  readonly block?: number;
}

/** `torch.utils.checkpoint` around the layers; null in `TrainingRun.checkpointing` when off. */
export type CheckpointingSpec = CheckpointingOptions;

/** Cross-entropy over pieces of every sequence (torchtune's losses). */
export interface ChunkedLossSpec {
  readonly chunks: number;
  /** The loss is compiled: a piece keeps its logits as they are, with one number per token. */
  readonly compiled: boolean;
  /** All pieces' logits are made before the first one's loss. */
  readonly keepsLogits: boolean;
}
