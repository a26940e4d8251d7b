/** Views by strides (`as_strided`, windows): what they share, and their gradients. */

import type { Sizes } from "../shape";
import { alias, type Tensor } from "../tensor";
import type { Torch } from "../torch";
import { reshape, undoing, viewed } from "./layout";

/** Whether elements laid out so may share memory (FunctionsManual.cpp, `_maybe_overlapping_memory`). */
function mayOverlap(dims: readonly Dimension[]): boolean {
  let reached = 0;
  for (const { size, stride } of [...dims].sort((a, b) => a.stride - b.stride)) {
    if (stride <= reached) return true;
    reached += stride * (size - 1);
  }
  return false;
}

interface Dimension {
  readonly size: number;
  readonly stride: number;
}

/** Dimensions of more than one element. */
function extended(sizes: Sizes, strides: Sizes): Dimension[] {
  return sizes.map((size, k) => ({ size, stride: strides[k]! })).filter(({ size }) => size !== 1);
}

/** Elements of the smallest storage for such a layout. */
function reach(dims: readonly Dimension[]): number {
  return dims.reduce((sum, { size, stride }) => sum + (size - 1) * stride, 1);
}

/** A view with sizes and strides given outright, which may look at elements more than once. */
export function asStrided(torch: Torch, input: Tensor, sizes: Sizes, strides: Sizes): Tensor {
  const back = { sizes: input.sizes, strides: input.strides };
  return viewed(
    torch,
    "AsStridedBackward0",
    input,
    sizes,
    strides,
    undoing((torch, g) => stridedGradient(torch, g, { sizes, strides }, back)),
  );
}

/**
 * The gradient of `as_strided`: a storage of zeros that what was looked at is put into, by number where elements were looked at
 * more than once; seen as the input was laid out (FunctionsManual.cpp, `as_strided_backward`).
 */
function stridedGradient(
  torch: Torch,
  gradient: Tensor,
  seen: { readonly sizes: Sizes; readonly strides: Sizes },
  input: { readonly sizes: Sizes; readonly strides: Sizes },
): Tensor {
  const [out, into] = [extended(seen.sizes, seen.strides), extended(input.sizes, input.strides)];
  const elements = Math.max(reach(out), reach(into));
  const storage = torch.empty("new_zeros", [elements], gradient.dtype);
  if (mayOverlap(out)) {
    const all = torch.empty("arange", [elements], "int64");
    const places = torch.empty("clone", [gradient.elements], "int64");
    const flat = reshape(torch, gradient, [-1]);
    for (const temporary of [flat, places, all]) temporary.release();
  }
  const view = alias(storage, input.sizes, input.strides);
  storage.release();
  return view;
}

/** `unfold(dim, size, step)`: an overlapping view. */
export function slidingWindows(
  torch: Torch,
  self: Tensor,
  dim: number,
  [size, step]: readonly [size: number, step: number],
): Tensor {
  const k = dim < 0 ? dim + self.rank : dim;
  const sizes = [...self.sizes.map((n, d) => (d === k ? Math.floor((n - size) / step) + 1 : n)), size];
  const strides = [...self.strides.map((n, d) => (d === k ? n * step : n)), self.strides[k]!];
  const node = torch.record("UnfoldBackward0", [self], (torch, [gradient]) => [
    gradient ? torch.empty("unfold_backward", self.sizes, gradient.dtype) : null,
  ]);
  return torch.attach(node, alias(self, sizes, strides));
}
