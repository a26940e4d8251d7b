/**
 * bitsandbytes' 8-bit linear layers (LLM.int8): a byte per weight and a float32 scale per row; the input is quantized at
 * every forward and kept as it was for backward, where the weight is raised to its dtype. Activations without outlier
 * columns are assumed: each outlier column adds one input and one weight column in half precision.
 * Sources: bitsandbytes/autograd/_functions.py (MatMul8bitLt), bitsandbytes/backends/{cuda,default}/ops.py,
 * bitsandbytes/nn/modules.py (Linear8bitLt.forward).
 */
import type { DType } from "../../engine/dtype";
import type { ModuleForward } from "../../engine/interpreter/options";
import { reshape } from "../../engine/ops/layout";
import { numel } from "../../engine/shape";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { PackedWeight } from "./bitsandbytes";

/** Allocates an 8-bit weight and its row scales. */
export function packInt8(torch: Torch, outputs: number, inputs: number, dtype: DType): PackedWeight {
  const make = (sizes: readonly number[], kind: DType): Tensor => {
    const tensor = torch.empty("empty", sizes, kind);
    torch.ledger.relabel(tensor.storage.id, "weights");
    return tensor;
  };
  const packed = make([outputs, inputs], "int8");
  const constants = [make([outputs], "float32")];
  return { format: "bnb-8bit", outputs, inputs, packed, constants, dtype, nested: false };
}

/** Quantizes the input by rows; values above the threshold are looked for first. */
function quantizeRows(torch: Torch, x: Tensor, rows: number, inputs: number): Tensor[] {
  const half = x.dtype === "float16" ? x.retain() : torch.empty("_to_copy", [rows, inputs], "float16");
  const scales = torch.empty("empty", [rows], "float32");
  const codes = torch.empty("empty", [rows, inputs], "int8");
  const magnitudes = torch.empty("abs", [rows, inputs], "float16");
  const outliers = torch.empty("ge", [rows, inputs], "bool");
  magnitudes.release();
  torch.empty("any", [], "bool").release();
  outliers.release();
  half.release();
  return [codes, scales];
}

/** `A.reshape(-1, A.shape[-1])` inside the autograd function, of three dimensions only: a copy where they cannot be viewed as rows. */
function inRows(torch: Torch, x: Tensor): Tensor {
  if (x.rank !== 3) return x.retain();
  const { gradEnabled } = torch;
  torch.gradEnabled = false;
  const rows = reshape(torch, x, [-1, x.size(-1)]);
  torch.gradEnabled = gradEnabled;
  return rows;
}

/** Forward of an 8-bit linear layer. */
export function linear8bit(weight: PackedWeight, bias: Tensor | null): ModuleForward {
  const { outputs, inputs } = weight;
  return (torch, x) => {
    const { dtype, sizes } = x;
    const rows = numel(sizes) / inputs;
    const biasDtype = bias?.dtype ?? dtype;
    const node = torch.record("MatMul8bitLtBackward", [x, bias], (torch, [gradient], _, node) => {
      if (!gradient) return [null, null];
      // Summed over the first dimension only, before the others are joined; autograd sums the rest.
      const biasGradient = node.edges[1] ? torch.empty("sum", gradient.sizes.slice(1), biasDtype) : null;
      if (!node.edges[0]) return [null, biasGradient];
      const whole = inRows(torch, gradient);
      const raised = torch.empty("_to_copy", [outputs, inputs], dtype);
      const scales = torch.empty("mul", [outputs], "float32");
      scales.release();
      const cast = gradient.dtype === dtype ? null : torch.empty("_to_copy", gradient.sizes, dtype);
      torch.multiply(sizes, { count: 1, rows, columns: inputs, inner: outputs, dtype });
      const left = torch.empty("mm", sizes, dtype);
      cast?.release();
      raised.release();
      whole.release();
      return [left, biasGradient];
    });
    const own = inRows(torch, x);
    if (node !== null) node.held = [own.retain()];
    const quantized = quantizeRows(torch, x, rows, inputs);
    torch.multiply([rows, outputs], { count: 1, rows, columns: outputs, inner: inputs, dtype: "int8" });
    const products = torch.empty("int8_linear_matmul", [rows, outputs], "int32");
    let out = torch.empty("int8_mm_dequant", [...sizes.slice(0, -1), outputs], "float16");
    if (dtype !== "float16") {
      const raised = torch.empty("_to_copy", out.sizes, dtype);
      out.release();
      out = raised;
    }
    products.release();
    for (const tensor of [...quantized, own]) tensor.release();
    return torch.attach(node, out);
  };
}
