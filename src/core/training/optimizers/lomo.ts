/**
 * LOMO and AdaLomo update a parameter in backward, when the next one's gradient arrives, and let its gradient go: at most
 * two gradients exist at a time. Source: lomo-optim 0.1 (lomo.py, adalomo.py: fuse_update, fused_backward).
 */
import type { Ways } from "../../../terms/optimizers";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { Locals } from "./locals";
import { type OptimizerFactory, state } from "./types";

export const lomo =
  ({ adaptive }: Ways["lomo"]): OptimizerFactory =>
  (torch, groups) => {
    if (adaptive)
      for (const parameter of groups.flat())
        for (const sizes of factors(parameter.sizes)) state(torch, "zeros", sizes, "float32");
    let waiting: Tensor | null = null;
    const flush = (torch: Torch): void => {
      if (waiting === null) return;
      update(torch, waiting, adaptive);
      waiting = null;
    };
    return {
      step() {
        // Everything was updated in backward.
      },
      afterAccumulate(leaf, torch) {
        flush(torch);
        waiting = leaf;
      },
      afterBackward: flush,
    };
  };

/** Row and column means of a matrix, the whole of a vector. */
function factors(sizes: readonly number[]): readonly (readonly number[])[] {
  return sizes.length === 1 ? [sizes] : [[sizes[0] ?? 1], [sizes[1] ?? 1]];
}

function update(torch: Torch, parameter: Tensor, adaptive: boolean): void {
  const { grad, sizes } = parameter;
  if (grad === null) return;
  const locals = new Locals();
  const raised = grad.dtype === "float32" ? grad.retain() : torch.empty("_to_copy", sizes, "float32");
  locals.bind("grad_fp32", raised);
  grad.release();
  parameter.grad = null;
  if (adaptive) {
    const squared = torch.empty("pow", sizes, "float32");
    locals.bind("update", torch.empty("add", sizes, "float32"));
    squared.release();
    if (sizes.length > 1) {
      for (const mean of factors(sizes)) torch.empty("mean", mean, "float32").release();
      const [rows, columns] = factors(sizes).map((size) => torch.empty("rsqrt", size, "float32"));
      locals.bind("update", torch.empty("mul", sizes, "float32"));
      rows?.release();
      columns?.release();
    } else locals.bind("update", torch.empty("rsqrt", sizes, "float32"));
  }
  locals.bind("p_fp32", parameter.dtype === "float32" ? parameter.retain() : torch.empty("_to_copy", sizes, "float32"));
  locals.release();
}
