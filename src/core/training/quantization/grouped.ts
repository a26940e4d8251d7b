/**
 * Linear layers of GPTQ, AWQ and HQQ checkpoints at 4 bits: packed weights with half-precision constants per group of
 * inputs. The weight is unpacked for each forward and again for backward, by autograd functions that keep the packed one
 * only. Widths and groups are the formats' defaults (4 bits; groups of 128, HQQ 64). Sources: gptqmodel
 * (nn_modules/qlinear), transformers/integrations/{awq,hqq}.py, hqq (core/quantize.py, HQQMatmulNoCacheMul).
 */
import type { DType } from "../../engine/dtype";
import type { ModuleForward } from "../../engine/interpreter";
import { add } from "../../engine/ops/arithmetic";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { dequantize, type PackedWeight } from "./bitsandbytes";

export type GroupedFormat = "gptq" | "awq" | "hqq";

const GROUP: Readonly<Record<GroupedFormat, number>> = { gptq: 128, awq: 128, hqq: 64 };

/** Allocates a packed weight with its group constants. */
export function packGrouped(
  torch: Torch,
  format: GroupedFormat,
  outputs: number,
  inputs: number,
  dtype: DType,
): PackedWeight {
  const make = (sizes: readonly number[], kind: DType): Tensor => {
    const tensor = torch.empty("empty", sizes, kind);
    if (tensor.storage.id >= 0) torch.ledger.kinds[tensor.storage.id] = "weights";
    return tensor;
  };
  const groups = Math.ceil(inputs / GROUP[format]);
  const packed = make([Math.ceil((outputs * inputs) / 2)], "uint8");
  make([groups, outputs], format === "hqq" ? dtype : "float16");
  if (format === "hqq") make([groups, outputs], dtype);
  else make([groups, Math.ceil(outputs / 2)], "uint8");
  // Which group each input belongs to (activation order).
  if (format === "gptq") make([inputs], "int32");
  return { format, outputs, inputs, packed, dtype, nested: false };
}

/** Forward: the unpacked weight exists during the product. */
export function linearGrouped(weight: PackedWeight, bias: Tensor | null): ModuleForward {
  return (torch, x) => {
    const node = torch.record("QuantLinearBackward", [x], (torch, [gradient]) => {
      if (!gradient) return [null];
      const unpacked = dequantize(torch, weight);
      const left = torch.empty("mm", x.sizes, x.dtype);
      unpacked.release();
      return [left];
    });
    const unpacked = dequantize(torch, weight);
    const product = torch.attach(node, torch.empty("mm", [...x.sizes.slice(0, -1), weight.outputs], x.dtype));
    unpacked.release();
    if (bias === null) return product;
    const out = add(torch, product, bias);
    product.release();
    return out;
  };
}
