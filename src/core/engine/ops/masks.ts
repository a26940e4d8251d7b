/**
 * Picking by a boolean mask, and writing where it is true. Sources: aten/native/IndexingUtils.h (expandTensors),
 * aten/native/TensorAdvancedIndexing.cpp, aten/native/cuda/IndexKernel.cpp.
 */
import { sameView, type Tensor } from "../tensor";
import type { Torch } from "../torch";

/** Positions a boolean mask picks, as indexing finds them first: one number per dimension (aten/native/IndexingUtils.h). */
export function positions(torch: Torch, mask: Tensor, rows: number): Tensor {
  return torch.empty("nonzero", [rows, mask.rank], "int64");
}

/** `tensor[mask]`: `rows` elements (or rows) of it; the gradient goes back into zeros. */
export function indexByMask(torch: Torch, self: Tensor, mask: Tensor, rows: number): Tensor {
  const { sizes } = self;
  const node = torch.record("IndexBackward0", [self], (torch, [gradient], [saved]) => {
    if (!gradient) return [null];
    const zeros = torch.empty("new_zeros", sizes, gradient.dtype);
    positions(torch, saved!, rows).release();
    return [zeros];
  });
  if (node !== null) torch.save(node, mask);
  const found = positions(torch, mask, rows);
  const out = torch.attach(node, torch.empty("index", [rows, ...sizes.slice(mask.rank)], self.dtype));
  found.release();
  return out;
}

/**
 * `self[mask] = values` for `rows` rows of `self`. Backward copies the gradient and clears the rows, whose own gradient is
 * picked from them (derivatives.yaml, index_put).
 */
export function putRowsByMask(torch: Torch, self: Tensor, mask: Tensor, values: Tensor, rows: number): Tensor {
  const { sizes } = values;
  const node = torch.record("IndexPutBackward0", [self, values], (torch, [gradient], [saved], node) => {
    if (!gradient) return [null, null];
    const zeros = node.edges[0] ? torch.empty("zeros_like", sizes, values.dtype) : null;
    const own = node.edges[0] ? torch.empty("clone", gradient.sizes, gradient.dtype) : null;
    if (own !== null) positions(torch, saved!, rows).release();
    zeros?.release();
    if (!node.edges[1]) return [own, null];
    const found = positions(torch, saved!, rows);
    const picked = torch.empty("index", sizes, gradient.dtype);
    found.release();
    return [own, picked];
  });
  positions(torch, mask, rows).release();
  if (node === null) return self.retain();
  torch.save(node, mask);
  return torch.attach(node, sameView(self));
}

/** `self.masked_scatter(mask, source)`: a copy with `source` in the masked places, whose gradient is picked from them. */
export function maskedScatter(torch: Torch, self: Tensor, mask: Tensor, source: Tensor): Tensor {
  const { sizes, elements: rows } = source;
  const node = torch.record("MaskedScatterBackward0", [self, source], (torch, [gradient], [saved], node) => {
    if (!gradient) return [null, null];
    const own = node.edges[0] ? torch.empty("masked_fill", self.sizes, gradient.dtype) : null;
    if (!node.edges[1]) return [own, null];
    const found = positions(torch, saved!, rows);
    const picked = torch.empty("masked_select", sizes, gradient.dtype);
    found.release();
    return [own, picked];
  });
  if (node !== null) torch.save(node, mask);
  return torch.attach(node, torch.empty("masked_scatter", self.sizes, self.dtype));
}
