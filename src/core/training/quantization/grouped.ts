/**
 * Linear layers of pre-quantized checkpoints: packed weights with constants per group of inputs or per row, of any width.
 * The weight is unpacked for each forward and again for backward, by autograd functions that keep the packed one only.
 * Sources: gptqmodel (nn_modules/qlinear), transformers/integrations/{awq,hqq,eetq,compressed_tensors}.py, hqq
 * (core/{quantize,bitpack}.py, HQQMatmulNoCacheMul), compressed-tensors (compressors/quantized_compressors), torchao
 * (quantization/quant_api.py, Int8WeightOnlyConfig), aqlm (inference.py), torchao (prototype/mx_formats/nvfp4_tensor.py).
 */
import type { DType } from "../../engine/dtype";
import type { ModuleForward } from "../../engine/interpreter/options";
import { add } from "../../engine/ops/arithmetic";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { CodebookSpec, GroupedFormat, QuantizationSpec } from "../run";
import { dequantize, type PackedWeight } from "./bitsandbytes";

/** One tensor of a stored weight. */
type Stored = readonly [sizes: readonly number[], dtype: DType];

interface Layer {
  readonly outputs: number;
  readonly inputs: number;
  readonly bits: number;
  /** Groups of inputs in a row. */
  readonly groups: number;
  readonly symmetric: boolean;
  readonly dtype: DType;
  readonly codebooks: CodebookSpec;
}

interface Format {
  readonly bits: number;
  readonly group: number;
  /** The layer's autograd function keeps its input, too. */
  readonly keepsInput?: true;
  stored(layer: Layer): readonly Stored[];
}

/** Words of 32 bits that hold some numbers. */
const words = (count: number, bits: number): number => Math.ceil((count * bits) / 32);

/** GPTQ and AWQ: packed weights and zero points, half-precision scales. */
const packedByColumns = ({ outputs, inputs, bits, groups }: Layer): readonly Stored[] => [
  [[words(inputs, bits), outputs], "int32"],
  [[groups, words(outputs, bits)], "int32"],
  [[groups, outputs], "float16"],
];

/** Rows of bytes with one scale each. */
const bytesByRow =
  (scale: DType | null) =>
  ({ outputs, inputs, dtype }: Layer): readonly Stored[] => [
    [[outputs, inputs], "int8"],
    [[outputs], scale ?? dtype],
  ];

/** hqq/core/bitpack.py: as many codes in a byte as fit; ten of three bits in a word. */
function hqqCodes(elements: number, bits: number): Stored {
  return bits === 3 ? [[Math.ceil(elements / 10)], "int32"] : [[Math.ceil((elements * bits) / 8)], "uint8"];
}

const FORMATS: Readonly<Record<GroupedFormat, Format>> = {
  gptq: {
    bits: 4,
    group: 128,
    // Which group each input belongs to (activation order).
    stored: (layer) => [...packedByColumns(layer), [[layer.inputs], "int32"]],
  },
  awq: { bits: 4, group: 128, stored: packedByColumns },
  hqq: {
    bits: 4,
    group: 64,
    stored: ({ outputs, inputs, bits, groups, dtype }) => [
      hqqCodes(outputs * inputs, bits),
      [[groups * outputs, 1], dtype],
      [[groups * outputs, 1], dtype],
    ],
  },
  "compressed-tensors": {
    bits: 8,
    group: -1,
    stored: ({ outputs, inputs, bits, groups, symmetric, dtype }) => [
      bits === 8 ? [[outputs, inputs], "int8"] : [[outputs, words(inputs, bits)], "int32"],
      [[outputs, groups], dtype],
      ...(symmetric ? [] : [[[outputs, groups], "int8"] as const]),
    ],
  },
  torchao: { bits: 8, group: -1, stored: bytesByRow(null) },
  // Two numbers in a byte, a float8 scale for 16 of them and one of the whole.
  nvfp4: {
    bits: 4,
    group: 16,
    stored: ({ outputs, inputs, groups }) => [
      [[outputs, Math.ceil(inputs / 2)], "uint8"],
      [[outputs, groups], "int8"],
      [[1], "float32"],
    ],
  },
  eetq: { bits: 8, group: -1, stored: bytesByRow("float16") },
  // aqlm/inference.py (QuantizedLinear, _QuantizedMatmul): codes, codebooks, a scale for each group of outputs.
  aqlm: {
    bits: 16,
    group: -1,
    keepsInput: true,
    stored: ({ outputs, inputs, dtype, codebooks: { count, bits, ...entry } }) => [
      [[outputs / entry.outputs, inputs / entry.inputs, count], bits <= 8 ? "int8" : bits <= 16 ? "float16" : "int32"],
      [[count, 2 ** bits, entry.outputs, entry.inputs], dtype],
      [[outputs / entry.outputs, 1, 1, 1], dtype],
    ],
  },
};

/** AqlmConfig's own (transformers/utils/quantization_config.py). */
const CODEBOOKS: CodebookSpec = { count: 1, bits: 16, outputs: 1, inputs: 8 };

/** Allocates a packed weight with its constants. */
export function packGrouped(
  torch: Torch,
  format: GroupedFormat,
  outputs: number,
  inputs: number,
  dtype: DType,
  spec: Pick<QuantizationSpec, "bits" | "groupSize" | "symmetric" | "codebooks"> = {},
): PackedWeight {
  const own = FORMATS[format];
  const group = spec.groupSize ?? own.group;
  const layer: Layer = {
    outputs,
    inputs,
    bits: spec.bits ?? own.bits,
    groups: group > 0 ? Math.ceil(inputs / group) : 1,
    symmetric: spec.symmetric ?? true,
    dtype,
    codebooks: spec.codebooks ?? CODEBOOKS,
  };
  const [packed] = own.stored(layer).map(([sizes, kind]) => {
    const tensor = torch.empty("empty", sizes, kind);
    torch.ledger.relabel(tensor.storage.id, "weights");
    return tensor;
  });
  return { format, outputs, inputs, packed: packed!, dtype, nested: false };
}

/** Forward: the unpacked weight exists during the product. */
export function linearGrouped(weight: PackedWeight, bias: Tensor | null): ModuleForward {
  return (torch, x) => {
    const rows = x.elements / weight.inputs;
    const node = torch.record("QuantLinearBackward", [x], (torch, [gradient]) => {
      if (!gradient) return [null];
      const unpacked = dequantize(torch, weight);
      torch.multiply(x.sizes, { count: 1, rows, columns: weight.inputs, inner: weight.outputs, dtype: x.dtype });
      const left = torch.empty("mm", x.sizes, x.dtype);
      unpacked.release();
      return [left];
    });
    const keeps = Object.hasOwn(FORMATS, weight.format) && FORMATS[weight.format as GroupedFormat].keepsInput === true;
    if (node !== null && keeps) torch.save(node, x);
    const unpacked = dequantize(torch, weight);
    const sizes = [...x.sizes.slice(0, -1), weight.outputs];
    torch.multiply(sizes, { count: 1, rows, columns: weight.outputs, inner: weight.inputs, dtype: x.dtype });
    const product = torch.attach(node, torch.empty("mm", sizes, x.dtype));
    unpacked.release();
    if (bias === null) return product;
    const out = add(torch, product, bias);
    product.release();
    return out;
  };
}
