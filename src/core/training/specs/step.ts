/** What a step does beside forward and backward of the model: its optimizer, checkpointing, a loss over pieces. */

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

/** `torch.utils.checkpoint` around every layer; null in `TrainingRun.checkpointing` when off. */
export interface CheckpointingSpec {
  readonly useReentrant: boolean;
  /** Only every so many layers are checkpointed (`every_n_layers`); 1 when absent. */
  readonly everyNLayers?: number;
  /** The first that is, counted from 0: transformers begins with the first layer, torchtune and torchtitan end with the nth. */
  readonly firstLayer?: number;
  /** Only so many layers, from the first on, are checkpointed (Megatron's `block`). */
  readonly firstLayers?: number;
  /** So many layers are one segment, which keeps the input of the first (Megatron's `uniform`); 1 when absent. */
  readonly layersTogether?: number;
  /** The saved layer inputs wait in pinned host memory (`offload` of transformers, Unsloth's and axolotl's kind). */
  readonly offloads?: boolean;
  /** Outputs of attention and of every other matrix product are kept (torchtitan's `selective` by `op`). */
  readonly selective?: boolean;
}

/** Cross-entropy over pieces of every sequence (torchtune's losses). */
export interface ChunkedLossSpec {
  readonly chunks: number;
  /** The loss is compiled: a piece keeps its logits as they are, with one number per token. */
  readonly compiled: boolean;
  /** All pieces' logits are made before the first one's loss. */
  readonly keepsLogits: boolean;
}
