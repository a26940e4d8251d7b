/**
 * A training run as plain data: everything the estimator needs and nothing about files or editors.
 *
 * Every field is resolved: `auto` values, library defaults and pins have already been applied by
 * `src/analysis`, which keeps the provenance beside it. Sizes are counts (tokens, samples, ranks) unless a name
 * ends in `Bytes`.
 */

import type { Attention, Task } from "../../terms/names";
import type { OwnLoss } from "../../terms/own-loss";
import type { StepAction } from "../../terms/step-actions";
import type { DType } from "../engine/dtype";
import type { Part } from "./parts";
import type { AdapterSpec } from "./specs/adapter";
import type { EvaluationSpec, GenerationSpec, SavingSpec } from "./specs/generation";
import type { ModelSpec } from "./specs/model";
import type { ParallelSpec } from "./specs/parallel";
import type { Float8Spec, QuantizationSpec } from "./specs/quantization";
import type { Quirks, Routing } from "./specs/quirks";
import type { CheckpointingSpec, ChunkedLossSpec, KeptBatches, LoopSpec, OptimizerSpec } from "./specs/step";
import type { TrainedSpec } from "./specs/trained";
import type { CompanionSpec, TrainerSpec } from "./specs/trainer";

export { type Attention, TASKS, type Task } from "../../terms/names";
export type * from "./specs/adapter";
export type * from "./specs/generation";
export type * from "./specs/model";
export type * from "./specs/parallel";
export type * from "./specs/quantization";
export type * from "./specs/quirks";
export type * from "./specs/step";
export type * from "./specs/trained";
export type * from "./specs/trainer";

/** Library versions that decide behaviour, `major.minor[.patch]`. */
export interface LibraryVersions {
  readonly torch: string;
  readonly transformers: string;
  readonly peft: string;
  readonly deepspeed: string;
  readonly accelerate: string;
  readonly trl: string;
  readonly bitsandbytes: string;
}

/** What connects GPUs, each way, where it is said. */
export interface Links {
  /** Bytes per second within a machine; or the card's own link, or PCIe, by name. */
  readonly gpus?: number | "linked" | "host";
  /** Bytes per second that all network cards of a machine have together. */
  readonly machines?: number;
}

/** One GPU (or MIG slice) kind of the catalogue, or a plain size. */
export interface DeviceSpec {
  readonly name: string;
  /** Physical memory as the driver reports it, in bytes. */
  readonly memoryBytes: number;
  /** Key into the table of CUDA context sizes and link speeds: `ampere`, `hopper`, … or `unknown`. */
  readonly architecture: string;
  readonly count: number;
  /** Bytes that a desktop or another process takes of it. */
  readonly occupiedBytes?: number;
  readonly links?: Links;
  /** What context and libraries took on this card, as it was measured: of one process alone, and of one among several. */
  readonly measuredOverhead?: { readonly alone?: number; readonly together?: number };
}

/** One training run, fully resolved. */
export interface TrainingRun {
  readonly model: ModelSpec;
  readonly task: Task;
  /** Sequences (or images) per device per forward. */
  readonly microBatchSize: number;
  /** Tokens per sequence (encoder side for seq2seq; 0 for images and sound). */
  readonly sequenceLength: number;
  /** Decoder-side tokens of a seq2seq run. */
  readonly targetLength: number;
  /** Side of a square input image in pixels. */
  readonly imageSize: number;
  /** Samples of a sound wave per sequence (seconds × sampling rate); only models that hear have any. */
  readonly audioSamples?: number;
  /** Inputs that one sample is: the choices of a question (`multiple-choice`), a picture and one of its class (`diffusion`); 1 when absent. */
  readonly choices?: number;
  readonly gradientAccumulationSteps: number;
  readonly loadDtype: DType;
  /** Dtypes of the weights of models that stand below a name of their own, where they are not `loadDtype` (an autoencoder's beside a denoiser). */
  readonly partDtypes?: Readonly<Record<string, DType>>;
  /** `torch.autocast` dtype, or null for none (HF `bf16`/`fp16`). */
  readonly autocast: "bfloat16" | "float16" | null;
  /** float32 products on TensorFloat-32 units; absent: not allowed, as PyTorch has it. */
  readonly tf32?: boolean;
  readonly attention: Attention;
  readonly checkpointing: CheckpointingSpec | null;
  /** Some modules of every layer are recomputed (Megatron's `selective`), which reaches down into the band. */
  readonly recomputesModules?: boolean;
  /**
   * Every saved activation waits in pinned host memory (`OffloadActivations`): each saved tensor is sent (torchtune), or each
   * storage once, its later uses staying on the device (TRL).
   */
  readonly offloadsActivations?: "each" | "once";
  readonly optimizer: OptimizerSpec;
  /** 0 switches clipping off. */
  readonly maxGradNorm: number;
  /** What the releases of its libraries do differently; absent: nothing. */
  readonly quirks?: Quirks;
  readonly adapter: AdapterSpec | null;
  /** Parts of a model of pictures and text that are not trained and get no adapters. */
  readonly frozenParts?: readonly Part[];
  /** Weights that are trained where others stay as they are; absent: all. Adapters leave the whole model as it is. */
  readonly trained?: TrainedSpec;
  readonly quantization: QuantizationSpec | null;
  /** Names (`re:` before a pattern) of weights whose zeros a mask keeps while they are trained. */
  readonly prunedWeights?: readonly string[];
  /** Matrix products in 8 bits; absent or null: none. */
  readonly float8?: Float8Spec | null;
  /** Liger's fused linear cross-entropy (no logits tensor). */
  readonly fusedLoss: boolean;
  /** The fused loss has as many pieces as keep the float32 logits of one within these bytes; absent: Liger's own number. */
  readonly fusedPieceBytes?: number;
  /** A copy of the weights stays on the device: of those that are trained, or of all. */
  readonly weightCopies?: "trained" | "all";
  /** The loss that a script writes itself, in the place of the model's own. */
  readonly ownLoss?: OwnLoss;
  /** What a script's own step does behind the first pass of a micro-batch; absent: nothing. */
  readonly stepActions?: readonly StepAction[];
  /** The model has no head: the loss of a trainer of embeddings, or of a script's own, is made of its states. */
  readonly body?: true;
  /** There is such a loss, and the model's own was taken. */
  readonly lossNotFollowed?: true;
  /** Another model whose weights lie on the device all the time, without gradients (a teacher). */
  readonly beside?: {
    readonly elements: number;
    readonly dtype: DType;
    /** It runs behind the trained model's forward, without gradients and without autocast. */
    readonly runs?: CompanionSpec;
  };
  /** Weights of other models on the device before the first step, and no longer (text encoders that embed a run's one prompt). */
  readonly embeds?: { readonly elements: number; readonly dtype: DType };
  /** Absent or null: the model's own loss, over all logits at once. */
  readonly chunkedLoss?: ChunkedLossSpec | null;
  /** Liger's norms and gated activations too; as `fusedLoss` when absent (TRL's own chunked loss has only the loss). */
  readonly fusedLayers?: boolean | "norms" | "gates";
  /** Whether `mamba_ssm` runs state-space layers, or transformers' code that writes them out; absent: the latter, and nobody said so. */
  readonly stateSpaceKernels?: boolean;
  readonly labelSmoothing: number;
  /** The trainer keeps the labels and computes the loss from whole logits: a fused loss of the model's never runs. */
  readonly takesLabels?: true;
  readonly parallel: ParallelSpec;
  readonly libraries: LibraryVersions;
  /**
   * The framework whose own model code is trained and was not captured: other code of the same dimensions stands in for it.
   * Weights, gradients and states are the same; what the layers keep may differ, which widens the band.
   */
  readonly standsFor?: string;
  /** The framework's own model code runs, whether it was captured or another stands in. */
  readonly ownCode?: true;
  /**
   * `torch.compile` around the whole model, around each of its layers, or around these and the loss; what is outside runs
   * eagerly. Absent: all does.
   */
  readonly compiled?: "model" | "layers" | "layers-and-loss";
  /**
   * The training loop is the framework's own, plain PyTorch (nnU-Net): batch and outputs live until the step ends, and
   * outputs keep their dtype.
   */
  readonly plainLoop?: true;
  /** Which experts routers give tokens to, where those run one by one; absent: to all alike. `one`: the furthest from balance. */
  readonly routing?: Routing;
  /** Micro-batches that the Trainer's loop keeps on the device beyond their forward; absent: each goes with it. */
  readonly keepsBatches?: KeptBatches;
  /**
   * The outputs have keys and values of every layer while they live (`use_cache`, which the Trainer's arguments switch off since
   * 5.0): copies, or what attention was given.
   */
  readonly keepsCache?: "copies" | "as-made";
  /** The same of the evaluation's outputs, where checkpointing switches it off in training alone. */
  readonly evaluationKeepsCache?: "copies" | "as-made";
  /** Whether embeddings are told to require grad (`enable_input_require_grads`); absent: as the newest release does it under checkpointing. */
  readonly tellsInputs?: boolean;
  /**
   * Of a model that also hears or sees, only the embedding of its texts is told: before 5.0 `enable_input_require_grads` had a hook on the
   * whole model's `get_input_embeddings` alone, since then on those of every part (transformers/modeling_utils.py).
   */
  readonly tellsTextsAlone?: true;
  /** Modules whose outputs a script's hooks have require grad, by their paths. */
  readonly tellsModules?: readonly string[];
  /** The model hands that cache out as tuples of tensors: outputs like others, which accelerate copies to float32. */
  readonly handsOutCache?: true;
  /** A loop other than the Trainer's; absent: the Trainer's, or one that lets go of as much. */
  readonly loop?: LoopSpec;
  /**
   * The input embedding is replaced once the optimizer is made: the one before stays named, and the gradient of the new one is
   * never let go (litgpt/finetune/lora.py, `old_embedding` and `StableEmbedding`).
   */
  readonly replacesEmbedding?: true;
  /** Absent or null: the Trainer's own loss. `microBatchSize` counts the trainer's samples (pairs for preferences). */
  readonly trainer?: TrainerSpec | null;
  /** `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`. */
  readonly expandableSegments?: boolean;
  /** What else the variable says: `max_split_size_mb` in bytes, `roundup_power2_divisions`. */
  readonly allocator?: { readonly maxSplitBytes?: number; readonly roundupDivisions?: number };
  /** `torch_empty_cache_steps`: steps from one emptying of the allocator's cache to the next. */
  readonly emptyCacheSteps?: number;
  /** null or absent: the run does not evaluate. */
  readonly evaluation?: EvaluationSpec | null;
  /** Text generated beside the optimizer's states (evaluation that generates); null or absent: none. */
  readonly generation?: GenerationSpec | null;
  /** null or absent: checkpoints need nothing of the device, or none are written. */
  readonly saving?: SavingSpec | null;
  /** Workspace of each cuBLAS handle where `CUBLAS_WORKSPACE_CONFIG` says it; the architecture's default when absent. */
  readonly blasWorkspaceBytes?: number;
  /** null: no device known; the estimate is still made, only the verdict is missing. */
  readonly device: DeviceSpec | null;
}
