/**
 * Complex numbers, as rotary embeddings use them (DeepSeek-V2, Llama 4). Sources: tools/autograd/derivatives.yaml,
 * aten/src/ATen/native/MathBitsFallback.h.
 */

import { say } from "../../../words/message";
import { NotModelled } from "../not-modelled";
import { alias, type Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise } from "./arithmetic";
import { contiguous, select } from "./layout";

/** `polar(abs, angle)`: models take no gradient of their frequencies. */
export function polar(torch: Torch, abs: Tensor, angle: Tensor): Tensor {
  return elementwise(torch, "polar", [abs, angle], "complex64");
}

/**
 * `fftn` of real numbers: what converts them to complex ones hands the real part of its gradient on as a view; the transform
 * is its own backward (aten/src/ATen/native/SpectralOps.cpp, promote_tensor_fft; derivatives.yaml, _fft_c2c). There is none of
 * bfloat16, of float16 only over powers of two, and autocast on CUDA leaves it as it is (autocast_mode.h).
 */
export function fourier(torch: Torch, input: Tensor): Tensor {
  if (input.dtype !== "float32") throw new NotModelled(say("engine.fourier", { dtype: input.dtype }));
  const { sizes } = input;
  const conversion = torch.record("ToCopyBackward0", [input], (_, [gradient]) => [
    gradient ? realPart(gradient) : null,
  ]);
  const complex = torch.attach(conversion, elementwise(torch, "_to_copy", [input], "complex64"));
  const node = torch.record("FftC2CBackward0", [complex], (torch, [gradient]) => [
    gradient ? torch.empty("_fft_c2c", sizes, "complex64") : null,
  ]);
  const out = torch.attach(node, torch.empty("_fft_c2c", sizes, "complex64"));
  complex.release();
  return out;
}

/** `real`: the first of each pair (aten/src/ATen/native/UnaryOps.cpp). */
export function real(torch: Torch, input: Tensor): Tensor {
  const pairs = viewAsReal(torch, input);
  const out = select(torch, pairs, -1);
  pairs.release();
  return out;
}

/** The first of each pair, as a view without a history. */
export function realPart(input: Tensor): Tensor {
  return alias(
    input,
    input.sizes,
    input.strides.map((stride) => 2 * stride),
    "float32",
  );
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
