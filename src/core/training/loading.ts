/**
 * What `from_pretrained` holds while it quantizes on the fly: the model is made without data, each weight is read, moved to
 * the device in the load dtype, packed there, and let go; the next one follows (no threads in this case).
 * Sources: transformers/core_model_loading.py (convert_and_load_state_dict_in_model, MergeModulelist, Concatenate),
 * transformers/modeling_utils.py (caching_allocator_warmup), transformers/integrations/bitsandbytes.py (Bnb4bitQuantize,
 * Bnb8bitQuantize), bitsandbytes/functional.py (quantize_4bit), bitsandbytes/nn/modules.py (Int8Params._quantize).
 *
 * Other weights are converted before they reach the device (aten/src/ATen/native/cuda/Copy.cu converts on the host unless the
 * copy is asynchronous), so that nothing but the weights themselves is ever there.
 */
import { quantizerOf } from "../../terms/quantizers";
import { type DType, ELEMENT_BYTES } from "../engine/dtype";
import { numel } from "../engine/shape";
import type { Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import type { PlacedTensor } from "./placed";
import { BLOCK } from "./quantization/bitsandbytes";
import type { QuantizationSpec } from "./run";

/** Formats that bitsandbytes packs while the checkpoint is read. */
const PACKED_ON_THE_FLY: ReadonlySet<QuantizationSpec["type"]> = new Set(["nf4", "fp4", "int8"]);

/** Whether weights come whole and are packed on the device. */
export function packsOnTheFly(quantization: QuantizationSpec | null): boolean {
  return quantization !== null && quantization.prequantized !== true && PACKED_ON_THE_FLY.has(quantization.type);
}

/** `dot_natural_key`: names by their parts, numbers by value and before words. */
export function inKeyOrder(placed: readonly PlacedTensor[]): PlacedTensor[] {
  const keyed = placed.map((item) => ({ item, parts: item.name.split(".").map(keyOf) }));
  return keyed.sort((a, b) => compareParts(a.parts, b.parts)).map(({ item }) => item);
}

function keyOf(part: string): string | number {
  return DIGITS.test(part) ? Number(part) : part;
}

function compareParts(left: readonly (string | number)[], right: readonly (string | number)[]): number {
  for (let k = 0; k < Math.min(left.length, right.length); k++) {
    const [a, b] = [left[k]!, right[k]!];
    if (a === b) continue;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a < b ? -1 : 1;
  }
  return left.length - right.length;
}

const DIGITS = /^\d+$/;

/** One allocation as large as the model will be, let go at once: the pool it leaves is filled by the weights. */
export function warmUp(
  torch: Torch,
  placed: readonly PlacedTensor[],
  isPacked: (item: PlacedTensor) => boolean,
  quantization: QuantizationSpec | null,
): void {
  const packedBytes = (quantizerOf(quantization?.type)?.bits ?? 4) / 8;
  const bytes = placed.reduce(
    (sum, item) => sum + numel(item.sizes) * (isPacked(item) ? packedBytes : ELEMENT_BYTES[item.dtype]),
    0,
  );
  temporary(torch, "empty", Math.floor(bytes / 2), "float16").release();
}

/** Packs a weight while it lies on the device whole. */
export function whilePacking<T>(
  torch: Torch,
  { sizes, dtype }: PlacedTensor,
  { type, double }: QuantizationSpec,
  pack: () => T,
): T {
  const elements = numel(sizes);
  const whole = temporary(torch, "to", elements, dtype);
  // LLM.int8 goes over the host and comes back in half precision.
  const half = quantizerOf(type)?.outliers ? temporary(torch, "to", elements, "float16") : null;
  const result = pack();
  if (double) {
    // The constants are quantized in turn, after their mean was taken off.
    const constants = [1, 2].map(() => temporary(torch, "quantize_4bit", Math.ceil(elements / BLOCK), "float32"));
    for (const tensor of constants) tensor.release();
  }
  half?.release();
  whole.release();
  return result;
}

/** Experts are stored one by one and stacked on the device, beside the pieces they are made of. */
export function withPieces<T>(torch: Torch, item: PlacedTensor, make: () => T): T {
  if (item.sizes.length !== 3 || !EXPERTS.test(item.name)) return make();
  const pieces = temporary(torch, "stack", numel(item.sizes), item.dtype);
  const result = make();
  pieces.release();
  return result;
}

const EXPERTS = /\.experts\./;

function temporary(torch: Torch, operator: string, elements: number, dtype: DType): Tensor {
  const { kind } = torch;
  torch.kind = "temporaries";
  const tensor = torch.empty(operator, [elements], dtype);
  torch.kind = kind;
  return tensor;
}
