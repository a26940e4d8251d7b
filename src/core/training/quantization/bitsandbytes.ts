/**
 * bitsandbytes' 4-bit linear layers: packed weights, block constants, the forward that keeps nothing for backward and the
 * backward that unpacks one weight at a time. Sources: bitsandbytes/nn/modules.py (Linear4bit.forward),
 * bitsandbytes/autograd/_functions.py (MatMul4Bit), bitsandbytes/functional.py (quantize_4bit, dequantize_4bit).
 */
import { type DType, ELEMENT_BYTES } from "../../engine/dtype";
import type { ModuleForward } from "../../engine/interpreter/options";
import { matmul } from "../../engine/ops/linear";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { GroupedFormat } from "../run";

/** Weights that share a constant. */
export const BLOCK = 64;
const NESTED_BLOCK = 256;

/** A weight stored in 4 or 8 bits. */
export interface PackedWeight {
  readonly format: "bnb-4bit" | "bnb-8bit" | GroupedFormat;
  readonly outputs: number;
  readonly inputs: number;
  readonly packed: Tensor;
  /** Constants that bitsandbytes keeps beside it. */
  readonly constants?: readonly Tensor[];
  /** Dtype the weight was quantized from and is unpacked to. */
  readonly dtype: DType;
  readonly nested: boolean;
  /** Of a 4-bit layer: what its adapters are made in (peft/tuners/tuners_utils.py, _get_base_layer_device_and_dtype). */
  readonly computeDtype?: DType;
}

/** Allocates a packed weight and its constants, in the order the library makes them. */
export function packWeight(torch: Torch, outputs: number, inputs: number, dtype: DType, nested: boolean): PackedWeight {
  const elements = outputs * inputs;
  const blocks = Math.ceil(elements / BLOCK);
  const make = (sizes: readonly number[], kind: DType): Tensor => {
    const tensor = torch.empty("empty", sizes, kind);
    torch.ledger.relabel(tensor.storage.id, "weights");
    return tensor;
  };
  const packed = make([Math.ceil(elements / 2), 1], "uint8");
  const codes = make([16], "float32");
  const constants = nested
    ? [
        make([Math.ceil(blocks / NESTED_BLOCK)], "float32"),
        make([256], "float32"),
        make([blocks], "uint8"),
        make([], "float32"),
      ]
    : [make([blocks], "float32")];
  return { format: "bnb-4bit", outputs, inputs, packed, constants: [codes, ...constants], dtype, nested };
}

/** The weight unpacked, owned: doubly quantized constants are unpacked beside it first. */
export function dequantize(torch: Torch, weight: PackedWeight): Tensor {
  const sizes = [weight.outputs, weight.inputs];
  if (weight.format === "bnb-8bit") return torch.empty("int8_vectorwise_dequant", sizes, "float32");
  if (weight.format !== "bnb-4bit") return torch.empty("dequantize", sizes, weight.dtype);
  const blocks = Math.ceil((weight.outputs * weight.inputs) / BLOCK);
  const constants = weight.nested ? torch.empty("dequantize_blockwise", [blocks], "float32") : null;
  const out = torch.empty("dequantize_4bit", sizes, weight.dtype);
  constants?.release();
  return out;
}

function cast(torch: Torch, tensor: Tensor, dtype: DType): Tensor {
  return tensor.dtype === dtype ? tensor.retain() : torch.toCopy(tensor, dtype);
}

/**
 * Forward of a 4-bit linear layer: the input is cast to the compute dtype and the result back to the input's. A stated
 * compute dtype stays as it is; the layer only picks its own when none was given.
 */
export function linear4bit(
  weight: PackedWeight,
  bias: Tensor | null,
  computeDtype: DType,
  keepsInputs = false,
): ModuleForward {
  return (torch, input) => {
    const x = cast(torch, input, computeDtype);
    const product = multiply(torch, x, weight, bias, keepsInputs);
    const out = cast(torch, product, input.dtype);
    // Python's local `x` lives until the function returns.
    product.release();
    x.release();
    return out;
  };
}

/**
 * `MatMul4Bit`: the packed weight is kept by reference. The input was kept too, for a gradient that was never computed
 * and as an attribute of the context, which no saved-tensor hook sees, until bitsandbytes 9e753741 (0.43.2).
 */
function multiply(torch: Torch, x: Tensor, weight: PackedWeight, bias: Tensor | null, keepsInputs: boolean): Tensor {
  const node = torch.record("MatMul4BitBackward", [x, bias], (torch, [gradient], _, node) => {
    if (!gradient) return [null, null];
    const biasGradient = node.edges[1] ? torch.empty("sum", gradient.sizes.slice(1), gradient.dtype) : null;
    if (!node.edges[0]) return [null, biasGradient];
    const unpacked = dequantize(torch, weight);
    const right = cast(torch, unpacked, gradient.dtype);
    unpacked.release();
    const left = matmul(torch, gradient, right);
    right.release();
    return [left, biasGradient];
  });
  if (keepsInputs && node !== null) node.held = [x.retain()];
  const { outputs, inputs } = weight;
  const rows = x.elements / inputs;
  const sizes = [...x.sizes.slice(0, -1), outputs];
  // Half a byte a weight is read, unpacked into memory and read by the product (bitsandbytes/backends/cuda/ops.py).
  const reads = rows * inputs * ELEMENT_BYTES[x.dtype] + outputs * inputs * (0.5 + 2 * ELEMENT_BYTES[x.dtype]);
  torch.multiply(sizes, { count: 1, rows, columns: outputs, inner: inputs, dtype: x.dtype }, reads);
  return torch.attach(node, torch.empty("gemm_4bit", sizes, x.dtype));
}
