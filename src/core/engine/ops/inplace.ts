/**
 * Writing into a part of a tensor. The tensor that owns the storage takes over the history of what was written.
 * Source: torch/csrc/autograd/functions/tensor.cpp (CopySlices, CopyBackwards).
 */
import type { BackwardFunction, Node } from "../node";
import { releaseNode } from "../node";
import { preservedStrides } from "../shape";
import { alias, type Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise, inplace, isTensor, type Operand, scaleInto } from "./arithmetic";

/**
 * `self.copy_(source)`. Where `self` is a view, backward copies the gradient of the whole, clones the part that was
 * written (that is the source's gradient), and clears it where the part had a history of its own.
 */
export function copyInto(torch: Torch, self: Tensor, source: Operand): Tensor {
  const base = baseOf(self);
  if (base === null) return inplace(torch, self, source);
  const from = isTensor(source) ? source : null;
  const node = torch.record("CopySlices", [base, from], copySlices(base, self, self.requiresGrad, from?.dtype ?? null));
  return written(torch, base, self, node);
}

/** `self.mul_(number)` and `self.div_(number)`: in a view, the written part's gradient is scaled in a copy and put back. */
export function scalePart(torch: Torch, operator: "mul" | "div", self: Tensor, other: Operand): Tensor {
  const base = baseOf(self);
  if (base === null || isTensor(other)) return scaleInto(torch, operator, self, other);
  return written(torch, base, self, torch.record("CopySlices", [base], withPart(base, self, operator)));
}

/** `self[mask] = number`: what was there before gets no gradient; the mask is saved for that (IndexPutBackward0). */
export function putByMask(torch: Torch, self: Tensor, mask: Tensor): Tensor {
  const base = baseOf(self) ?? self;
  const node = torch.record("CopySlices", [base], withPart(base, self, "index_put"));
  if (node !== null) torch.save(node, mask);
  return written(torch, base, self, node);
}

/** The whole gradient anew, with a copy of the written part that `operator` makes another one of. */
function withPart(base: Tensor, part: Tensor, operator: string): BackwardFunction {
  const whole = { sizes: base.sizes, strides: base.strides };
  const { sizes, strides } = part;
  return (torch, [gradient]) => {
    if (!gradient) return [null];
    const result = torch.empty("new_empty_strided", whole.sizes, gradient.dtype, whole.strides);
    const copy = torch.empty("clone", sizes, gradient.dtype, preservedStrides(sizes, strides));
    elementwise(torch, operator, [copy]).release();
    copy.release();
    return [result];
  };
}

/** The tensor whose history a write into `self` changes; null where `self` is no view, or of nothing that is left. */
function baseOf({ base }: Tensor): Tensor | null {
  return base !== null && base.references > 0 ? base : null;
}

/** The base goes on with the history of what was written, and the view looks at it anew. */
function written(torch: Torch, base: Tensor, self: Tensor, node: Node | null): Tensor {
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
