/** Adapters on a model. */
import type { DType } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";

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
  | "hra"
  | "miss"
  | "road"
  | "fourierft"
  | "randlora"
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

/** A layer that makes several things at once (queries, keys, values), of which adapters are put on some. */
export interface MergedParts {
  /** The layers' last name. */
  readonly module: string;
  /** Outputs of each part. */
  readonly sizes: readonly number[];
  readonly adapted: readonly boolean[];
}

/** An adapter of peft, as its config class describes it; fields that a type does not have are left out. */
export interface AdapterSpec {
  /** Dtype that a layer reads of a factor before it is called, where it is gathered in another one. */
  readonly seenAs?: (factor: Tensor) => DType;
  readonly type: AdapterType;
  /** Layers whose parts have factors of their own (litgpt). */
  readonly mergedParts?: MergedParts;
  readonly rank: number;
  readonly alpha: number;
  readonly dropout: number;
  /** Its layers are in training where the model is not: they were made after that was put into evaluation (torch/nn/modules/module.py). */
  readonly drops?: true;
  /** Module-name suffixes, `all-linear`, or a regular expression, as `target_modules` accepts them. */
  readonly targetModules: readonly string[] | string;
  /** LoRA's `target_parameters`: ends of the names of parameters that get factors of their own (experts stored together). */
  readonly targetParameters?: readonly string[];
  /** Experts are linear layers of their own, which take what others take (transformers before 5). */
  readonly separateExperts?: boolean;
  /** MiSS: every block of the weight is turned and shifted (`init_weights="bat"`). */
  readonly turnsBlocks?: boolean;
  readonly modulesToSave: readonly string[];
  readonly bias: "none" | "all" | "lora_only";
  readonly useRslora: boolean;
  /** Absent where the factors are drawn. */
  readonly initialization?: InitializationSpec;
  /** peft's `autocast_adapter_dtype`: half-precision adapters are raised to float32. */
  readonly autocastAdapterDtype: boolean;
  /** Under autocast a layer is given what the module is given, without a cast to the factors' dtype (sd-scripts, ai-toolkit). */
  readonly keepsInput?: boolean;
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
