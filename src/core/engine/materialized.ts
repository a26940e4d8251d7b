/** Gradients as a function of Python's is given them: zeros for outputs that nobody differentiated. */
import type { InputMetadata } from "./node";
import type { Tensor } from "./tensor";
import type { Torch } from "./torch";

export interface Materialized {
  /** The gradient of an output, borrowed. */
  of(k: number): Tensor | null;
  /** Lets go of the zeros. */
  release(): void;
}

/** Source: torch/csrc/autograd/python_function.cpp, PyNode::apply (`materialize_grads`). */
export function materialized(
  torch: Torch,
  outputs: readonly InputMetadata[],
  gradients: readonly (Tensor | null)[],
): Materialized {
  const zeros = outputs.map(({ sizes, dtype }, k) => (gradients[k] ? null : torch.empty("zeros", sizes, dtype)));
  return {
    of: (k) => gradients[k] ?? zeros[k] ?? null,
    release: () => {
      for (const tensor of zeros) tensor?.release();
    },
  };
}
