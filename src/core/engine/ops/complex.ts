/**
 * Complex numbers, as rotary embeddings use them (DeepSeek-V2, Llama 4). Sources: tools/autograd/derivatives.yaml,
 * aten/src/ATen/native/MathBitsFallback.h.
 */
import { alias, type Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise } from "./arithmetic";
import { contiguous } from "./layout";

/** `polar(abs, angle)`: models take no gradient of their frequencies. */
export function polar(torch: Torch, abs: Tensor, angle: Tensor): Tensor {
  return elementwise(torch, "polar", [abs, angle], "complex64");
}

function paired(input: Tensor): Tensor {
  return alias(
    input,
    input.sizes.slice(0, -1),
    input.strides.slice(0, -1).map((stride) => stride / 2),
    "complex64",
  );
}

function unpaired(input: Tensor): Tensor {
  return alias(input, [...input.sizes, 2], [...input.strides.map((stride) => 2 * stride), 1], "float32");
}

/** A view of pairs of floats as complex numbers; the gradient is made contiguous and seen as pairs again. */
export function viewAsComplex(torch: Torch, input: Tensor): Tensor {
  const node = torch.record("ViewAsComplexBackward0", [input], seen(unpaired));
  return torch.attach(node, paired(input));
}

/** A view of complex numbers as pairs of floats. */
export function viewAsReal(torch: Torch, input: Tensor): Tensor {
  const node = torch.record("ViewAsRealBackward0", [input], seen(paired));
  return torch.attach(node, unpaired(input));
}

function seen(
  view: (gradient: Tensor) => Tensor,
): (torch: Torch, gradients: readonly (Tensor | null)[]) => (Tensor | null)[] {
  return (torch, [gradient]) => {
    if (!gradient) return [null];
    const dense = contiguous(torch, gradient);
    const out = view(dense);
    dense.release();
    return [out];
  };
}
