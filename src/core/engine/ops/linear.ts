/**
 * Matrix products. Sources: aten/src/ATen/native/{Linear.cpp,LinearAlgebra.cpp}, derivatives.yaml,
 * FunctionsManual.cpp (mm_mat1_backward, mm_mat2_backward). Saved variables are kept, and released, in the alphabetical
 * order of their names in the derivative's formula (`mat2` before `self`).
 */
import { say } from "../../../words/message";
import { type DType, isFloating } from "../dtype";
import type { Node } from "../node";
import { NotModelled } from "../not-modelled";
import { broadcast, contiguousStrides, numel, type Sizes } from "../shape";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { add } from "./arithmetic";
import { contiguous, expand, reshape, squeeze, transpose, unsafeView, unsqueeze, view } from "./layout";
import { dot, mv } from "./vectors";

function columnMajor(sizes: Sizes, strides: Sizes): boolean {
  return strides[0] === 1 && strides[1] === sizes[0];
}

/**
 * The product of two matrices as one kernel, nothing recorded. Factors of different dtypes are refused by every device's kernel
 * (aten/src/ATen/native/cuda/Blas.cpp, bmm_out_cuda_impl); the shapes alone go on, a batch of products in the dtype of the second
 * factor (torch/_meta_registrations.py, common_meta_baddbmm_bmm).
 */
function product(torch: Torch, a: Tensor, b: Tensor, operator = "mm"): Tensor {
  if (a.dtype !== b.dtype) torch.noticed.add("mixed-dtypes");
  if (a.rank === 2) return matrix(torch, operator, [a.size(0), b.size(1)], a.size(1), a.dtype);
  return matrices(torch, operator, [a.size(0), a.size(1), b.size(2)], a.size(2), b.dtype);
}

/** One product's result. */
function matrix(
  torch: Torch,
  operator: string,
  sizes: readonly [rows: number, columns: number],
  inner: number,
  dtype: DType,
): Tensor {
  torch.multiply(sizes, { count: 1, rows: sizes[0], columns: sizes[1], inner, dtype });
  return torch.empty(operator, sizes, dtype);
}

/** The results of a batch of products. */
function matrices(
  torch: Torch,
  operator: string,
  sizes: readonly [count: number, rows: number, columns: number],
  inner: number,
  dtype: DType,
): Tensor {
  torch.multiply(sizes, { count: sizes[0], rows: sizes[1], columns: sizes[2], inner, dtype });
  return torch.empty(operator, sizes, dtype);
}

/** Gradient of the left factor, in the layout the factor had. */
function leftGradient(torch: Torch, gradient: Tensor, right: Tensor, sizes: Sizes, strides: Sizes): Tensor {
  const inner = gradient.size(1);
  if (columnMajor(sizes, strides)) return transposed(torch, [right.size(0), gradient.size(0)], inner, gradient.dtype);
  return matrix(torch, "mm", [gradient.size(0), right.size(0)], inner, gradient.dtype);
}

/** Gradient of the right factor, in the layout the factor had. */
function rightGradient(torch: Torch, gradient: Tensor, left: Tensor, sizes: Sizes, strides: Sizes): Tensor {
  const inner = gradient.size(0);
  if (columnMajor(sizes, strides)) return transposed(torch, [gradient.size(1), left.size(1)], inner, gradient.dtype);
  return matrix(torch, "mm", [left.size(1), gradient.size(1)], inner, gradient.dtype);
}

/** A product computed transposed and seen through `t()`. */
function transposed(torch: Torch, sizes: readonly [number, number], inner: number, dtype: DType): Tensor {
  const made = matrix(torch, "mm", sizes, inner, dtype);
  const out = transpose(torch, made, 0, 1);
  made.release();
  return out;
}

/** Saves what the gradients need; saved variables are kept and freed in the order of their names (`mat2`, `self`). */
function saveFactors(torch: Torch, node: Node | null, self: Tensor, mat2: Tensor): void {
  if (node?.edges[0]) torch.save(node, mat2);
  if (node?.edges[1]) torch.save(node, self);
}

/** What {@link saveFactors} saved: `self` and `mat2`. */
function factors(node: Node, saved: readonly Tensor[]): [Tensor | null, Tensor | null] {
  const mat2 = node.edges[0] ? saved[0]! : null;
  return [node.edges[1] ? saved[mat2 === null ? 0 : 1]! : null, mat2];
}

export function mm(torch: Torch, a: Tensor, b: Tensor): Tensor {
  const [sizesA, stridesA, sizesB, stridesB] = [a.sizes, a.strides, b.sizes, b.strides];
  const node = torch.record("MmBackward0", [a, b], (torch, [gradient], saved, node) => {
    if (!gradient) return [null, null];
    const [left, right] = factors(node, saved);
    const mat2 = left && rightGradient(torch, gradient, left, sizesB, stridesB);
    const self = right && leftGradient(torch, gradient, right, sizesA, stridesA);
    return [self, mat2];
  });
  saveFactors(torch, node, a, b);
  return torch.attach(node, product(torch, a, b));
}

export function bmm(torch: Torch, a: Tensor, b: Tensor): Tensor {
  const node = torch.record("BmmBackward0", [a, b], (torch, [gradient], saved, node) => {
    if (!gradient) return [null, null];
    const [left, right] = factors(node, saved);
    const [count, rows, columns] = gradient.sizes as [number, number, number];
    const mat2 = left && matrices(torch, "bmm", [count, left.size(2), columns], rows, gradient.dtype);
    return [right && matrices(torch, "bmm", [count, rows, right.size(1)], columns, right.dtype), mat2];
  });
  saveFactors(torch, node, a, b);
  return torch.attach(node, product(torch, a, b, "bmm"));
}

/** `addmm(bias, a, b)`: the bias gradient is the output's, summed when delivered. */
export function addmm(torch: Torch, bias: Tensor, a: Tensor, b: Tensor): Tensor {
  const [sizesA, stridesA, sizesB, stridesB] = [a.sizes, a.strides, b.sizes, b.strides];
  const node = torch.record("AddmmBackward0", [bias, a, b], (torch, [gradient], saved, node) => {
    if (!gradient) return [null, null, null];
    let next = 0;
    const left = node.edges[2] ? saved[next++]! : null;
    const right = node.edges[1] ? saved[next++]! : null;
    return [
      node.edges[0] ? gradient.retain() : null,
      right && leftGradient(torch, gradient, right, sizesA, stridesA),
      left && rightGradient(torch, gradient, left, sizesB, stridesB),
    ];
  });
  if (node?.edges[2]) torch.save(node, a);
  if (node?.edges[1]) torch.save(node, b);
  return torch.attach(node, product(torch, a, b, "addmm"));
}

/** Whether matmul flattens the leading dimensions of the larger factor into rows (`should_fold`). */
function shouldFold(a: Tensor, b: Tensor): boolean {
  const larger = a.rank >= b.rank ? a : b;
  const smaller = larger === a ? b : a;
  if (larger.rank < 3 || smaller.rank > 2) return false;
  if (smaller.requiresGrad) return true;
  if (a.rank === 2) return false;
  for (let k = 0; k < larger.rank - 2; k++)
    if (larger.strides[k] !== larger.strides[k + 1]! * larger.sizes[k + 1]!) return false;
  return true;
}

/** A product with a vector as a matrix that has one more side, which the result loses again. */
function withoutSide(
  torch: Torch,
  vector: Tensor,
  side: number,
  product: (matrix: Tensor) => Tensor,
  lost = side,
): Tensor {
  const matrix = unsqueeze(torch, vector, side);
  const made = product(matrix);
  const out = squeeze(torch, made, [lost]);
  for (const tensor of [matrix, made]) tensor.release();
  return out;
}

/** `at::matmul`, after autocast. */
export function matmulPlain(torch: Torch, a: Tensor, b: Tensor): Tensor {
  if (a.rank === 2 && b.rank === 2) return mm(torch, a, b);
  if (b.rank === 1 && a.rank < 3) return a.rank === 1 ? dot(torch, a, b) : mv(torch, a, b);
  if (a.rank === 1 && b.rank === 2) return withoutSide(torch, a, 0, (row) => mm(torch, row, b));
  if (shouldFold(a, b)) {
    const swap = b.rank > a.rank;
    const first = swap ? transpose(torch, b, -1, -2) : a.retain();
    const second = swap && a.rank === 2 ? transpose(torch, a, 0, 1) : (swap ? a : b).retain();
    const isMatrix = second.rank === 2;
    const rows = numel(first.sizes.slice(0, -1));
    const folded = reshape(torch, first, [rows, first.size(-1)]);
    const flat = (isMatrix ? mm : mv)(torch, folded, second);
    const out = unsafeView(torch, flat, [...first.sizes.slice(0, -1), ...(isMatrix ? [second.size(-1)] : [])]);
    for (const tensor of [folded, flat, first, second]) tensor.release();
    if (!swap || !isMatrix) return out;
    const turned = transpose(torch, out, -1, -2);
    const back = contiguous(torch, turned);
    for (const tensor of [out, turned]) tensor.release();
    return back;
  }
  if (a.rank === 1) return withoutSide(torch, a, 0, (row) => matmulPlain(torch, row, b), -2);
  if (b.rank === 1) return withoutSide(torch, b, 1, (column) => matmulPlain(torch, a, column), -1);
  const batch = broadcast(a.sizes.slice(0, -2), b.sizes.slice(0, -2));
  const count = numel(batch);
  const flatten = (tensor: Tensor): Tensor => {
    const wide = expand(torch, tensor, [...batch, tensor.size(-2), tensor.size(-1)]);
    const flat = reshape(torch, wide, [count, tensor.size(-2), tensor.size(-1)]);
    wide.release();
    return flat;
  };
  const left = flatten(a);
  const right = flatten(b);
  const flat = bmm(torch, left, right);
  const out = unsafeView(torch, flat, [...batch, a.size(-2), b.size(-1)]);
  for (const tensor of [left, right, flat]) tensor.release();
  return out;
}

/** Runs an operator of autocast's lower-precision list. */
export function lowered(
  torch: Torch,
  tensors: readonly (Tensor | null)[],
  run: (cast: readonly (Tensor | null)[]) => Tensor,
): Tensor {
  if (!torch.autocasting) return run(tensors);
  const cast = torch.castAll(torch.autocastDtype!, ...tensors);
  const out = run(cast);
  for (const tensor of cast) tensor?.release();
  return out;
}

/**
 * Code that reads a quantized weight itself has a branch of its own (`graph/packed-projections.ts` has that of state-space mixers),
 * which was not captured.
 */
function refusePacked(a: Tensor, b: Tensor): void {
  if (isFloating(a.dtype) !== isFloating(b.dtype))
    throw new NotModelled(say("engine.operator", { name: "matmul of a packed weight" }));
}

export function matmul(torch: Torch, a: Tensor, b: Tensor): Tensor {
  refusePacked(a, b);
  return lowered(torch, [a, b], ([x, y]) => matmulPlain(torch, x!, y!));
}

export function linear(torch: Torch, input: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  if (torch.linear !== null) return torch.linear(torch, input, weight, bias);
  return lowered(torch, [input, weight, bias], ([x, w, b]) => linearPlain(torch, x!, w!, b!));
}

/**
 * `input @ weight.T`, then the bias (transformers/models/falcon/modeling_falcon.py, FalconLinear.forward). The transposed weight is
 * a view, whose cast autocast does not keep (aten/src/ATen/autocast_mode.cpp, cached_cast).
 */
export function productThenBias(torch: Torch, input: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  const turned = transpose(torch, weight, 0, 1);
  const product = matmul(torch, input, turned);
  turned.release();
  if (bias === null) return product;
  const out = add(torch, product, bias);
  product.release();
  return out;
}

/** A bias is fused for matrices and for contiguous inputs of any further rank (aten/src/ATen/native/Linear.cpp, linear). */
function linearPlain(torch: Torch, input: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  const turned = transpose(torch, weight, 0, 1);
  let out: Tensor;
  if (bias !== null && input.rank === 2) out = addmm(torch, bias, input, turned);
  else if (bias !== null && input.rank > 2 && input.contiguous) {
    const flat = reshape(torch, input, [-1, input.size(-1)]);
    const product = addmm(torch, bias, flat, turned);
    // A real view, which in-place operators see (_flatten_nd_linear).
    out = view(torch, product, [...input.sizes.slice(0, -1), weight.size(0)]);
    flat.release();
    product.release();
  } else {
    out = matmulPlain(torch, input, turned);
    if (bias !== null) {
      const sum = add(torch, out, bias);
      out.release();
      out = sum;
    }
  }
  turned.release();
  return out;
}

export function mmOperator(torch: Torch, a: Tensor, b: Tensor): Tensor {
  return lowered(torch, [a, b], ([x, y]) => mm(torch, x!, y!));
}

export function bmmOperator(torch: Torch, a: Tensor, b: Tensor): Tensor {
  return lowered(torch, [a, b], ([x, y]) => bmm(torch, x!, y!));
}

export function addmmOperator(torch: Torch, bias: Tensor, a: Tensor, b: Tensor): Tensor {
  return lowered(torch, [bias, a, b], ([x, y, z]) => addmm(torch, x!, y!, z!));
}

/** `baddbmm(input, a, b, alpha)`; `scaled`: alpha is not 1, so the gradients are multiplied by it (derivatives.yaml). */
export function baddbmmOperator(torch: Torch, input: Tensor, a: Tensor, b: Tensor, scaled = false): Tensor {
  return lowered(torch, [input, a, b], ([x, y, z]) => {
    const node = torch.record("BaddbmmBackward0", [x!, y!, z!], (torch, [gradient], saved, node) => {
      if (!gradient) return [null, null, null];
      let next = 0;
      const left = node.edges[2] ? saved[next++]! : null;
      const right = node.edges[1] ? saved[next++]! : null;
      const [count, rows, columns] = gradient.sizes as [number, number, number];
      const factor = (height: number, width: number, inner: number): Tensor => {
        const product = matrices(torch, "bmm", [count, height, width], inner, gradient.dtype);
        if (!scaled) return product;
        const out = torch.empty("mul", product.sizes, gradient.dtype);
        product.release();
        return out;
      };
      return [
        node.edges[0] ? gradient.retain() : null,
        right && factor(rows, right.size(1), columns),
        left && factor(left.size(2), columns, rows),
      ];
    });
    if (node?.edges[2]) torch.save(node, y!);
    if (node?.edges[1]) torch.save(node, z!);
    return torch.attach(node, product(torch, y!, z!, "baddbmm"));
  });
}

/** `_grouped_mm`: rows of one matrix times the expert's matrix each group of rows belongs to; where groups end is saved. */
export function groupedMm(torch: Torch, rows: Tensor, experts: Tensor, ends: Tensor | null): Tensor {
  const { sizes, strides } = experts;
  const [count, inner, columns] = sizes as [number, number, number];
  const each = rows.size(0) / count;
  const grouped = (result: Sizes, rows: number, columns: number, inner: number, dtype: DType, strides?: Sizes) => {
    torch.multiply(result, { count, rows, columns, inner, dtype });
    return torch.empty("_grouped_mm", result, dtype, strides);
  };
  const node = torch.record("GroupedMmBackward0", [rows, experts], (_, [gradient], saved, node) => {
    if (!gradient) return [null, null];
    let next = 0;
    const right = node.edges[0] ? saved[next++]! : null;
    const left = node.edges[1] ? saved[next++]! : null;
    const mat2 = left && grouped(sizes, inner, columns, each, gradient.dtype, strides);
    return [right && grouped([gradient.size(0), inner], each, inner, columns, gradient.dtype), mat2];
  });
  if (node?.edges[0]) torch.save(node, experts);
  if (node?.edges[1]) torch.save(node, rows);
  if (node !== null && ends !== null) torch.save(node, ends);
  return torch.attach(node, grouped([rows.size(0), columns], each, columns, inner, rows.dtype));
}

/** Strides of matrices that lie column by column. */
function columnStrides(sizes: readonly number[]): number[] {
  const turned = [...sizes.slice(0, -2), sizes[sizes.length - 1]!, sizes[sizes.length - 2]!];
  const strides = contiguousStrides(turned);
  return [...strides.slice(0, -2), 1, strides[strides.length - 2]!];
}

/**
 * `linalg.solve_triangular(A, B)`: the solution lies column by column. Backward solves with the gradient, multiplies by
 * the solution, negates and keeps a triangle (FunctionsManual.cpp, linalg_solve_triangular_backward).
 */
export function solveTriangular(torch: Torch, a: Tensor, b: Tensor): Tensor {
  const solved = (sizes: readonly number[], dtype: Tensor["dtype"]): Tensor =>
    torch.empty("linalg_solve_triangular", sizes, dtype, columnStrides(sizes));
  const node = torch.record("LinalgSolveTriangularBackward0", [a, b], (torch, [gradient], [matrix], node) => {
    if (!gradient) return [null, null];
    const ofB = solved(b.sizes, gradient.dtype);
    let ofA: Tensor | null = null;
    if (node.edges[0]) {
      const multiplied = torch.empty("bmm", matrix!.sizes, gradient.dtype);
      const negated = torch.empty("neg", matrix!.sizes, gradient.dtype);
      multiplied.release();
      ofA = torch.empty("tril", matrix!.sizes, gradient.dtype);
      negated.release();
    }
    if (node.edges[1]) return [ofA, ofB];
    ofB.release();
    return [ofA, null];
  });
  if (node !== null) torch.save(node, a);
  const out = torch.attach(node, solved(b.sizes, b.dtype));
  if (node !== null) torch.saveOutput(node, out);
  return out;
}
