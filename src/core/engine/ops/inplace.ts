/**
 * Writing into a part of a tensor. The tensor that owns the storage takes over the history of what was written.
 * Source: torch/csrc/autograd/functions/tensor.cpp (CopySlices, CopyBackwards).
 */
import type { BackwardFunction } from "../node";
import { releaseNode } from "../node";
import { preservedStrides } from "../shape";
import { alias, type Tensor } from "../tensor";
import type { Torch } from "../torch";
import { inplace, isTensor, type Operand } from "./arithmetic";

/**
 * `self.copy_(source)`. Where `self` is a view, backward copies the gradient of the whole, clones the part that was
 * written (that is the source's gradient), and clears it where the part had a history of its own.
 */
export function copyInto(torch: Torch, self: Tensor, source: Operand): Tensor {
  const base = self.base !== null && self.base.references > 0 ? self.base : null;
  if (base === null) return inplace(torch, self, source);
  const from = isTensor(source) ? source : null;
  const node = torch.record("CopySlices", [base, from], copySlices(base, self, self.requiresGrad, from?.dtype ?? null));
  if (node === null) return self.retain();
  const before = base.node;
  base.node = null;
  torch.attach(node, base);
  if (before !== null) releaseNode(before);
  const seen = torch.record("AsStridedBackward0", [base], (torch, [gradient]) => [
    gradient ? torch.empty("as_strided_backward", base.sizes, gradient.dtype) : null,
  ]);
  return torch.attach(seen, alias(self, self.sizes, self.strides));
}

function copySlices(base: Tensor, part: Tensor, cleared: boolean, dtype: Tensor["dtype"] | null): BackwardFunction {
  const whole = { sizes: base.sizes, strides: base.strides };
  const { sizes, strides } = part;
  return (torch, [gradient], _, node) => {
    if (!gradient) return [null, null];
    const result = torch.empty("new_empty_strided", whole.sizes, gradient.dtype, whole.strides);
    const written = torch.empty("clone", sizes, gradient.dtype, preservedStrides(sizes, strides));
    const zeros = cleared ? torch.empty("zeros_like", sizes, gradient.dtype) : null;
    const own =
      !node.edges[1] || dtype === null
        ? null
        : dtype === written.dtype
          ? written.retain()
          : torch.toCopy(written, dtype);
    zeros?.release();
    written.release();
    if (node.edges[0]) return [result, own];
    result.release();
    return [null, own];
  };
}
