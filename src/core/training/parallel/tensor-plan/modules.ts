/**
 * Hooks of modules that are split over GPUs: what is exchanged around them, in forward and in backward. Collectives that return
 * make what they return (torch/csrc/distributed/c10d/Functional.cpp); what is gathered along the last dimension is gathered along
 * the first and put together (torch/distributed/_functional_collectives.py, all_gather_tensor). Source:
 * transformers/distributed/tensor_parallel.py (ColwiseParallel, RowwiseParallel), torch/distributed/tensor/_redistribute.py.
 */
import type { ModuleForward } from "../../../engine/interpreter/options";
import type { ModuleHooks } from "../../../engine/module-hooks";
import { sameView, type Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import type { TensorPlan } from "./plan";

/** One tensor in the place of another. */
type Exchange = (torch: Torch, tensor: Tensor) => Tensor;

export class SplitModules implements ModuleHooks {
  readonly insideAdapters = true;

  constructor(private readonly plan: TensorPlan) {}

  has(path: string): boolean {
    const style = this.plan.styleOf(path);
    return style !== undefined && style !== "vocabulary";
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

/**
 * The forward of an embedding of which this GPU has some rows: tokens of others give zeros, and the GPUs' results are summed. Its
 * gradient is of all rows before this GPU's are taken (torch/distributed/tensor/_ops/_embedding_ops.py).
 */
export function splitEmbedding(weight: Tensor, degree: number): ModuleForward {
  const [rows, width] = weight.sizes as [number, number];
  return (torch, tokens) => {
    const node = torch.record("EmbeddingBackward0", [weight], (torch, [gradient]) => {
      if (!gradient) return [null];
      const whole = torch.empty("embedding_dense_backward", [rows * degree, width], gradient.dtype);
      const own = torch.empty("clone", weight.sizes, gradient.dtype);
      // The whole one goes with the part that was taken of it.
      own.along = whole;
      return [own];
    });
    if (node !== null) torch.save(node, tokens);
    const bounds = ["lt", "ge", "__or__"].map((name) => torch.empty(name, tokens.sizes, "bool"));
    for (const bound of bounds.slice(0, 2)) bound.release();
    const copy = torch.empty("clone", tokens.sizes, tokens.dtype);
    const local = torch.empty("sub", tokens.sizes, tokens.dtype);
    copy.release();
    const partial = torch.empty("embedding", [...tokens.sizes, width], weight.dtype);
    for (const tensor of [local, bounds[2]!]) tensor.release();
    const sum = torch.attach(node, allReduced(torch, partial));
    partial.release();
    return sum;
  };
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
