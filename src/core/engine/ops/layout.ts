/**
 * Views and copies. A view allocates nothing; `reshape` and `contiguous` copy only where the strides force them to.
 * Sources: aten/src/ATen/native/TensorShape.cpp, derivatives.yaml.
 */
import { say } from "../../../words/message";
import { promoteAll } from "../dtype";
import type { BackwardFunction } from "../node";
import { ImpossibleSizes } from "../not-modelled";
import { repeated } from "../pieces";
import { contiguousStrides, inferSize, numel, preservedStrides, type Sizes, sameSizes, viewStrides } from "../shape";
import { alias, sameView, type Tensor } from "../tensor";
import type { Torch } from "../torch";

/** A view with the backward that undoes it. */
export function viewed(
  torch: Torch,
  name: string,
  input: Tensor,
  sizes: Sizes,
  strides: Sizes | null,
  undo: BackwardFunction,
): Tensor {
  const node = torch.record(name, [input], undo);
  const out = alias(input, sizes, strides);
  const base = input.base ?? input;
  out.base = base;
  out.seenWrites = base.writes;
  // A view keeps its base (DifferentiableViewMeta), which only tells where the base's history changes under it.
  if (base.writes > 0 && base.references > 0) out.along = base.retain();
  return torch.attach(node, out);
}

/** Backward of a view through one function of the gradient. */
export function undoing(inverse: (torch: Torch, gradient: Tensor) => Tensor): BackwardFunction {
  return (torch, [gradient]) => [gradient ? inverse(torch, gradient) : null];
}

function at(dim: number, rank: number): number {
  return dim < 0 ? dim + rank : dim;
}

export function view(torch: Torch, input: Tensor, wanted: Sizes): Tensor {
  const sizes = inferSize(wanted, input.elements);
  if (isByRows(input, sizes)) return viewAs(torch, input, sizes, null);
  return viewAs(torch, input, sizes, viewStrides(input.sizes, input.strides, sizes));
}

/** Whether a view of these sizes lies row by row as its input does. */
function isByRows(input: Tensor, sizes: Sizes): boolean {
  return input.byRows && numel(sizes) === input.elements;
}

/** The view of these sizes, all of them known. */
function viewAs(torch: Torch, input: Tensor, sizes: Sizes, strides: Sizes | null): Tensor {
  const back = input.sizes;
  return viewed(
    torch,
    "ViewBackward0",
    input,
    sizes,
    strides,
    undoing((torch, g) => reshape(torch, g, back)),
  );
}

/** `_unsafe_view`: a product in the shape of its operands; nobody else knows the storage, so it has no base. */
export function unsafeView(torch: Torch, input: Tensor, wanted: Sizes): Tensor {
  const out = view(torch, input, wanted);
  out.base = null;
  out.along?.release();
  out.along = null;
  return out;
}

export function reshape(torch: Torch, input: Tensor, wanted: Sizes): Tensor {
  const sizes = inferSize(wanted, input.elements);
  if (isByRows(input, sizes)) return viewAs(torch, input, sizes, null);
  const strides = viewStrides(input.sizes, input.strides, sizes);
  if (strides !== null) return viewAs(torch, input, sizes, strides);
  const copy = clone(torch, input, contiguousStrides(input.sizes));
  const out = view(torch, copy, sizes);
  copy.release();
  return out;
}

/** `aten::clone` with the given strides (default: preserved). */
export function clone(torch: Torch, input: Tensor, strides?: Sizes): Tensor {
  const node = torch.record(
    "CloneBackward0",
    [input],
    undoing((_, g) => g.retain()),
  );
  torch.launchOn([input]);
  return torch.attach(
    node,
    torch.empty("clone", input.sizes, input.dtype, strides ?? preservedStrides(input.sizes, input.strides)),
  );
}

export function contiguous(torch: Torch, input: Tensor): Tensor {
  return input.contiguous ? input.retain() : clone(torch, input, contiguousStrides(input.sizes));
}

export function permute(torch: Torch, input: Tensor, dims: readonly number[]): Tensor {
  const order = dims.map((dim) => at(dim, input.rank));
  const inverse = order.map((_, k) => order.indexOf(k));
  return viewed(
    torch,
    "PermuteBackward0",
    input,
    order.map((k) => input.sizes[k]!),
    order.map((k) => input.strides[k]!),
    undoing((torch, g) => permute(torch, g, inverse)),
  );
}

export function transpose(torch: Torch, input: Tensor, a: number, b: number): Tensor {
  const x = at(a, input.rank);
  const y = at(b, input.rank);
  return viewed(
    torch,
    "TransposeBackward0",
    input,
    swapped(input.sizes, x, y),
    swapped(input.strides, x, y),
    undoing((torch, g) => transpose(torch, g, x, y)),
  );
}

function swapped(values: Sizes, a: number, b: number): number[] {
  const out = values.slice();
  out[a] = values[b]!;
  out[b] = values[a]!;
  return out;
}

export function expand(torch: Torch, input: Tensor, wanted: Sizes): Tensor {
  const lead = wanted.length - input.rank;
  const sizes = wanted.map((size, k) => (size === -1 ? input.sizes[k - lead]! : size));
  const strides = sizes.map((size, k) =>
    k < lead || (input.sizes[k - lead] === 1 && size !== 1) ? 0 : input.strides[k - lead]!,
  );
  // The gradient is summed to the input's shape when it is delivered.
  return viewed(
    torch,
    "ExpandBackward0",
    input,
    sizes,
    strides,
    undoing((_, g) => g.retain()),
  );
}

export function unsqueeze(torch: Torch, input: Tensor, dim: number): Tensor {
  const k = dim < 0 ? dim + input.rank + 1 : dim;
  const sizes = [...input.sizes.slice(0, k), 1, ...input.sizes.slice(k)];
  const step = k < input.rank ? input.sizes[k]! * input.strides[k]! : 1;
  const strides = [...input.strides.slice(0, k), step, ...input.strides.slice(k)];
  return viewed(
    torch,
    "UnsqueezeBackward0",
    input,
    sizes,
    strides,
    undoing((torch, g) => squeeze(torch, g, [k])),
  );
}

/** Removes the given dimensions where they have one element (all such dimensions when none is given). */
export function squeeze(torch: Torch, input: Tensor, dims: readonly number[] | null): Tensor {
  const chosen = dims === null ? null : new Set(dims.map((dim) => at(dim, input.rank)));
  const kept = input.sizes.map((_, k) => k).filter((k) => input.sizes[k] !== 1 || (chosen !== null && !chosen.has(k)));
  const back = input.sizes;
  return viewed(
    torch,
    "SqueezeBackward1",
    input,
    kept.map((k) => input.sizes[k]!),
    kept.map((k) => input.strides[k]!),
    undoing((torch, g) => view(torch, g, back)),
  );
}

/** `slice` along `dim`; the gradient is written into zeros of the input's size. */
export function slice(
  torch: Torch,
  input: Tensor,
  dim: number,
  start: number | null,
  end: number | null,
  step = 1,
): Tensor {
  const k = at(dim, input.rank);
  const size = input.sizes[k]!;
  const clampIndex = (value: number): number => Math.min(size, Math.max(0, value < 0 ? value + size : value));
  const from = clampIndex(start ?? 0);
  const to = clampIndex(end ?? size);
  const sizes = [...input.sizes];
  sizes[k] = Math.max(0, Math.ceil((to - from) / step));
  const strides = [...input.strides];
  strides[k] = strides[k]! * step;
  const back = input.sizes;
  return viewed(
    torch,
    "SliceBackward0",
    input,
    sizes,
    strides,
    undoing((torch, g) => torch.empty("slice_backward", back, g.dtype)),
  );
}

export function select(torch: Torch, input: Tensor, dim: number): Tensor {
  const k = at(dim, input.rank);
  const back = input.sizes;
  return viewed(
    torch,
    "SelectBackward0",
    input,
    input.sizes.filter((_, d) => d !== k),
    input.strides.filter((_, d) => d !== k),
    undoing((torch, g) => torch.empty("select_backward", back, g.dtype)),
  );
}

/** `split`/`chunk`/`split_with_sizes`: views whose gradients are concatenated, zeros where one is missing. */
export function split(torch: Torch, input: Tensor, lengths: readonly number[], dim: number): Tensor[] {
  const k = at(dim, input.rank);
  const shapes = lengths.map((length) => input.sizes.map((size, d) => (d === k ? length : size)));
  const back = input.sizes;
  const { dtype } = input;
  const node = torch.record("SplitBackward0", [input], (torch, gradients) => {
    const zeros = shapes.map((shape, n) => (gradients[n] ? null : torch.empty("zeros", shape, dtype)));
    const out = torch.empty("cat", back, gradients.find((g) => g !== null)?.dtype ?? dtype);
    for (const tensor of zeros) tensor?.release();
    return [out];
  });
  return shapes.map((shape) => torch.attach(node, alias(input, shape, input.strides)));
}

export function unbind(torch: Torch, input: Tensor, dim: number): Tensor[] {
  const k = at(dim, input.rank);
  const sizes = input.sizes.filter((_, d) => d !== k);
  const strides = input.strides.filter((_, d) => d !== k);
  const back = input.sizes;
  const { dtype } = input;
  const node = torch.record("UnbindBackward0", [input], (torch, gradients) => {
    const zeros = gradients.map((g) => (g ? null : torch.empty("zeros", sizes, dtype)));
    const out = torch.empty("stack", back, dtype);
    for (const tensor of zeros) tensor?.release();
    return [out];
  });
  return repeated(torch, input.sizes[k]!, () => torch.attach(node, alias(input, sizes, strides)));
}

/** `cat`; operands are promoted to one dtype. The gradients are views of the result's gradient. */
export function cat(torch: Torch, tensors: readonly Tensor[], dim: number): Tensor {
  const first = tensors.find((tensor) => tensor.elements > 0) ?? tensors[0];
  // aten/src/ATen/native/TensorShape.cpp, cat: "expected a non-empty list of Tensors".
  if (first === undefined) throw new ImpossibleSizes(say("engine.nothing-joined"));
  const k = at(dim, first.rank);
  const sizes = [...first.sizes];
  sizes[k] = tensors.reduce((total, tensor) => total + (tensor.elements === 0 ? 0 : tensor.sizes[k]!), 0);
  const shapes = tensors.map((tensor) => tensor.sizes);
  const node = torch.record("CatBackward0", tensors, (_, [gradient], __, node) =>
    node.edges.map((edge, n) => (edge && gradient ? alias(gradient, shapes[n]!, gradient.strides) : null)),
  );
  const staysLast =
    isChannelsLast(first) &&
    tensors.every((one) => one.rank === first.rank && !one.contiguous && sameSizes(order(one), order(first)));
  return torch.attach(
    node,
    torch.empty(
      "cat",
      sizes,
      promoteAll(tensors),
      staysLast ? preservedStrides(sizes, channelsLast(sizes)) : contiguousStrides(sizes),
    ),
  );
}

function order(tensor: Tensor): number[] {
  return tensor.sizes.map((_, k) => k).sort((a, b) => tensor.strides[b]! - tensor.strides[a]!);
}

function channelsLast(sizes: Sizes): number[] {
  const [, c, h, w] = sizes as [number, number, number, number];
  return [c * h * w, 1, c * w, c];
}

function isChannelsLast(tensor: Tensor): boolean {
  return tensor.rank === 4 && sameSizes(tensor.strides, channelsLast(tensor.sizes));
}

/** `repeat`: a new tensor; its gradient is reshaped and summed. */
export function repeat(torch: Torch, input: Tensor, times: readonly number[]): Tensor {
  const lead = times.length - input.rank;
  const sizes = times.map((n, k) => n * (k < lead ? 1 : input.sizes[k - lead]!));
  const back = input.sizes;
  const node = torch.record(
    "RepeatBackward0",
    [input],
    undoing((torch, g) => torch.empty("sum", back, g.dtype)),
  );
  return torch.attach(node, torch.empty("repeat", sizes, input.dtype));
}

export function stack(torch: Torch, tensors: readonly Tensor[], dim: number): Tensor {
  const first = tensors[0]!;
  const k = dim < 0 ? dim + first.rank + 1 : dim;
  const sizes = [...first.sizes.slice(0, k), tensors.length, ...first.sizes.slice(k)];
  const node = torch.record("StackBackward0", tensors, (torch, [gradient], _, node) =>
    node.edges.map((edge) => (edge && gradient ? select(torch, gradient, k) : null)),
  );
  return torch.attach(node, torch.empty("stack", sizes, promoteAll(tensors)));
}

/**
 * `constant_pad_nd`: new where something is added, else a copy of the (cut) input that keeps its order of dimensions
 * (aten/src/ATen/native/PadNd.cpp). The gradient is such a copy.
 */
export function pad(torch: Torch, input: Tensor, padding: readonly number[]): Tensor {
  const sizes = [...input.sizes];
  for (let k = 0; k * 2 < padding.length; k++) sizes[sizes.length - 1 - k]! += padding[2 * k]! + padding[2 * k + 1]!;
  const back = input.sizes;
  const node = torch.record("ConstantPadNdBackward0", [input], (torch, [gradient]) => [
    gradient ? torch.empty("constant_pad_nd", back, gradient.dtype, preservedStrides(back, gradient.strides)) : null,
  ]);
  const strides = padding.some((amount) => amount > 0) ? undefined : preservedStrides(sizes, input.strides);
  return torch.attach(node, torch.empty("constant_pad_nd", sizes, input.dtype, strides));
}

/** `detach`: the same elements without history. */
export function detach(input: Tensor): Tensor {
  return sameView(input);
}

/** `alias`: the same elements, differentiable (what a slice over everything gives). */
export function aliased(torch: Torch, input: Tensor): Tensor {
  return viewed(
    torch,
    "AliasBackward0",
    input,
    input.sizes,
    input.strides,
    undoing((_, g) => g.retain()),
  );
}
