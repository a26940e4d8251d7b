/**
 * Hooks of modules that are split over GPUs: what is exchanged around them, in forward and in backward. Collectives that return
 * make what they return (torch/csrc/distributed/c10d/Functional.cpp); what is gathered along the last dimension is gathered along
 * the first and put together (torch/distributed/_functional_collectives.py, all_gather_tensor). Source:
 * transformers/distributed/tensor_parallel.py (ColwiseParallel, RowwiseParallel), torch/distributed/tensor/_redistribute.py.
 */
import type { ModuleHooks } from "../../../engine/module-hooks";
import { sameView, type Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import type { TensorPlan } from "./plan";

/** One tensor in the place of another. */
type Exchange = (torch: Torch, tensor: Tensor) => Tensor;

export class SplitModules implements ModuleHooks {
  constructor(private readonly plan: TensorPlan) {}

  has(path: string): boolean {
    return this.plan.styleOf(path) !== undefined;
  }

  before(torch: Torch, path: string, inputs: readonly (Tensor | null)[]): (Tensor | null)[] {
    const { degree } = this.plan;
    switch (this.plan.styleOf(path)) {
      case "columns":
      case "gathered-columns":
        return inputs.map((input) => input && exchanged(torch, input, null, allReduced));
      case "split-rows":
        return inputs.map(
          (input) =>
            input &&
            exchanged(
              torch,
              input,
              (torch, whole) => part(torch, whole, degree),
              (torch, own) => gathered(torch, own, degree),
            ),
        );
      default:
        return [...inputs];
    }
  }

  after(torch: Torch, path: string, outputs: readonly Tensor[]): Tensor[] {
    const { degree } = this.plan;
    switch (this.plan.styleOf(path)) {
      case "rows":
      case "split-rows":
        // Without gradients the product is summed where it is.
        return outputs.map((output) => (torch.gradEnabled ? exchanged(torch, output, allReduced, null) : output));
      case "gathered-columns":
        return outputs.map((output) =>
          exchanged(
            torch,
            output,
            (torch, own) => gathered(torch, own, degree),
            (torch, whole) => part(torch, whole, degree),
          ),
        );
      default:
        return [...outputs];
    }
  }
}

/** The sum over the GPUs. */
function allReduced(torch: Torch, tensor: Tensor): Tensor {
  return torch.empty("all_reduce", tensor.sizes, tensor.dtype);
}

/** All GPUs' parts of the last dimension. */
function gathered(torch: Torch, tensor: Tensor, degree: number): Tensor {
  const { kind } = torch;
  const sizes = [...tensor.sizes.slice(0, -1), tensor.size(-1) * degree];
  torch.kind = "communication";
  const all = torch.empty("all_gather_into_tensor", sizes, tensor.dtype);
  torch.kind = kind;
  const whole = torch.empty("cat", sizes, tensor.dtype);
  all.release();
  return whole;
}

/** This GPU's part of the last dimension. */
function part(torch: Torch, tensor: Tensor, degree: number): Tensor {
  return torch.empty("clone", [...tensor.sizes.slice(0, -1), tensor.size(-1) / degree], tensor.dtype);
}

/** `tensor`, which is given up, after an exchange whose gradient takes another; null: nothing is exchanged. */
function exchanged(torch: Torch, tensor: Tensor, forward: Exchange | null, backward: Exchange | null): Tensor {
  const node = torch.record("RedistributeBackward", [tensor], (torch, [gradient]) => [
    gradient == null ? null : (backward?.(torch, gradient) ?? gradient.retain()),
  ]);
  const made = forward === null ? sameView(tensor) : forward(torch, tensor);
  tensor.release();
  return node === null ? made : torch.attach(node, made);
}
