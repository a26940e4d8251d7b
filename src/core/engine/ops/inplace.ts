/**
 * Writing into a part of a tensor. The tensor that owns the storage takes over the history of what was written.
 * Source: torch/csrc/autograd/functions/tensor.cpp (CopySlices, CopyBackwards).
 */
import type { BackwardFunction, Node } from "../node";
import { releaseNode } from "../node";
import { numel, preservedStrides, type Sizes } from "../shape";
import { sameView, type Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise, inplace, isTensor, type Operand, scaleInto } from "./arithmetic";

/**
 * `self.copy_(source)`. Where `self` is a view, backward copies the gradient of the whole, clones the part that was
 * written (that is the source's gradient), and clears it where the part had a history of its own.
 */
export function copyInto(torch: Torch, self: Tensor, source: Operand): Tensor {
  const base = baseOf(self);
  if (base === null) return inplace(torch, self, source);
  torch.refresh(self);
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

/** What happens to the gradient of what stood where rows are put: it is the result's own, or a copy with zeros there. */
type Before = "kept" | "cleared";

/**
 * `index_add` and `index_copy`: rows of `source` added to those that `index` names, or put in their place. The gradient of the rows
 * is picked from the result's, for which the rows themselves are kept (derivatives.yaml, `expand_as(source)`).
 */
function withRows(torch: Torch, before: Before, self: Tensor, index: Tensor, source: Tensor): Node | null {
  const { sizes } = source;
  const node = torch.record("IndexRowsBackward0", [self, source], (torch, [gradient], _, node) => {
    if (!gradient) return [null, null];
    const copied = (): Tensor => elementwise(torch, "index_fill", [gradient]);
    const own = !node.edges[0] ? null : before === "kept" ? gradient.retain() : copied();
    return [own, node.edges[1] ? torch.empty("index_select", sizes, gradient.dtype) : null];
  });
  if (node?.edges[1]) for (const kept of [index, source]) torch.save(node, kept);
  return node;
}

/** `index_add`. */
export function addRows(torch: Torch, self: Tensor, index: Tensor, source: Tensor): Tensor {
  return torch.attach(withRows(torch, "kept", self, index, source), elementwise(torch, "index_add", [self]));
}

/** `index_add_` and `index_copy_`. */
export function rowsInPlace(torch: Torch, before: Before, self: Tensor, index: Tensor, source: Tensor): Tensor {
  const node = withRows(torch, before, self, index, source);
  return node === null ? self.retain() : torch.attach(node, sameView(self));
}

/** What is put at positions, and where. */
export interface Put {
  readonly indices: readonly Tensor[];
  /** A number of the host has no gradient. */
  readonly values: Tensor | null;
  /** Sizes of what the positions pick. */
  readonly picked: Sizes;
}

/**
 * `self[positions] = values`: the gradient of what was there before is a copy with zeros at the positions, that of the values is
 * picked from them (derivatives.yaml, index_put); in a view a copy of the whole gradient takes the first.
 */
export function putAtPositions(torch: Torch, self: Tensor, { indices, values, picked }: Put): Tensor {
  const base = baseOf(self);
  const put: BackwardFunction = (torch, [gradient], _, node) => {
    if (!gradient) return [null, null];
    const zeros = values === null || !node.edges[0] ? null : torch.empty("new_zeros", values.sizes, gradient.dtype);
    const own = node.edges[0] ? elementwise(torch, "clone", [gradient]) : null;
    zeros?.release();
    return [own, node.edges[1] ? torch.empty("index", picked, gradient.dtype) : null];
  };
  const whole = base && { sizes: base.sizes, strides: base.strides };
  const node = torch.record(
    base === null ? "IndexPutBackward0" : "CopySlices",
    [base ?? self, values],
    whole === null
      ? put
      : (torch, [gradient], saved, node) => {
          if (!gradient) return [null, null];
          const result = wholeGradient(torch, whole, gradient.dtype);
          const part = torch.empty("clone", self.sizes, gradient.dtype, preservedStrides(self.sizes, self.strides));
          const [own, ofValues] = put(torch, [part], saved, node);
          part.release();
          own?.release();
          return [result, ofValues ?? null];
        },
  );
  if (node === null) return self.retain();
  for (const index of indices) torch.save(node, index);
  return base === null ? rewritten(torch, node, self) : written(torch, base, self, node);
}

/** `self += other` in a view: the gradient of the whole is copied, and the part's clone is what `other` gets. */
export function addInPlace(torch: Torch, self: Tensor, other: Operand): Tensor {
  const whole = self.base;
  if (whole === null || !isTensor(other)) return inplace(torch, self, other);
  const base = baseOf(self);
  // What is left of a whole that nobody holds any more is this view: where it shows all of it, so does the gradient.
  const seen = base === null && numel(self.sizes) === numel(whole.sizes) ? self : whole;
  const node = torch.record("CopySlices", [base ?? self, other], (torch, [gradient], _, node) => {
    if (!gradient) return [null, null];
    const copied = wholeGradient(torch, seen, gradient.dtype);
    const part = torch.empty("clone", self.sizes, gradient.dtype);
    if (node.edges[1]) return [copied, part];
    part.release();
    return [copied, null];
  });
  if (base !== null) return written(torch, base, self, node);
  return node === null ? self.retain() : rewritten(torch, node, self);
}

/** The tensor with its new history, a view of what it was a view of. */
export function rewritten(torch: Torch, node: Node, self: Tensor): Tensor {
  const out = torch.attach(node, sameView(self));
  out.base = self.base;
  return out;
}

/** The whole's gradient, into which the part's is copied. */
export function wholeGradient(
  torch: Torch,
  { sizes, strides }: Pick<Tensor, "sizes" | "strides">,
  dtype: Tensor["dtype"],
): Tensor {
  return torch.empty("new_empty_strided", sizes, dtype, strides);
}

/** The whole gradient anew, with a copy of the written part that `operator` makes another one of. */
function withPart(base: Tensor, part: Tensor, operator: string): BackwardFunction {
  const whole = { sizes: base.sizes, strides: base.strides };
  const { sizes, strides } = part;
  return (torch, [gradient]) => {
    if (!gradient) return [null];
    const result = wholeGradient(torch, whole, gradient.dtype);
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
  base.writes++;
  const before = base.node;
  base.node = null;
  torch.attach(node, base);
  if (before !== null) releaseNode(before);
  const seen = torch.record("AsStridedBackward0", [base], (torch, [gradient]) => [
    gradient ? torch.empty("as_strided_backward", base.sizes, gradient.dtype) : null,
  ]);
  return torch.attach(seen, sameView(self));
}

function copySlices(base: Tensor, part: Tensor, cleared: boolean, dtype: Tensor["dtype"] | null): BackwardFunction {
  const whole = { sizes: base.sizes, strides: base.strides };
  const { sizes, strides } = part;
  return (torch, [gradient], _, node) => {
    if (!gradient) return [null, null];
    const result = wholeGradient(torch, whole, gradient.dtype);
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
