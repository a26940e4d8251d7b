/** Rows and elements picked by indices. Source: derivatives.yaml. */
import { table } from "../../../terms/table";
import type { DType } from "../dtype";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";

export function embedding(torch: Torch, weight: Tensor, indices: Tensor): Tensor {
  const node = torch.record("EmbeddingBackward0", [weight], (torch, [gradient]) => [
    gradient ? torch.empty("embedding_dense_backward", weight.sizes, gradient.dtype) : null,
  ]);
  if (node !== null) torch.save(node, indices);
  return torch.attach(node, picked(torch, "embedding", [...indices.sizes, weight.size(1)], weight.dtype));
}

/** What reads only the elements that it writes, wherever they are. */
function picked(torch: Torch, operator: string, sizes: readonly number[], dtype: DType): Tensor {
  torch.launch();
  return torch.empty(operator, sizes, dtype);
}

/**
 * How the gradient gets into zeros: out of place, as for the reference's tensor subclasses (FunctionsManual.cpp,
 * index_backward; TensorAdvancedIndexing.cpp, gather_backward). A plain CUDA tensor is scattered into in place, one
 * tensor of the input's size less, which this bounds.
 */
const SCATTERED: Readonly<Record<string, string>> = table({ index: "_index_put_impl_", gather: "scatter_add" });

/** `index`/`index_select`/`gather`: the gradient is scattered into zeros of the input's size. */
export function gatherLike(
  torch: Torch,
  operator: string,
  input: Tensor,
  indices: readonly Tensor[],
  sizes: readonly number[],
): Tensor {
  const back = input.sizes;
  const node = torch.record("IndexBackward0", [input], (torch, [gradient]) => {
    if (!gradient) return [null];
    const zeros = torch.empty("new_zeros", back, gradient.dtype);
    const scattered = SCATTERED[operator];
    if (scattered === undefined) return [zeros];
    const out = torch.empty(scattered, back, gradient.dtype);
    zeros.release();
    return [out];
  });
  // gather_backward asks for the input itself, though only for its sizes.
  if (node !== null && operator === "gather") torch.save(node, input);
  if (node !== null) for (const index of indices) torch.save(node, index);
  return torch.attach(node, picked(torch, operator, sizes, input.dtype));
}

/** `take_along_dim`: places from the end become ones from the start, then it gathers (aten/native/TensorAdvancedIndexing.cpp). */
export function takeAlongDim(torch: Torch, input: Tensor, index: Tensor): Tensor {
  const wrapped = torch.empty("remainder", index.sizes, index.dtype);
  const out = gatherLike(torch, "gather", input, [wrapped], index.sizes);
  wrapped.release();
  return out;
}
