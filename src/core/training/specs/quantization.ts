/** Weights and products in fewer bits. */
import type { QuantizerName } from "../../../terms/quantizers";
import type { DType } from "../../engine/dtype";

/** Formats whose weights are packed with constants per group of inputs, or per row. */
export type GroupedFormat = "gptq" | "awq" | "hqq" | "compressed-tensors" | "torchao" | "eetq" | "aqlm" | "nvfp4";

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
  readonly type: QuantizerName | GroupedFormat;
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
  /** Names of modules left in full precision with all that is in them, wherever they stand (unsloth_zoo/patching_utils.py). */
  readonly skipParts?: readonly string[];
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
  /** The output head is packed like every other linear layer (lightning/fabric/plugins/precision/bitsandbytes.py, `_convert_layers`). */
  readonly packsHead?: boolean;
  /** Experts that are stacked in one parameter are packed too, and unpacked one by one where they run. */
  readonly packsExperts?: boolean;
  /** … by a parametrization, which unpacks the parameter for as long as its module runs (bitsandbytes/nn/parametrize.py). */
  readonly unpacksExperts?: boolean;
  /** … and nothing else is packed. */
  readonly packsOnlyExperts?: boolean;
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
