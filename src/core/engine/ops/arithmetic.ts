/**
 * Elementwise arithmetic and reductions with their derivatives. Formulas: tools/autograd/derivatives.yaml and
 * torch/csrc/autograd/FunctionsManual.cpp. A temporary of a C++ expression lives until the expression ends, so
 * intermediates are released only after the result exists. Where an operator has several gradients, the generated code
 * computes them in the alphabetical order of the arguments' names (`other` before `self`, `mat1`, `mat2`, `self`).
 */
import { say } from "../../../words/message";
import { category, type DType, isFloating, resultType } from "../dtype";
import type { BackwardFunction, Node } from "../node";
import { NotModelled } from "../not-modelled";
import { broadcast, elementwiseStrides, numel, preservedStrides, type Sizes, sameSizes } from "../shape";
import { sameView, type Tensor } from "../tensor";
import type { Torch } from "../torch";
import { expand, unsqueeze, view } from "./layout";

export type Scalar = number | boolean;
export type Operand = Tensor | Scalar;

export function isTensor(value: unknown): value is Tensor {
  return typeof value === "object" && value !== null && "storage" in value;
}

/** Output of an elementwise operator over `operands`, in `dtype` (default: their promoted dtype). */
export function elementwise(torch: Torch, operator: string, operands: readonly Operand[], dtype?: DType): Tensor {
  const tensors = operands.filter(isTensor);
  const first = tensors[0]!;
  let shape: Sizes = first.sizes;
  let byRows = first.byRows;
  let conjugated = first.conjugated;
  for (let k = 1; k < tensors.length; k++) {
    const { sizes } = tensors[k]!;
    conjugated ||= tensors[k]!.conjugated;
    byRows &&= tensors[k]!.byRows;
    if (!sameSizes(shape, sizes)) shape = broadcast(shape, sizes);
  }
  if (conjugated) return ofResolved(torch, operator, operands, dtype);
  torch.launchOn(tensors);
  // What is broadcast adds no order of its own where all lie row by row.
  const strides = byRows && numel(shape) > 0 ? null : elementwiseStrides(shape, tensors);
  return torch.empty(operator, shape, dtype ?? resultType(operands), strides);
}

/** The tensor, of conjugates a copy that has their values (aten/src/ATen/native/MathBitsFallback.h). */
export function resolved(torch: Torch, input: Tensor): Tensor {
  return input.conjugated
    ? torch.empty("clone", input.sizes, input.dtype, preservedStrides(input.sizes, input.strides))
    : input.retain();
}

function ofResolved(torch: Torch, operator: string, operands: readonly Operand[], dtype?: DType): Tensor {
  const copies = operands.map((one) => (isTensor(one) ? resolved(torch, one) : one));
  const out = elementwise(torch, operator, copies, dtype);
  for (const copy of copies) if (isTensor(copy)) copy.release();
  return out;
}

export function inputs(a: Operand, b: Operand): (Tensor | null)[] {
  return [isTensor(a) ? a : null, isTensor(b) ? b : null];
}

/** `grad * operand`-like helper that borrows both. */
export function product(torch: Torch, a: Operand, b: Operand): Tensor {
  return elementwise(torch, "mul", [a, b]);
}

/** `grad * operand.conj()`: the conjugate of complex numbers is a copy (aten/src/ATen/native/MathBitsFallback.h). */
function conjugateProduct(torch: Torch, gradient: Tensor, operand: Operand): Tensor {
  if (!isTensor(operand) || operand.dtype !== "complex64") return product(torch, gradient, operand);
  const view = sameView(operand);
  view.conjugated = !operand.conjugated;
  const out = product(torch, gradient, view);
  view.release();
  return out;
}

export function add(torch: Torch, a: Operand, b: Operand, operator = "add"): Tensor {
  const node = torch.record("AddBackward0", inputs(a, b), (_, [gradient], __, node) =>
    node.edges.map((edge) => (edge !== null && gradient ? gradient.retain() : null)),
  );
  return torch.attach(node, elementwise(torch, operator, [a, b]));
}

export function sub(torch: Torch, a: Operand, b: Operand, operator = "sub"): Tensor {
  const node = torch.record("SubBackward0", inputs(a, b), (torch, [gradient], _, node) => [
    node.edges[0] && gradient ? gradient.retain() : null,
    node.edges[1] && gradient ? elementwise(torch, "neg", [gradient]) : null,
  ]);
  return torch.attach(node, elementwise(torch, operator, [a, b]));
}

/** Node of a product; `left` is what stands for `a` where it is saved (in place, a copy of what it was). */
function mulNode(torch: Torch, a: Operand, b: Operand, left?: () => Operand): Node | null {
  const node = torch.record("MulBackward0", inputs(a, b), (torch, [gradient], saved, node) => {
    if (!gradient) return [null, null];
    let next = 0;
    const other = node.edges[0] ? (isTensor(b) ? saved[next++]! : b) : null;
    const self = node.edges[1] ? (isTensor(a) ? saved[next++]! : a) : null;
    const second = self === null ? null : conjugateProduct(torch, gradient, self);
    return [other === null ? null : conjugateProduct(torch, gradient, other), second];
  });
  if (node?.edges[0] && isTensor(b)) torch.save(node, b);
  if (node?.edges[1]) saveLeft(torch, node, a, left);
  return node;
}

function saveLeft(torch: Torch, node: Node, a: Operand, left?: () => Operand): void {
  const kept = left === undefined ? a : left();
  if (!isTensor(kept)) return;
  torch.save(node, kept);
  if (kept !== a) kept.release();
}

export function mul(torch: Torch, a: Operand, b: Operand): Tensor {
  const node = mulNode(torch, a, b);
  return torch.attach(node, elementwise(torch, "mul", [a, b]));
}

function divNode(torch: Torch, a: Operand, b: Operand, left?: () => Operand): Node | null {
  const node = torch.record("DivBackward0", inputs(a, b), (torch, [gradient], saved, node) => {
    if (!gradient) return [null, null];
    const other: Operand = isTensor(b) ? saved[0]! : b;
    let second: Tensor | null = null;
    if (node.edges[1] && isTensor(other)) {
      const self: Operand = isTensor(a) ? saved[1]! : a;
      const negated = elementwise(torch, "neg", [gradient]);
      const quotient = elementwise(torch, "div", [self, other]);
      const twice = elementwise(torch, "div", [quotient, other]);
      second = product(torch, negated, twice);
      negated.release();
      quotient.release();
      twice.release();
    }
    const first = node.edges[0] ? elementwise(torch, "div", [gradient, other], floating(gradient, other)) : null;
    return [first, second];
  });
  if (node !== null && isTensor(b)) torch.save(node, b);
  if (node?.edges[1]) saveLeft(torch, node, a, left);
  return node;
}

export function div(torch: Torch, a: Operand, b: Operand): Tensor {
  const node = divNode(torch, a, b);
  return torch.attach(node, elementwise(torch, "div", [a, b], floating(a, b)));
}

/**
 * `mul_` and `div_`: where the other operand needs a gradient, backward needs what `self` was, so a copy of it is saved
 * (tools/autograd/gen_variable_type.py, `original_self`).
 */
export function scaleInto(torch: Torch, operator: "mul" | "div", self: Tensor, other: Operand): Tensor {
  const original = (): Tensor => elementwise(torch, "clone", [self]);
  const node = (operator === "mul" ? mulNode : divNode)(torch, self, other, original);
  return node === null ? self.retain() : torch.attach(node, sameView(self));
}

/** `masked_fill_`: the gradient is filled too, in a copy. */
export function maskedFillInto(torch: Torch, self: Tensor, mask: Tensor): Tensor {
  const node = maskedFillNode(torch, self, mask);
  return node === null ? self.retain() : torch.attach(node, sameView(self));
}

function floating(a: Operand, b: Operand): DType {
  const dtype = resultType([a, b]);
  return isFloating(dtype) ? dtype : "float32";
}

export function reducedSizes(sizes: Sizes, dims: readonly number[], keepdim: boolean): number[] {
  const wanted = new Set(dims.map((dim) => (dim < 0 ? dim + sizes.length : dim)));
  const all = wanted.size === 0;
  const out: number[] = [];
  sizes.forEach((size, k) => {
    if (all || wanted.has(k)) {
      if (keepdim) out.push(1);
    } else out.push(size);
  });
  return out;
}

/** Sees the gradient of a reduction at the size of its input (a view, nothing is allocated). */
export function expandReduced(
  torch: Torch,
  gradient: Tensor,
  sizes: Sizes,
  dims: readonly number[],
  keepdim: boolean,
): Tensor {
  if (keepdim || dims.length === 0) return expand(torch, gradient, sizes);
  let current = gradient.retain();
  for (const dim of dims.map((d) => (d < 0 ? d + sizes.length : d)).sort((a, b) => a - b)) {
    const next = unsqueeze(torch, current, dim);
    current.release();
    current = next;
  }
  const out = expand(torch, current, sizes);
  current.release();
  return out;
}

/**
 * `sum` over dims (all when empty). Autocast only asks for a float32 result, which half precision is summed into without
 * a copy (autocast_mode.cpp, fp32_set_opt_dtype; ReduceOpsUtils.h, make_reduction).
 */
export function sum(
  torch: Torch,
  input: Tensor,
  dims: readonly number[],
  keepdim = false,
  dtype: DType | null = null,
): Tensor {
  const sizes = input.sizes;
  const node = torch.record("SumBackward1", [input], (torch, [gradient]) => [
    gradient ? expandReduced(torch, gradient, sizes, dims, keepdim) : null,
  ]);
  return torch.attach(node, torch.empty("sum", reducedSizes(sizes, dims, keepdim), accumulated(torch, input, dtype)));
}

/**
 * `prod` over dims (all when empty). What its derivative takes depends on which values are zero (`prod_backward` in
 * torch/csrc/autograd/FunctionsManual.cpp), so there is none.
 */
export function prod(
  torch: Torch,
  input: Tensor,
  dims: readonly number[],
  keepdim: boolean,
  dtype: DType | null,
): Tensor {
  const node = torch.record("ProdBackward1", [input], () => {
    throw new NotModelled(say("engine.operator", { name: "prod" }));
  });
  return torch.attach(
    node,
    torch.empty("prod", reducedSizes(input.sizes, dims, keepdim), accumulated(torch, input, dtype)),
  );
}

/** The dtype of a sum or product: the one asked for, else float32 of half precision under autocast, int64 of whole numbers. */
function accumulated(torch: Torch, { dtype: own }: Tensor, asked: DType | null): DType {
  const half = own === "bfloat16" || own === "float16";
  return asked ?? (torch.autocasting && half ? "float32" : category(own) < 2 ? "int64" : own);
}

export function mean(
  torch: Torch,
  input: Tensor,
  dims: readonly number[],
  keepdim = false,
  dtype: DType | null = null,
): Tensor {
  const sizes = input.sizes;
  const node = torch.record("MeanBackward1", [input], meanBackward(sizes, dims, keepdim));
  return torch.attach(node, torch.empty("mean", reducedSizes(sizes, dims, keepdim), dtype ?? input.dtype));
}

function meanBackward(sizes: Sizes, dims: readonly number[], keepdim: boolean): BackwardFunction {
  return (torch, [gradient]) => {
    if (!gradient) return [null];
    const wide = expandReduced(torch, gradient, sizes, dims, keepdim);
    const out = elementwise(torch, "div", [wide, numel(sizes)], gradient.dtype);
    wide.release();
    return [out];
  };
}

/**
 * `at::sum_to` (ATen/ExpandUtils.h): sums a gradient down to the shape it was broadcast from. Dimensions that are not there
 * any more are summed over even where they held one element, so a batch of one still allocates its biases' gradients.
 */
export function sumTo(torch: Torch, tensor: Tensor, sizes: Sizes): Tensor {
  if (sameSizes(tensor.sizes, sizes)) return tensor.retain();
  const lead = tensor.sizes.length - sizes.length;
  const kept = tensor.sizes.map((size, k) => (k < lead || (sizes[k - lead] === 1 && size !== 1) ? 1 : size));
  torch.launchOn([tensor]);
  const summed = torch.empty("sum", kept, tensor.dtype);
  if (lead === 0) return summed;
  const out = view(torch, summed, sizes);
  summed.release();
  return out;
}

/** `torch.where(condition, a, b)`; `dtype` is the result's, where two numbers do not tell it (aten/native/TensorCompare.cpp). */
export function where(torch: Torch, condition: Tensor, a: Operand, b: Operand, dtype: DType | null = null): Tensor {
  const node = torch.record("WhereBackward0", inputs(a, b), (torch, [gradient], [mask], node) => {
    const masked = (edge: unknown): Tensor | null =>
      edge && gradient ? elementwise(torch, "where", [mask!, gradient], gradient.dtype) : null;
    const other = masked(node.edges[1]);
    return [masked(node.edges[0]), other];
  });
  if (node !== null) torch.save(node, condition);
  // The scalar overloads put their number on the device first.
  const scalars = [a, b].filter((operand) => !isTensor(operand)).map(() => torch.empty("scalar_tensor", [], "float32"));
  const out = elementwise(torch, "where", [condition, a, b], dtype ?? resultType([a, b]));
  for (const scalar of scalars) scalar.release();
  return torch.attach(node, out);
}

function maskedFillNode(torch: Torch, self: Tensor, mask: Tensor): Node | null {
  const node = torch.record("MaskedFillBackward0", [self], (torch, [gradient], [saved]) => [
    gradient ? elementwise(torch, "masked_fill", [gradient, saved!], gradient.dtype) : null,
  ]);
  if (node !== null) torch.save(node, mask);
  return node;
}

/** `masked_fill(self, mask, value)`, out of place. */
export function maskedFill(torch: Torch, self: Tensor, mask: Tensor): Tensor {
  const node = maskedFillNode(torch, self, mask);
  return torch.attach(node, elementwise(torch, "masked_fill", [self, mask], self.dtype));
}

/**
 * `clamp` by one or two numbers, or by tensors, which are saved: backward compares with each and chooses between the
 * gradient and a zero.
 */
export function clamp(torch: Torch, self: Tensor, bounds: 1 | 2, limits: readonly Tensor[] = []): Tensor {
  const node = torch.record("ClampBackward1", [self], (torch, [gradient], [input]) => {
    if (!gradient) return [null];
    const zero = torch.empty("scalar_tensor", [], gradient.dtype);
    const within = ["ge", "le"].slice(0, bounds).map((name) => elementwise(torch, name, [input!], "bool"));
    const out = elementwise(torch, "where", [within[0]!, gradient], gradient.dtype);
    for (const tensor of [zero, ...within]) tensor.release();
    return [out];
  });
  if (node !== null) for (const tensor of [self, ...limits]) torch.save(node, tensor);
  return torch.attach(node, elementwise(torch, "clamp", [self], self.dtype));
}

/** `maximum`/`minimum`: the gradient goes where the operand won. */
export function extremum(torch: Torch, operator: "maximum" | "minimum", a: Operand, b: Operand): Tensor {
  const node = torch.record("MaximumBackward0", inputs(a, b), (torch, [gradient], saved, node) => {
    if (!gradient) return [null, null];
    const half = elementwise(torch, "div", [gradient]);
    const equal = elementwise(torch, "eq", [saved[0]!], "bool");
    const filled = elementwise(torch, "masked_fill_", [half]);
    const out = node.edges.map((edge) => (edge ? elementwise(torch, "masked_fill", [gradient]) : null));
    for (const tensor of [half, equal, filled]) tensor.release();
    return out;
  });
  if (node !== null) for (const operand of [a, b]) if (isTensor(operand)) torch.save(node, operand);
  return torch.attach(node, elementwise(torch, operator, [a, b]));
}

/**
 * `cumsum`. Autocast only asks for a float32 result (autocast_mode.h, fp32_set_opt_dtype); the gradient is summed in the input's
 * dtype (derivatives.yaml: `cumsum_backward(grad.to(self.scalar_type()), dim)`).
 */
export function cumsum(torch: Torch, input: Tensor, dtype: DType | null): Tensor {
  const own = input.dtype;
  const node = torch.record("CumsumBackward0", [input], (torch, [gradient]) => {
    if (!gradient) return [null];
    const narrow = gradient.dtype === own ? gradient.retain() : torch.toCopy(gradient, own);
    const flipped = elementwise(torch, "flip", [narrow]);
    const summed = elementwise(torch, "cumsum", [flipped]);
    const out = elementwise(torch, "flip", [summed]);
    for (const tensor of [narrow, flipped, summed]) tensor.release();
    return [out];
  });
  return torch.attach(node, elementwise(torch, "cumsum", [input], accumulated(torch, input, dtype)));
}

/** Comparison and logical operators: no gradient, boolean result. */
export function compare(torch: Torch, operator: string, a: Operand, b: Operand): Tensor {
  return elementwise(torch, operator, isTensor(a) || isTensor(b) ? [a, b] : [a], "bool");
}

/** An in-place operator: the same tensor, with a new history when it needs one. */
export function inplace(torch: Torch, self: Tensor, other: Operand | null): Tensor {
  const node = torch.record("InplaceBackward0", [self, isTensor(other) ? other : null], (_, [gradient], __, node) =>
    node.edges.map((edge) => (edge !== null && gradient ? gradient.retain() : null)),
  );
  if (node === null) return self.retain();
  return torch.attach(node, sameView(self));
}
