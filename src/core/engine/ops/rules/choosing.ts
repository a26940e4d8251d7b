/** Operators that choose values: the largest, the smallest, the order. */

import { table } from "../../../../terms/table";
import { say } from "../../../../words/message";
import { refuseSizes } from "../../not-modelled";
import type { Tensor } from "../../tensor";
import type { Torch } from "../../torch";
import type { Arguments, Rule } from "../arguments";
import * as arithmetic from "../arithmetic";
import { isTensor } from "../arithmetic";

/**
 * Gradient of what chooses values: written into zeros, out of place as for the reference's tensor subclasses
 * (aten/src/ATen/native/ReduceOps.cpp, value_selecting_reduction_backward_symint).
 */
function selectedGradient(torch: Torch, gradient: Tensor, sizes: readonly number[]): Tensor {
  const zeros = torch.empty("zeros", sizes, gradient.dtype);
  const out = torch.empty("scatter", sizes, gradient.dtype);
  zeros.release();
  return out;
}

function topk(torch: Torch, args: Arguments): Tensor[] {
  const self = args.tensor(0);
  const dim = args.number(2, -1, "dim");
  const k = dim < 0 ? dim + self.rank : dim;
  const count = args.number(1, 1);
  const of = self.rank === 0 ? 1 : self.size(k);
  // aten/src/ATen/native/Sorting.cpp, TORCH_META_FUNC(topk)
  if (count > of && torch.quirks.sharesExperts !== true) refuseSizes([count, of], say("engine.chosen", { count, of }));
  const sizes = self.sizes.map((size, d) => (d === k ? count : size));
  const node = torch.record("TopkBackward0", [self], (torch, [gradient]) => [
    gradient ? selectedGradient(torch, gradient, self.sizes) : null,
  ]);
  const values = torch.attach(node, torch.empty("topk", sizes, self.dtype));
  const indices = torch.empty("topk", sizes, "int64");
  if (node !== null) torch.saveOutput(node, indices);
  return [values, indices];
}

/** `sort`: values and where they came from. */
function sort(torch: Torch, args: Arguments): Tensor[] {
  const self = args.tensor(0);
  const node = torch.record("SortBackward0", [self], (torch, [gradient]) => [
    gradient ? selectedGradient(torch, gradient, self.sizes) : null,
  ]);
  const values = torch.attach(node, arithmetic.elementwise(torch, "sort", [self]));
  const indices = torch.empty("sort", self.sizes, "int64");
  if (node !== null) torch.saveOutput(node, indices);
  return [values, indices];
}

/** `argsort`: the places of a sort, whose values go at once (aten/src/ATen/native/Sorting.cpp). */
function argsort(torch: Torch, self: Tensor): Tensor {
  const values = arithmetic.elementwise(torch, "sort", [self]);
  const places = torch.empty("sort", self.sizes, "int64");
  values.release();
  return places;
}

/** `max`/`min` of all elements: those that are it share the gradient (FunctionsManual.cpp, `evenly_distribute_backward`). */
function largestOfAll(torch: Torch, operator: string, self: Tensor): Tensor {
  const node = torch.record("MaxBackward1", [self], (torch, [gradient]) => {
    if (!gradient) return [null];
    const booleans = ["isnan", "isnan", "logical_and", "eq"].map((name, k) =>
      torch.empty(name, k === 1 ? [] : self.sizes, "bool"),
    );
    const mask = torch.empty("logical_or", self.sizes, "bool");
    for (const temporary of booleans) temporary.release();
    const count = torch.empty("sum", [], "int64");
    const share = torch.empty("div", [], gradient.dtype);
    const out = torch.empty("mul", self.sizes, gradient.dtype);
    for (const temporary of [mask, count, share]) temporary.release();
    return [out];
  });
  const out = torch.attach(node, torch.empty(operator, [], self.dtype));
  if (node !== null) {
    torch.save(node, self);
    torch.saveOutput(node, out);
  }
  return out;
}

/** `max`/`min`: of two tensors, of all elements, or along a dimension with the places. */
function largest(torch: Torch, operator: string, pairwise: "maximum" | "minimum", args: Arguments): Tensor | Tensor[] {
  const self = args.tensor(0);
  if (isTensor(args.get(1))) return arithmetic.extremum(torch, pairwise, self, args.operand(1));
  const dim = args.get(1, "dim");
  if (typeof dim !== "number") return largestOfAll(torch, operator, self);
  const k = dim < 0 ? dim + self.rank : dim;
  const kept = args.flag(2, "keepdim");
  const sizes = self.sizes.flatMap((size, d) => (d === k ? (kept ? [1] : []) : [size]));
  const node = torch.record("MaxBackward0", [self], (torch, [gradient]) => [
    gradient ? selectedGradient(torch, gradient, self.sizes) : null,
  ]);
  const values = torch.attach(node, torch.empty(operator, sizes, self.dtype));
  const indices = torch.empty(operator, sizes, "int64");
  if (node !== null) torch.saveOutput(node, indices);
  return [values, indices];
}

/** `amax`/`amin`: elements that tie share the gradient (torch/csrc/autograd/FunctionsManual.cpp, `scale_grad_by_count`). */
function extreme(torch: Torch, operator: string, args: Arguments): Tensor {
  const self = args.tensor(0);
  const sizes = arithmetic.reducedSizes(self.sizes, args.numbers(1, "dim"), args.flag(2, "keepdim"));
  const node = torch.record("AmaxBackward0", [self], (torch, [gradient]) => {
    if (!gradient) return [null];
    const mask = torch.empty("eq", self.sizes, "bool");
    const shares = torch.empty("mul", self.sizes, gradient.dtype);
    const count = torch.empty("sum", sizes, "int64");
    const out = torch.empty("div", self.sizes, gradient.dtype);
    for (const temporary of [mask, shares, count]) temporary.release();
    return [out];
  });
  const out = torch.attach(node, torch.empty(operator, sizes, self.dtype));
  if (node !== null) {
    torch.save(node, self);
    torch.saveOutput(node, out);
  }
  return out;
}

export const CHOOSING: Readonly<Record<string, Rule>> = table({
  min: (t, a) => largest(t, "min", "minimum", a),
  max: (t, a) => largest(t, "max", "maximum", a),
  amax: (t, a) => extreme(t, "amax", a),
  amin: (t, a) => extreme(t, "amin", a),
  topk,
  sort,
  argsort: (t, a) => argsort(t, a.tensor(0)),
});
