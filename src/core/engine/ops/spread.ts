/** `torch.std` and `torch.var` along dimensions. A deviation's gradient is that of a variance, over twice the result (torch/csrc/autograd/FunctionsManual.cpp). */
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise, mean, product, reducedSizes } from "./arithmetic";
import { unsqueeze } from "./layout";

/** `std.dim`: `self` and the result are saved (`std_backward`, `var_backward`). */
export function std(torch: Torch, input: Tensor, dims: readonly number[], keepdim: boolean): Tensor {
  const node = torch.record("StdBackward0", [input], (torch, [gradient], [self, result]) => {
    if (!gradient) return [null];
    const ofVariance = overTwice(torch, gradient, result!);
    const out = varianceBackward(torch, ofVariance, self!, dims, keepdim);
    ofVariance.release();
    return [out];
  });
  if (node !== null) torch.save(node, input);
  const out = torch.attach(node, torch.empty("std", reducedSizes(input.sizes, dims, keepdim), input.dtype));
  if (node !== null) torch.saveOutput(node, out);
  return out;
}

/** `var.dim` and `var.correction`: `self` is saved. */
export function variance(torch: Torch, input: Tensor, dims: readonly number[], keepdim: boolean): Tensor {
  const node = torch.record("VarBackward0", [input], (torch, [gradient], [self]) => [
    gradient ? varianceBackward(torch, gradient, self!, dims, keepdim) : null,
  ]);
  if (node !== null) torch.save(node, input);
  return torch.attach(node, torch.empty("var", reducedSizes(input.sizes, dims, keepdim), input.dtype));
}

/** `(2 / n) * gradient * (self - self.mean(dims, true))` (var_backward). */
function varianceBackward(
  torch: Torch,
  gradient: Tensor,
  self: Tensor,
  dims: readonly number[],
  keepdim: boolean,
): Tensor {
  const wide = keepdim ? gradient.retain() : restored(torch, gradient, self, dims);
  const middle = mean(torch, self, dims, true);
  const apart = elementwise(torch, "sub", [self, middle]);
  const scaled = product(torch, wide, 2);
  const out = product(torch, scaled, apart);
  for (const tensor of [scaled, middle, apart, wide]) tensor.release();
  return out;
}

/** `(gradient / (result * 2)).masked_fill_(result == 0, 0)` */
function overTwice(torch: Torch, gradient: Tensor, result: Tensor): Tensor {
  const twice = product(torch, result, 2);
  const out = elementwise(torch, "div", [gradient, twice]);
  const none = elementwise(torch, "eq", [result], "bool");
  none.release();
  twice.release();
  return out;
}

/** The dimensions that were reduced, one wide again. */
function restored(torch: Torch, gradient: Tensor, self: Tensor, dims: readonly number[]): Tensor {
  const places = dims.map((dim) => (dim < 0 ? dim + self.sizes.length : dim)).sort((a, b) => a - b);
  return places.reduce((tensor, dim) => {
    const wider = unsqueeze(torch, tensor, dim);
    tensor.release();
    return wider;
  }, gradient.retain());
}
