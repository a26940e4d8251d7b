/**
 * A training run as plain data: everything the estimator needs and nothing about files or editors.
 *
 * Every field is resolved: `auto` values, library defaults and pins have already been applied by
 * `src/analysis`, which keeps the provenance beside it. Sizes are counts (tokens, samples, ranks) unless a name
 * ends in `Bytes`.
 */

import type { Attention, Task } from "../../terms/names";
import type { Part } from "./parts";
import type { TrainedSpec } from "./trained";

export { type Attention, TASKS, type Task } from "../../terms/names";

/** Floating-point and integer dtypes that tensors of a training step have. */
export type DType =
  | "float32"
  | "float16"
  | "bfloat16"
  | "float64"
  | "int64"
  | "int32"
  | "int16"
  | "uint8"
  | "int8"
  | "bool"
  | "float8"
  | "complex64";

/** Content of a model's `config.json`: published numbers, read with the defaults of its `model_type`. */
export type ModelConfig = Readonly<Record<string, unknown>>;

/** Where the model's dimensions came from. */
export type ModelSource = "config.json" | "catalogue" | "trace" | "assumed";

/** The model that is trained. */
export interface ModelSpec {
  /** Name to show: the hub id, the directory or the pinned name. */
  readonly name: string;
  /** `model_type` of the config, which names the captured graph family. */
  readonly family: string;
  readonly config: ModelConfig;
  readonly source: ModelSource;
}

/** Adapters of peft the engine follows. */
export type AdapterType =
  | "lora"
  | "dora"
  | "ia3"
  | "vera"
  | "adalora"
  | "loha"
  | "lokr"
  | "oft"
  | "boft"
  | "prompt-tuning"
  | "p-tuning"
  | "prefix-tuning"
  | "trainable-tokens"
  | "ln-tuning";

/**
 * `init_lora_weights` where LoRA's factors are made from the weight they stand beside, on the device it is on; other ways draw
 * them on the host.
 */
export interface InitializationSpec {
  readonly kind: "pissa" | "olora" | "mica" | "loftq";
  /** PiSSA: subspace iterations of the fast decomposition (`pissa_niter_16`), the whole one when absent. LoftQ: rounds. */
  readonly iterations?: number;
  /** LoftQ: bits the weight is packed in; 4 when absent. */
  readonly bits?: 4 | 8;
  /** The weights are on the device when the adapter is put on. */
  readonly onDevice: boolean;
}

/** An adapter of peft, as its config class describes it; fields that a type does not have are left out. */
export interface AdapterSpec {
  readonly type: AdapterType;
  readonly rank: number;
  readonly alpha: number;
  readonly dropout: number;
  /** Module-name suffixes, `all-linear`, or a regular expression, as `target_modules` accepts them. */
  readonly targetModules: readonly string[] | string;
  /** LoRA's `target_parameters`: ends of the names of parameters that get factors of their own (experts stored together). */
  readonly targetParameters?: readonly string[];
  readonly modulesToSave: readonly string[];
  readonly bias: "none" | "all" | "lora_only";
  readonly useRslora: boolean;
  /** Absent where the factors are drawn. */
  readonly initialization?: InitializationSpec;
  /** peft's `autocast_adapter_dtype`: half-precision adapters are raised to float32. */
  readonly autocastAdapterDtype: boolean;
  /** What the trainer casts all that is trained to afterwards, but for DoRA's magnitudes: TRL beside a quantized base. */
  readonly castTo?: DType;
  /** Modules left out although `targetModules` names them. */
  readonly excludeModules?: readonly string[] | string;
  /** Indices of the layers that get the adapter; all when absent. */
  readonly layersToTransform?: readonly number[];
  /** Ranks by pattern of module name. */
  readonly rankPattern?: Readonly<Record<string, number>>;
  /** LoRA's `lora_bias`: a bias on the second factor. */
  readonly loraBias?: boolean;
  /** IA3: modules whose input is scaled instead of their output. */
  readonly feedforwardModules?: readonly string[] | string;
  /** Trained vectors before each sequence (`num_virtual_tokens`). */
  readonly virtualTokens?: number;
  /** Width of the network that makes them (`encoder_hidden_size`); the model's when absent. */
  readonly encoderHiddenSize?: number;
  readonly prefixProjection?: boolean;
  /** Rows of the embedding that are trained (`token_indices`, LoRA's `trainable_token_indices`). */
  readonly trainableTokens?: number;
  /** LoKr: both Kronecker factors may be low-rank; the factor widths are split by. */
  readonly decomposeBoth?: boolean;
  readonly decomposeFactor?: number;
  /** BOFT: blocks of a layer (`boft_block_num`), where their width is 0. */
  readonly blockCount?: number;
  /** OFT and BOFT: width of a block (`oft_block_size`), and one rotation for all blocks. */
  readonly blockSize?: number;
  readonly blockShare?: boolean;
}

/** Formats whose weights are packed with constants per group of inputs, or per row. */
export type GroupedFormat = "gptq" | "awq" | "hqq" | "compressed-tensors" | "torchao" | "eetq" | "aqlm";

/** Additive codes: blocks of a weight are sums of entries of codebooks. */
export interface CodebookSpec {
  readonly count: number;
  /** Bits of a code; each codebook has two to the power of them entries. */
  readonly bits: number;
  /** Size of an entry. */
  readonly outputs: number;
  readonly inputs: number;
}

/** Quantized base weights. */
export interface QuantizationSpec {
  readonly type: "nf4" | "fp4" | "int8" | GroupedFormat;
  /** Bits per weight of a grouped format; 4 when absent, 8 for those that have no other. */
  readonly bits?: number;
  /** Inputs that share constants; -1: a whole row. The format's own default when absent. */
  readonly groupSize?: number;
  /** Codebooks of AQLM; the library's own sizes when absent. */
  readonly codebooks?: CodebookSpec;
  /** No zero points are stored (compressed-tensors). */
  readonly symmetric?: boolean;
  /** Modules left in full precision beside the head, as transformers matches them. */
  readonly skipModules?: readonly string[];
  /** Double quantization of the absmax constants (bitsandbytes `bnb_4bit_use_double_quant`). */
  readonly double: boolean;
  /** Whether `prepare_model_for_kbit_training` runs (half-precision leftovers raised to float32). */
  readonly prepareForKbit: boolean;
  readonly computeDtype: DType;
  /** Whether 4-bit layers keep their inputs for backward, as bitsandbytes did before 0.43.2. */
  readonly keepsInputs?: boolean;
  /** The checkpoint stores the weights packed; otherwise they are packed while they are loaded. */
  readonly prequantized?: boolean;
  /** Whether subclasses of `nn.Linear` are packed too, as in transformers before 5; since then only the very type. */
  readonly packsSubclasses?: boolean;
}

/** Cross-entropy over pieces of every sequence (torchtune's losses). */
export interface ChunkedLossSpec {
  readonly chunks: number;
  /** The loss is compiled: a piece keeps its logits as they are, with one number per token. */
  readonly compiled: boolean;
  /** All pieces' logits are made before the first one's loss. */
  readonly keepsLogits: boolean;
}

/** Scaling of torchao's float8 training, by the names of its recipes. */
export type Float8Recipe = "tensorwise" | "rowwise" | "rowwise_with_gw_hp";

/** Linear layers that multiply in 8 bits; weights, gradients and everything else stay as they are. */
export interface Float8Spec {
  readonly backend: "torchao" | "transformer-engine";
  /** torchao's recipe. */
  readonly recipe: Float8Recipe;
  /** Linear layers left out: the first and the last, the output head, or none (sizes must be multiples of 16 always). */
  readonly keeps: "first-and-last" | "head" | "none";
  /** FSDP gathers torchao's weights in 8 bits, so that no layer casts its own (tensorwise scales only). */
  readonly gathers?: boolean;
  /** Transformer Engine's copies of the weights stay between micro-batches. */
  readonly cachesWeights: boolean;
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

/** The Trainer's evaluation loop, run between training steps. */
export interface EvaluationSpec {
  /** Sequences (or images) per device (`per_device_eval_batch_size`). */
  readonly batchSize: number;
  /** Tokens per sequence, as in `TrainingRun.sequenceLength`. */
  readonly sequenceLength: number;
  readonly targetLength: number;
  /**
   * What stays of each batch beside the loss: nothing (`prediction_loss_only`, or no `compute_metrics`), the logits and
   * labels, or the most likely token of each position (`preprocess_logits_for_metrics`) and the labels.
   */
  readonly keeps: "loss" | "logits" | "argmax";
  /** Batches after which what was kept moves to the host; null: at the end (`eval_accumulation_steps`). */
  readonly accumulationSteps: number | null;
  /** Whether the allocator's cache is emptied each time (transformers/trainer.py, evaluation_loop, from 4.41 on). */
  readonly emptiesCache?: boolean;
  /** Batches of the evaluation set. */
  readonly batches: number;
  /** `eval_do_concat_batches`: kept tensors are concatenated as they come, instead of listed. */
  readonly concatenates: boolean;
}

/** Blocks of a paged key-value cache (`ContinuousBatchingConfig`). */
export interface PagedSpec {
  readonly blockTokens: number;
  /** Share of what is not reserved that cache and batches take. */
  readonly share: number;
  /** null: as many as fit. */
  readonly blocks: number | null;
  /** Tokens of one forward; null: the library's own. */
  readonly batchTokens: number | null;
}

/** One call of `generate`. */
export interface GenerationSpec {
  /** Prompts per device that are generated for together. */
  readonly batchSize: number;
  /** Tokens of each prompt (of the input, for encoder-decoders). */
  readonly promptLength: number;
  readonly newTokens: number;
  readonly beams: number;
  /** Sampling keeps probabilities beside the scores. */
  readonly samples: boolean;
  /** `cache_implementation`. */
  readonly cache: "dynamic" | "static" | "offloaded" | "quantized" | "paged";
  /** How the blocks of a paged cache are counted; the library's defaults when absent. */
  readonly paged?: PagedSpec;
  /** The scores of every token are part of what it gives (`output_scores`). */
  readonly keepsScores?: true;
}

/** Where ZeRO keeps a kind of state. */
export type OffloadTarget = "none" | "cpu" | "nvme";

/** DeepSpeed ZeRO, as the engine reads its JSON (sizes in elements unless the name says bytes). */
export interface DeepSpeedSpec {
  readonly zeroStage: 0 | 1 | 2 | 3;
  readonly offloadOptimizer: OffloadTarget;
  readonly offloadParam: OffloadTarget;
  readonly pinMemory: boolean;
  readonly overlapComm: boolean;
  readonly contiguousGradients: boolean;
  readonly reduceBucketSize: number;
  readonly allgatherBucketSize: number;
  readonly stage3PrefetchBucketSize: number;
  readonly stage3ParamPersistenceThreshold: number;
  readonly stage3MaxLiveParameters: number;
  readonly stage3MaxReuseDistance: number;
  readonly subGroupSize: number;
  readonly gradAccumDtype: DType | null;
  readonly hpzPartitionSize: number;
  /** Mixed-precision engine: 16-bit parameters with a float32 master copy; null = plain float32. */
  readonly engineDtype: "float16" | "bfloat16" | null;
}

/** PyTorch FSDP (version 1 or 2) as accelerate configures it. */
export interface FsdpSpec {
  readonly version: 1 | 2;
  readonly sharding: "full_shard" | "shard_grad_op" | "hybrid_shard" | "no_shard";
  readonly cpuOffload: boolean;
  readonly reshardAfterForward: boolean;
  /** Copies of the sharded model (hybrid sharding keeps one on every machine); 1 when absent. */
  readonly replicas?: number;
}

/** Half-precision parameters with a float32 copy and one gradient buffer (Megatron's and nanotron's optimizers). */
export interface MainParametersSpec {
  readonly dtype: "float16" | "bfloat16";
  readonly gradientDtype: DType;
  /** The copy and the states are spread over the data-parallel ranks. */
  readonly sharded: boolean;
}

/** How the run is spread over devices. Product of the degrees divides `worldSize`. */
export interface ParallelSpec {
  readonly worldSize: number;
  readonly tensorParallel: number;
  readonly pipelineParallel: number;
  readonly contextParallel: number;
  readonly expertParallel: number;
  readonly deepspeed: DeepSpeedSpec | null;
  readonly fsdp: FsdpSpec | null;
  /** Tensor parallelism splits the residual stream along the sequence, too. */
  readonly sequenceParallel?: boolean;
  readonly mainParameters?: MainParametersSpec;
}

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
}

/**
 * Trainers whose loss calls more than one forward of one model; the plain ones have no spec. `reward` trains a sequence
 * classifier, `rm` a language model with a value head.
 */
export type TrainerKind =
  | "sft"
  | "dpo"
  | "kto"
  | "orpo"
  | "cpo"
  | "reward"
  | "rm"
  | "grpo"
  | "rloo"
  | "gkd"
  | "ppo"
  | "online-dpo"
  | "xpo"
  | "nash-md";

/** Another model beside the trained one, that only runs forward. */
export interface CompanionSpec {
  readonly model: ModelSpec;
  readonly loadDtype: DType;
}

/** Completions that are generated and scored before the steps that learn from them. */
export interface RolloutSpec {
  /** Sequences generated at once on this device. */
  readonly sequences: number;
  /** How the policy's own key-value cache is kept; it grows when absent. */
  readonly cache?: GenerationSpec["cache"];
  readonly paged?: PagedSpec;
  /** Micro-batches from one generation to the next. */
  readonly every: number;
  /** Whether the policy scores them before it learns from them (`old_per_token_logps`). */
  readonly scores: boolean;
  /** Whether the policy itself generates, with a key-value cache beside it. */
  readonly generates: boolean;
  /** Whether sharded parameters are gathered whole for it (`ds3_gather_for_generation`); true when absent. */
  readonly gathers?: boolean;
  /** What of the trained model waits on the host while vLLM generates. */
  readonly parks?: { readonly weights: boolean; readonly optimizer: boolean };
  /** Bytes that vLLM takes of the card while it generates, and while the policy trains. */
  readonly generatingBytes: number;
  readonly sleepingBytes: number;
}

/** What PPO adds to a rollout. */
export interface PpoSpec {
  /** Completions generated and scored at once (`local_rollout_forward_batch_size`). */
  readonly piece: number;
  readonly miniBatches: number;
}

/** A critic that is trained in turn with the policy, with AdamW in float32; like the policy when no model is named. */
export interface CriticSpec {
  readonly model?: CompanionSpec;
  /** What of it stays on the device while the policy trains and generates. */
  readonly keepsWeights: boolean;
  readonly keepsStates: boolean;
}

/** A trainer of TRL with a loss of its own. */
export interface TrainerSpec {
  readonly kind: TrainerKind;
  /**
   * What the loss's code branches on, as the `when` of its graph. `reference` is the frozen model beside the trained one:
   * `model` (a copy), `adapter` (the trained one without its adapter) or `none`.
   */
  readonly variant: Readonly<Record<string, boolean | string>>;
  /** `disable_dropout`: the modules' dropout is off, adapters' included. */
  readonly disableDropout: boolean;
  /** Tokens of one sequence that are scored. */
  readonly scoredTokens: number;
  /** Tokens of prompt and completion where the trainer keeps them apart (0 otherwise). */
  readonly promptLength: number;
  readonly completionLength: number;
  /** Absent or null where completions come with the data. */
  readonly rollout?: RolloutSpec | null;
  /** The output head is raised to float32, and what it multiplies with it (GRPO's `cast_lm_head_to_fp32`). */
  readonly headInFloat32?: true;
  /** The reference is a copy even beside an adapter: another model was named for it. */
  readonly referenceApart?: boolean;
  /** The shards of the reference wait on the host between its forwards. */
  readonly referenceOnHost?: true;
  /** The model in the reference's place, where that is another one: a teacher. */
  readonly companion?: CompanionSpec;
  /** The models beside policy and reference that give one number for every token; absent: like the policy. */
  readonly scorers?: { readonly value?: CompanionSpec; readonly reward?: CompanionSpec };
  readonly ppo?: PpoSpec;
  readonly critic?: CriticSpec;
  /** Bytes that vLLM takes of the card while it generates, and while the policy trains; absent: the policy generates. */
  readonly vllm?: Pick<RolloutSpec, "generatingBytes" | "sleepingBytes">;
  /** Text the policy generates before each micro-batch, its prompts from the data; absent or null: none. */
  readonly generation?: GenerationSpec | null;
  /** The loss is another version's or another library's, which widens the band. */
  readonly standIn?: boolean;
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
  /** Texts that one sample is: the choices of a question (`multiple-choice`); 1 when absent. */
  readonly choices?: number;
  readonly gradientAccumulationSteps: number;
  readonly loadDtype: DType;
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
  /** Gradients stay between steps, set to zero: `zero_grad` before torch 2.0 (`set_to_none=False`). */
  readonly keepsGradients?: boolean;
  /** Softmax keeps its input for backward beside its output: torch before 1.11 (pytorch/pytorch pull request 65242). */
  readonly keepsSoftmaxInputs?: boolean;
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
  /** Absent or null: the model's own loss, over all logits at once. */
  readonly chunkedLoss?: ChunkedLossSpec | null;
  /** Liger's norms and gated activations too; as `fusedLoss` when absent (TRL's own chunked loss has only the loss). */
  readonly fusedLayers?: boolean;
  readonly labelSmoothing: number;
  readonly parallel: ParallelSpec;
  readonly libraries: LibraryVersions;
  /**
   * The framework whose own model code is trained: the captured code of the same dimensions stands in for it. Weights,
   * gradients and states are the same; what the layers keep may differ, which widens the band.
   */
  readonly standsFor?: string;
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
  /** Workspace of each cuBLAS handle where `CUBLAS_WORKSPACE_CONFIG` says it; the architecture's default when absent. */
  readonly blasWorkspaceBytes?: number;
  /** null: no device known; the estimate is still made, only the verdict is missing. */
  readonly device: DeviceSpec | null;
}
