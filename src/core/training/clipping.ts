/** Clipping of gradients (torch/nn/utils/clip_grad.py). */
import type { Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";

/** `clip_grad_norm_`, foreach: one norm per gradient, their norm, the coefficient. */
export function clip(torch: Torch, parameters: readonly Tensor[]): void {
  const norms = parameters
    .filter(({ grad }) => grad !== null)
    .map(({ grad }) => torch.empty("_foreach_norm", [], grad!.dtype));
  if (norms.length === 0) return;
  const stacked = torch.empty("stack", [norms.length], norms[0]!.dtype);
  const total = torch.empty("linalg_vector_norm", [], norms[0]!.dtype);
  stacked.release();
  const scalar = (operator: string): Tensor => torch.empty(operator, [], total.dtype);
  const divisor = scalar("add");
  const inverse = scalar("reciprocal");
  const coefficient = scalar("mul");
  inverse.release();
  divisor.release();
  const clamped = scalar("clamp");
  for (const tensor of [...norms, total, coefficient, clamped]) tensor.release();
}
