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

/** What a training loop of its own does with the results of a micro-batch, where the Trainer lets go of them. */
export interface LoopSpec {
  /**
   * What its names refer to until the next micro-batch's are there, beside the batch: the loss, or the outputs, too
   * (litgpt/finetune: `loss` and `logits` of `fit`). Nothing, where a function of its own runs the forward.
   */
  readonly holds: "nothing" | "loss" | "outputs";
  /** Batches are as long as their longest sample: the one before the longest need not be as long. */
  readonly variesLengths?: true;
  /** Gradients stay until the next step's first forward is done (lightning/pytorch/loops/optimization/automatic.py, Closure). */
  readonly zerosLate?: true;
  /** Nothing switches the model to training: nothing is dropped or recomputed (transformers/modeling_utils.py, `model.eval()`). */
  readonly evaluates?: true;
  /** Outputs keep the dtype that autocast gives them: neither accelerate nor Lightning's Fabric converts them. */
  readonly keepsDtype?: true;
}

/** How long micro-batches stay on the device: all of a step together, or each until the next one is there. */
export type KeptBatches = "step" | "micro-batch";

/** `torch.utils.checkpoint` around the layers; null in `TrainingRun.checkpointing` when off. */
export type CheckpointingSpec = CheckpointingOptions;

/** Cross-entropy over pieces of every sequence (torchtune's losses, axolotl's `chunked_cross_entropy`). */
export interface ChunkedLossSpec {
  readonly chunks: number;
  /** The loss is compiled: a piece keeps its logits as they are, with one number per token. */
  readonly compiled: boolean;
  /** All pieces' logits are made before the first one's loss. */
  readonly keepsLogits: boolean;
  /** Tokens of each piece, where their length is stated and not their number. */
  readonly rows?: number;
  /** All pieces' logits are raised to float32 before the first one's loss, and the last token's are left out. */
  readonly raisedFirst?: true;
  /** Pieces are as long as the first, but for the last (`torch.chunk`); absent: as `tensor_split` cuts them. */
  readonly rounds?: true;
  /** The pieces are cut from the logits of the whole batch: the head has one product, not one for each piece. */
  readonly whole?: true;
}
