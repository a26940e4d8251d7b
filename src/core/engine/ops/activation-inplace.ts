/**
 * Activations that write into their input (`nn.ReLU6(inplace=True)`, `nn.SiLU(inplace=True)`).
 *
 * Source: tools/autograd/derivatives.yaml. Backward of some looks at the result, which is there anyway. That of the others
 * looks at the input, which is overwritten: VariableType clones it first (tools/autograd/gen_variable_type.py,
 * `original_self = self.clone()`).
 */
import { table } from "../../../terms/table";
import { sameView, type Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise } from "./arithmetic";
import { rewritten, wholeGradient } from "./inplace";

/** Node, and which of the two backward looks at. */
export interface InPlaceActivation {
  readonly node: string;
  readonly saves: "result" | "input";
  /** Kernel of backward, where it is not named after the operator. */
  readonly kernel?: string;
}

/** By operator, without the underscore that says in place. */
export const IN_PLACE_ACTIVATIONS: Readonly<Record<string, InPlaceActivation>> = table({
  relu: { node: "ReluBackward0", saves: "result", kernel: "threshold_backward" },
  hardtanh: { node: "HardtanhBackward0", saves: "input" },
  leaky_relu: { node: "LeakyReluBackward0", saves: "result" },
  elu: { node: "EluBackward0", saves: "result" },
  silu: { node: "SiluBackward0", saves: "input" },
  mish: { node: "MishBackward0", saves: "input" },
  hardswish: { node: "HardswishBackward0", saves: "input" },
  hardsigmoid: { node: "HardsigmoidBackward0", saves: "input" },
});

/**
 * `operator_(self)`: the same storage with a new history, and the input's clone where backward needs it. In a view the gradient of the
 * whole is copied, and of the part there are two more for a moment: a clone and what the kernel makes of it
 * (torch/csrc/autograd/functions/tensor.cpp, CopySlices).
 */
export function activateInPlace(torch: Torch, operator: string, self: Tensor): Tensor {
  const { node: name, saves, kernel = `${operator}_backward` } = IN_PLACE_ACTIVATIONS[operator]!;
  const whole = self.base;
  const node = torch.record(whole === null ? name : "CopySlices", [self], (torch, [gradient], [saved]) => {
    if (!gradient) return [null];
    if (whole === null) return [elementwise(torch, kernel, [gradient, saved!])];
    const copied = wholeGradient(torch, whole, gradient.dtype);
    const part = torch.empty("clone", self.sizes, gradient.dtype);
    const own = elementwise(torch, kernel, [part]);
    part.release();
    own.release();
    return [copied];
  });
  if (node === null) return self.retain();
  if (saves === "input") {
    const original = elementwise(torch, "clone", [self]);
    torch.save(node, original);
    original.release();
  }
  const out = whole === null ? torch.attach(node, sameView(self)) : rewritten(torch, node, self);
  if (saves === "result") torch.saveOutput(node, out);
  return out;
}
