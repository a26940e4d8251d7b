/** Autograd functions that models bring with them. */
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise, product } from "./arithmetic";

/**
 * PhiMoE's `PhimoeMultiplier` (models/phimoe/modeling_phimoe.py), an autograd function of its own: it saves three tensors,
 * and its backward scatters into the product of gates and gradient.
 */
export function phimoeMultiplier(
  torch: Torch,
  scores: Tensor,
  multiplier: Tensor,
  experts: Tensor,
  gates: Tensor,
): Tensor {
  const node = torch.record("PhimoeMultiplierBackward", [scores], (torch, [gradient], [factor, , saved]) => {
    if (!gradient) return [null];
    const scaled = product(torch, gradient, factor!);
    const negated = product(torch, scaled, -1);
    const out = product(torch, saved!, negated);
    scaled.release();
    negated.release();
    return [out];
  });
  if (node !== null) for (const tensor of [multiplier, experts, gates]) torch.save(node, tensor);
  return torch.attach(node, torch.empty("mul", multiplier.sizes, multiplier.dtype));
}

/**
 * RecurrentGemma's root whose slope has a bound: what it reads is saved, and roots are taken of it in backward
 * (transformers/models/recurrent_gemma/modeling_recurrent_gemma.py, SqrtBoundDerivative).
 */
export function sqrtBoundDerivative(torch: Torch, self: Tensor): Tensor {
  const node = torch.record("SqrtBoundDerivativeBackward", [self], (torch, [gradient], [x]) => {
    if (!gradient) return [null];
    const scaled = product(torch, x!, 4);
    const clipped = elementwise(torch, "clamp", [scaled], scaled.dtype);
    scaled.release();
    const root = elementwise(torch, "sqrt", [clipped], clipped.dtype);
    const out = elementwise(torch, "div", [gradient, root], gradient.dtype);
    root.release();
    clipped.release();
    return [out];
  });
  if (node !== null) torch.save(node, self);
  return torch.attach(node, elementwise(torch, "sqrt", [self], self.dtype));
}
