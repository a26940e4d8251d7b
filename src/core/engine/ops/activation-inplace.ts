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
  elu: { node: "EluBackward0", saves: "result" },
  silu: { node: "SiluBackward0", saves: "input" },
  mish: { node: "MishBackward0", saves: "input" },
  hardswish: { node: "HardswishBackward0", saves: "input" },
  hardsigmoid: { node: "HardsigmoidBackward0", saves: "input" },
});

/** `operator_(self)`: the same storage with a new history, and the input's clone where backward needs it. */
export function activateInPlace(torch: Torch, operator: string, self: Tensor): Tensor {
  const { node: name, saves, kernel = `${operator}_backward` } = IN_PLACE_ACTIVATIONS[operator]!;
  const node = torch.record(name, [self], (torch, [gradient], [saved]) => [
    gradient ? elementwise(torch, kernel, [gradient, saved!]) : null,
  ]);
  if (node === null) return self.retain();
  if (saves === "input") {
    const original = elementwise(torch, "clone", [self]);
    torch.save(node, original);
    original.release();
  }
  const out = torch.attach(node, sameView(self));
  if (saves === "result") torch.saveOutput(node, out);
  return out;
}
