/** Operators that pick elements by other tensors, or put them there. */

import { table } from "../../../../terms/table";
import { broadcast } from "../../shape";
import { hostTensor, sameView, type Tensor } from "../../tensor";
import type { Torch } from "../../torch";
import type { Argument, Arguments, Rule } from "../arguments";
import * as arithmetic from "../arithmetic";
import { isTensor } from "../arithmetic";
import * as experts from "../experts";
import * as gathering from "../gathering";
import { addRows, putAtPositions, putByMask } from "../inplace";
import * as masks from "../masks";

/** Advanced indexing: indexed dimensions are replaced by the broadcast shape of the indices. */
function index(torch: Torch, args: Arguments): Tensor {
  const self = args.tensor(0);
  // An index that stays on the host is given by its sizes; the device never holds it.
  const given = ((args.positional[1] as readonly Argument[]) ?? []).map((value) =>
    Array.isArray(value) ? hostTensor(torch.ledger, value.map(Number), "int64") : value,
  );
  const indices = given.filter(isTensor);
  const rows = args.keywords["rows"];
  if (typeof rows === "number" && indices[0] !== undefined) return masks.indexByMask(torch, self, indices[0], rows);
  return gathering.gatherLike(torch, "index", self, indices, indexedSizes(self, given));
}

/**
 * Indexed dimensions are replaced by the broadcast shape of the indices: where they stood if they stood together, in front else
 * (aten/src/ATen/native/TensorAdvancedIndexingUtils.h, make_info).
 */
function indexedSizes(self: Tensor, given: readonly Argument[]): number[] {
  const indices = given.filter(isTensor);
  const first = given.findIndex((value) => isTensor(value));
  const shape = indices.reduce<readonly number[]>((sizes, tensor) => broadcast(sizes, tensor.sizes), []);
  if (given.slice(first, first + indices.length).every((value) => isTensor(value)))
    return [...self.sizes.slice(0, first), ...shape, ...self.sizes.slice(first + indices.length)];
  return [...shape, ...self.sizes.filter((_, k) => !isTensor(given[k]))];
}

/** Writing in place: rows or a number where a mask is true, or rows with numbers. */
function indexPut(torch: Torch, args: Arguments): Tensor {
  const rows = args.keywords["rows"];
  const mask = (args.positional[1] as readonly Argument[]).find(isTensor);
  if (typeof rows === "number" && mask !== undefined)
    return masks.putRowsByMask(torch, args.tensor(0), mask, args.tensor(2), rows);
  if (mask?.dtype === "bool") return putByMask(torch, args.tensor(0), mask);
  const given = (args.positional[1] as readonly Argument[]) ?? [];
  const picked = indexedSizes(args.tensor(0), given);
  return putAtPositions(torch, args.tensor(0), {
    indices: given.filter(isTensor),
    values: args.maybeTensor(2),
    picked,
  });
}

function indexSelect(torch: Torch, args: Arguments): Tensor {
  const self = args.tensor(0);
  const dim = args.number(1, 0);
  const k = dim < 0 ? dim + self.rank : dim;
  const sizes = self.sizes.map((size, d) => (d === k ? args.tensor(2).elements : size));
  return gathering.gatherLike(torch, "index_select", self, [args.tensor(2)], sizes);
}

/** `scatter` with a number: a copy whose gradient has holes. */
function scatterValue(torch: Torch, args: Arguments): Tensor {
  const self = args.tensor(0);
  const index = args.tensor(2);
  const node = torch.record("ScatterBackward1", [self], (torch, [gradient]) => [
    gradient ? torch.empty("scatter", self.sizes, gradient.dtype) : null,
  ]);
  if (node !== null) torch.save(node, index);
  return torch.attach(node, arithmetic.elementwise(torch, "scatter", [self]));
}

/** `scatter_`: what is written gathers its gradient from where it went; a number has none. */
function scatterInto(torch: Torch, args: Arguments): Tensor {
  const [self, index, source] = [args.tensor(0), args.tensor(2), args.maybeTensor(3)];
  const node = torch.record("ScatterBackward0", [self, source], (torch, [gradient], _, node) =>
    [self, index].map((of, k) =>
      gradient && node.edges[k] ? torch.empty(k === 0 ? "scatter" : "gather", of.sizes, gradient.dtype) : null,
    ),
  );
  if (node === null) return self.retain();
  torch.save(node, index);
  return torch.attach(node, sameView(self));
}

export const INDEXING: Readonly<Record<string, Rule>> = table({
  masked_scatter: (t, a) => masks.maskedScatter(t, a.tensor(0), a.tensor(1), a.tensor(2)),
  nonzero: (t, a) => masks.positions(t, a.tensor(0), a.number(-1, 0, "rows")),
  // aten/src/ATen/native/Onehot.cpp: zeros, and a one put where each number says
  one_hot: (t, a) => t.empty("zeros", [...a.tensor(0).sizes, a.number(1, 1)], "int64"),
  index,
  index_select: indexSelect,
  take_along_dim: (t, a) => gathering.takeAlongDim(t, a.tensor(0), a.tensor(1)),
  gather: (t, a) => gathering.gatherLike(t, "gather", a.tensor(0), [a.tensor(2)], a.tensor(2).sizes),
  scatter: scatterValue,
  scatter_: scatterInto,
  index_put_: indexPut,
  index_add: (t, a) => addRows(t, a.tensor(0), a.tensor(2), a.tensor(3)),
  expert_rows: (t, a) => experts.expertRows(t, a.tensor(0), a.number(1, 1), a.number(2, 0)),
  expert_slice: (t, a) => experts.expertSlice(t, a.tensor(0), a.number(1, 1), a.number(2, 0)),
  expert_part: (t, a) => experts.expertPart(t, a.tensor(0), a.number(1, 1), a.number(2, 0)),
});
