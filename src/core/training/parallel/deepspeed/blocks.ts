/** Blocks that DeepSpeed's optimizers make and drop in their hooks and steps. */
import type { DType } from "../../../engine/dtype";
import { alias, type Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import { elements, reserve } from "../strategy";

/** What a norm is taken in (deepspeed/runtime/utils.py, `get_norm_dtype`). */
const NORM: DType = "float64";

/** Lets go of a parameter's gradient. */
export function dropGradient(parameter: Tensor): void {
  parameter.grad?.release();
  parameter.grad = null;
}

/** `param.grad.data = view`: the gradient is a part of `buffer` from now on, and its own block goes. */
export function moveGradient(parameter: Tensor, buffer: Tensor): void {
  const { grad } = parameter;
  parameter.grad = alias(buffer, parameter.sizes, null, buffer.dtype);
  grad?.release();
}

/**
 * `_flatten_dense_tensors`: one block with a copy of all; of one tensor alone a view (torch/csrc/utils/tensor_flatten.h).
 * Owned.
 */
export function flatten(torch: Torch, tensors: readonly Tensor[], kind: "gradients" | "communication"): Tensor {
  const [only] = tensors;
  if (tensors.length === 1 && only !== undefined) return only.retain();
  return reserve(torch, "cat", elements(tensors), only?.dtype ?? "float32", kind);
}

/** `tensor.to(dtype)`, the tensor given up. */
export function converted(
  torch: Torch,
  tensor: Tensor,
  dtype: DType,
  kind: "gradients" | "communication" | "temporaries",
): Tensor {
  if (tensor.dtype === dtype) return tensor;
  const copy = reserve(torch, "_to_copy", tensor.elements, dtype, kind);
  tensor.release();
  return copy;
}

/** The norm of each gradient, given up, one after the other, and the norm of those (`get_grad_norm_direct`). */
export function normOf(torch: Torch, gradients: readonly Tensor[], dtype: DType = NORM): void {
  const norms = gradients.map((gradient) => {
    const wide = converted(torch, gradient, dtype, "temporaries");
    const norm = reserve(torch, "linalg_vector_norm", 1, dtype, "temporaries");
    wide.release();
    return norm;
  });
  for (const norm of norms) norm.release();
}
