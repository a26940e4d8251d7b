/**
 * Products with vectors. Sources: aten/src/ATen/native/LinearAlgebra.cpp (`_matmul_impl`), derivatives.yaml (`mv`, `dot`); `ger` is a
 * product of a column with a row.
 */
import { contiguousStrides, type Sizes } from "../shape";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";

/** A matrix and a vector. */
export function mv(torch: Torch, matrix: Tensor, vector: Tensor): Tensor {
  const sizes = matrix.sizes;
  const node = torch.record("MvBackward0", [matrix, vector], (torch, [gradient], _saved, node) => {
    if (!gradient) return [null, null];
    const outer = node.edges[0] ? vectorProduct(torch, "mul", sizes, 1, gradient.dtype) : null;
    return [outer, node.edges[1] ? vectorProduct(torch, "mv", [sizes[1]!], sizes[0]!, gradient.dtype) : null];
  });
  if (node?.edges[1]) torch.save(node, matrix);
  if (node?.edges[0]) torch.save(node, vector);
  return torch.attach(node, vectorProduct(torch, "mv", [sizes[0]!], sizes[1]!, matrix.dtype));
}

/** Two vectors. */
export function dot(torch: Torch, a: Tensor, b: Tensor): Tensor {
  const { sizes } = a;
  const node = torch.record("DotBackward0", [a, b], (torch, [gradient], _saved, node) =>
    [0, 1].map((k) => (gradient && node.edges[k] ? torch.empty("mul", sizes, gradient.dtype) : null)),
  );
  if (node?.edges[1]) torch.save(node, a);
  if (node?.edges[0]) torch.save(node, b);
  return torch.attach(node, vectorProduct(torch, "dot", [], sizes[0]!, a.dtype));
}

function vectorProduct(torch: Torch, operator: string, sizes: Sizes, inner: number, dtype: Tensor["dtype"]): Tensor {
  const [rows = 1, columns = 1] = sizes;
  torch.multiply([rows, columns], { count: 1, rows, columns, inner, dtype });
  return torch.empty(operator, sizes, dtype, contiguousStrides(sizes));
}
