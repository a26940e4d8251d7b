/**
 * Fourier transforms of real numbers along one dimension, of which half the frequencies are kept, and numbers whose conjugate is
 * a note on a view. Sources: aten/src/ATen/native/SpectralOps.cpp (fft_r2c, fft_c2r, resize_fft_input), its
 * cuda/SpectralOps.cpp (the layout of what is made), FunctionsManual.cpp (fft_r2c_backward, fft_c2r_backward),
 * MathBitsFallback.h. What cuFFT itself takes for a transform is not among the allocations.
 */

import { say } from "../../../words/message";
import { NotModelled } from "../not-modelled";
import { contiguousStrides, type Sizes } from "../shape";
import { sameView, type Tensor } from "../tensor";
import type { Torch } from "../torch";
import { resolved } from "./arithmetic";
import { realPart } from "./complex";
import { pad, slice } from "./layout";

/** `conj` of complex numbers: a view of which readers make a copy first. */
export function conjugate(torch: Torch, input: Tensor): Tensor {
  if (input.dtype !== "complex64") return input.retain();
  const node = torch.record("ConjBackward0", [input], (_, [gradient]) => [gradient ? conjugated(gradient) : null]);
  return torch.attach(node, conjugated(input));
}

/** The conjugate of a tensor, without a history. */
export function conjugated(input: Tensor): Tensor {
  const view = sameView(input);
  view.conjugated = !input.conjugated;
  return view;
}

/** `rfft`: the frequencies of real numbers, of `n` of them where that is said. */
export function toFrequencies(torch: Torch, input: Tensor, n: number | undefined, dim: number): Tensor {
  if (input.dtype !== "float32") throw new NotModelled(say("engine.fourier", { dtype: input.dtype }));
  const k = dim < 0 ? dim + input.rank : dim;
  const real = ofLength(torch, input, k, n);
  const { sizes } = real;
  const node = torch.record("FftR2CBackward0", [real], (torch, [gradient]) => {
    if (!gradient) return [null];
    const half = resolved(torch, gradient);
    const whole = torch.empty("new_zeros", sizes, "complex64"); // of which the gradient is one half
    half.release();
    const out = torch.empty("_fft_c2c", sizes, "complex64", laidOut(sizes, whole.strides, k, sizes[k]!));
    whole.release();
    const part = realPart(out);
    out.release();
    return [part];
  });
  if (node !== null) torch.save(node, real); // for its length (derivatives.yaml, `self.sym_size(dim.back())`)
  const made = withLength(sizes, k, Math.floor(sizes[k]! / 2) + 1);
  const out = torch.empty("_fft_r2c", made, "complex64", laidOut(sizes, real.strides, k, made[k]!));
  real.release();
  return torch.attach(node, out);
}

/** `irfft`: real numbers of their frequencies, `n` of them where that is said; it reads a copy, which cuFFT may write into. */
export function fromFrequencies(torch: Torch, input: Tensor, n: number | undefined, dim: number): Tensor {
  if (input.dtype !== "complex64") throw new NotModelled(say("engine.fourier", { dtype: input.dtype }));
  const k = dim < 0 ? dim + input.rank : dim;
  const half = ofLength(torch, input, k, n === undefined ? undefined : Math.floor(n / 2) + 1);
  const { sizes } = half;
  const node = torch.record("FftC2RBackward0", [half], (torch, [gradient]) => {
    if (!gradient) return [null];
    return [torch.empty("_fft_r2c", sizes, "complex64", laidOut(gradient.sizes, gradient.strides, k, sizes[k]!))];
  });
  const dense = resolved(torch, half);
  half.release();
  const made = withLength(sizes, k, n ?? 2 * (sizes[k]! - 1));
  const out = torch.empty("_fft_c2r", made, "float32", laidOut(sizes, contiguousStrides(sizes), k, made[k]!));
  dense.release();
  return torch.attach(node, out);
}

function withLength(sizes: Sizes, dim: number, length: number): number[] {
  return sizes.map((size, k) => (k === dim ? length : size));
}

/** The tensor with `n` numbers along `dim`: the first of them, or all with zeros behind. */
function ofLength(torch: Torch, input: Tensor, dim: number, n: number | undefined): Tensor {
  const size = input.sizes[dim];
  if (size === undefined || (n !== undefined && !(n >= 1))) throw new NotModelled(say("engine.no-operand"));
  if (n === undefined || n === size) return input.retain();
  if (n < size) return slice(torch, input, dim, 0, n);
  const amounts = new Array<number>(2 * (input.rank - dim)).fill(0);
  amounts[amounts.length - 1] = n - size;
  return pad(torch, input, amounts);
}

/** Strides of what is made along `dim`: the other dimensions stand around it in the order of the input's strides. */
function laidOut(sizes: Sizes, strides: Sizes, dim: number, length: number): number[] {
  const out = new Array<number>(sizes.length).fill(1);
  const around = sizes.map((_, k) => k).filter((k) => k !== dim);
  let step = length;
  for (const k of around.toSorted((a, b) => strides[a]! - strides[b]! || b - a)) {
    out[k] = step;
    step *= sizes[k]!;
  }
  return out;
}
