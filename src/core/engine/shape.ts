/**
 * Sizes and strides as PyTorch computes them: contiguity, views, broadcasting and the layout of new tensors.
 * Sources: c10/core/Contiguity.h, aten/src/ATen/TensorUtils.cpp (computeStride), aten/src/ATen/TensorIterator.cpp
 * (reorder_dimensions), aten/src/ATen/ExpandUtils.cpp (infer_dense_strides).
 */
import { say } from "../../words/message";
import { refuseSizes } from "./not-modelled";

export type Sizes = readonly number[];

/** Number of elements. */
export function numel(sizes: Sizes): number {
  let n = 1;
  for (let k = 0; k < sizes.length; k++) n *= sizes[k]!;
  return n;
}

/** Row-major strides in elements. */
export function contiguousStrides(sizes: Sizes): number[] {
  const strides = new Array<number>(sizes.length);
  let step = 1;
  for (let k = sizes.length - 1; k >= 0; k--) {
    strides[k] = step;
    step *= Math.max(sizes[k]!, 1);
  }
  return strides;
}

export function sameSizes(a: Sizes, b: Sizes): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let k = 0; k < a.length; k++) if (a[k] !== b[k]) return false;
  return true;
}

export function isContiguous(sizes: Sizes, strides: Sizes): boolean {
  let expected = 1;
  for (let k = sizes.length - 1; k >= 0; k--) {
    const size = sizes[k]!;
    if (size === 0) return true;
    if (size !== 1) {
      if (strides[k] !== expected) return false;
      expected *= size;
    }
  }
  return true;
}

/** Whether the elements fill one block of memory without overlap, in some order of the dimensions. */
export function isDense(sizes: Sizes, strides: Sizes): boolean {
  if (isContiguous(sizes, strides)) return true;
  let left = 0;
  for (let k = 0; k < sizes.length; k++) if (sizes[k] !== 1) left++;
  // From the innermost dimension out, each begins where the one inside it ends.
  for (let expected = 1; left > 0; left--) {
    let inner = 0;
    while (inner < sizes.length && (sizes[inner] === 1 || strides[inner] !== expected)) inner++;
    if (inner === sizes.length) return false;
    if (sizes[inner] === 0) return true;
    expected *= sizes[inner]!;
  }
  return true;
}

/**
 * Replaces the one `-1` of a requested shape. Throws where no number fits (ATen/InferSize.h, "shape is invalid for input of size").
 */
export function inferSize(requested: Sizes, count: number): Sizes {
  const open = requested.lastIndexOf(-1);
  if (open < 0) return requested;
  let known = 1;
  for (const size of requested) if (size !== -1) known *= size;
  const sizes = requested.slice();
  sizes[open] = known === 0 ? 0 : count / known;
  if (!Number.isInteger(sizes[open]))
    refuseSizes([count, ...requested], say("engine.view", { count, sizes: requested.join(" × ") }));
  return sizes;
}

/** Strides that view `sizes`/`strides` as `wanted`, or null where a copy is needed (`at::detail::computeStride`). */
export function viewStrides(sizes: Sizes, strides: Sizes, wanted: Sizes): number[] | null {
  if (numel(sizes) === 0) return sameSizes(sizes, wanted) ? [...strides] : contiguousStrides(wanted);
  const result = new Array<number>(wanted.length).fill(1);
  if (sizes.length === 0) return result;
  let view = wanted.length - 1;
  let base = strides[strides.length - 1]!;
  let chunk = 1;
  let viewed = 1;
  for (let k = sizes.length - 1; k >= 0; k--) {
    chunk *= sizes[k]!;
    const ends = k === 0 || (sizes[k - 1] !== 1 && strides[k - 1] !== chunk * base);
    if (ends) {
      while (view >= 0 && (viewed < chunk || wanted[view] === 1)) {
        result[view] = viewed * base;
        viewed *= wanted[view]!;
        view--;
      }
      if (viewed !== chunk) return null;
      if (k > 0) {
        base = strides[k - 1]!;
        chunk = 1;
        viewed = 1;
      }
    }
  }
  return view === -1 ? result : null;
}

/** Shape two operands broadcast to (aten/src/ATen/ExpandUtils.cpp, infer_size_impl). Throws `ImpossibleSizes` where they do not. */
export function broadcast(a: Sizes, b: Sizes): number[] {
  const rank = Math.max(a.length, b.length);
  const out = new Array<number>(rank);
  for (let k = 0; k < rank; k++) {
    const x = a[a.length - rank + k] ?? 1;
    const y = b[b.length - rank + k] ?? 1;
    if (x !== y && x !== 1 && y !== 1)
      refuseSizes([...a, ...b], say("engine.broadcast", { sizes: a.join(" × "), others: b.join(" × ") }));
    out[k] = x === 1 ? y : x;
  }
  return out;
}

/** Strides of an operand seen through broadcasting to `shape` (0 where it repeats). */
function broadcastStrides(sizes: Sizes, strides: Sizes, shape: Sizes): number[] {
  const lead = shape.length - sizes.length;
  return shape.map((size, k) => (k < lead || (sizes[k - lead] === 1 && size !== 1) ? 0 : strides[k - lead]!));
}

/** Sizes and strides of an operand. */
interface Layout {
  readonly sizes: Sizes;
  readonly strides: Sizes;
}

/** Whether every operand has this shape and lies row by row. */
function allContiguous(shape: Sizes, operands: readonly Layout[]): boolean {
  for (const { sizes, strides } of operands)
    if (!sameSizes(sizes, shape) || !isContiguous(sizes, strides)) return false;
  return true;
}

/** Whether every operand has this shape and these strides. */
function allLaidOut(shape: Sizes, wanted: Sizes, operands: readonly Layout[]): boolean {
  for (const { sizes, strides } of operands) if (!sameSizes(sizes, shape) || !sameSizes(strides, wanted)) return false;
  return true;
}

/**
 * Strides TensorIterator gives the output of an elementwise operator: those of the operands when they agree, else
 * dense in the order in which the operands' dimensions are laid out; null: row by row.
 */
export function elementwiseStrides(shape: Sizes, operands: readonly Layout[]): Sizes | null {
  const rank = shape.length;
  if (rank <= 1 || allContiguous(shape, operands)) return null;
  const first = operands[0]!;
  if (allLaidOut(shape, first.strides, operands) && isDense(first.sizes, first.strides)) return first.strides;
  const shaped = operands.filter(({ sizes }) => sizes.length > 0);
  if (shaped.length === 0) return null;
  const views = shaped.map(({ sizes, strides }) => broadcastStrides(sizes, strides, shape));
  const permutation = shape.map((_, k) => rank - 1 - k);
  const compare = (a: number, b: number): number => {
    for (const v of views) {
      const x = v[a]!;
      const y = v[b]!;
      if (x === 0 || y === 0) continue;
      if (x !== y) return x < y ? -1 : 1;
      if (shape[a]! > shape[b]!) return 1;
    }
    return 0;
  };
  for (let i = 1; i < rank; i++) {
    let right = i;
    for (let left = i - 1; left >= 0; left--) {
      const order = compare(permutation[left]!, permutation[right]!);
      if (order > 0) {
        const swap = permutation[left]!;
        permutation[left] = permutation[right]!;
        permutation[right] = swap;
        right = left;
      } else if (order < 0) break;
    }
  }
  const strides = new Array<number>(rank);
  let step = 1;
  for (const k of permutation) {
    strides[k] = step;
    step *= shape[k]!;
  }
  return strides;
}

/** Strides of `empty_like`/`clone` with `preserve_format` (`infer_dense_strides` when not dense already). */
export function preservedStrides(sizes: Sizes, strides: Sizes): Sizes {
  if (isDense(sizes, strides)) return strides;
  return elementwiseStrides(sizes, [{ sizes, strides }]) ?? contiguousStrides(sizes);
}

/** Dimensions from the densest to the widest in PyTorch's channels-last formats of pictures and films. */
const CHANNELS_LAST: Readonly<Record<number, readonly number[]>> = { 4: [1, 3, 2, 0], 5: [1, 4, 3, 2, 0] };

/** `suggest_memory_format() == ChannelsLast` (c10/core/MemoryFormat.h, is_channels_last_strides). */
export function isChannelsLast(sizes: Sizes, strides: Sizes): boolean {
  const order = CHANNELS_LAST[sizes.length];
  if (order === undefined || strides[1] === 0) return false;
  let least = 0;
  for (const dim of order) {
    if (sizes[dim] === 0 || strides[dim]! < least) return false;
    // Ambiguous sizes of one: plain contiguous tensors are not channels-last.
    if (dim === 0 && least === strides[1]) return false;
    least = strides[dim]! * sizes[dim]!;
  }
  return true;
}

/** Dense strides with the channels innermost where `last`, else contiguous ones. */
export function formatStrides(sizes: Sizes, last: boolean): number[] {
  const order = CHANNELS_LAST[sizes.length];
  if (!last || order === undefined) return contiguousStrides(sizes);
  const strides = new Array<number>(sizes.length).fill(1);
  let step = 1;
  for (const dim of order) {
    strides[dim] = step;
    step *= sizes[dim]!;
  }
  return strides;
}
