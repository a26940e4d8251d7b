/**
 * BAdam: one block of layers is trained at a time, through float32 copies that only the block has; its optimizer starts anew
 * with every block. Source: badam 1.4 (block_optim.py, BlockOptimizer.step_single_gpu, _switch_trainable_params_single_gpu).
 */
import { hostTensor, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { type OptimizerFactory, state } from "./types";

/** A float32 copy of a parameter, which the inner optimizer steps. */
function copyOf(torch: Torch, parameter: Tensor): Tensor {
  const half = parameter.dtype !== "float32";
  const clone = half ? torch.empty("clone", parameter.sizes, parameter.dtype) : null;
  const copy = state(torch, half ? "_to_copy" : "clone", parameter.sizes, "float32");
  clone?.release();
  copy.name = parameter.name;
  return copy;
}

export const blockwise =
  (factory: OptimizerFactory): OptimizerFactory =>
  (torch, groups, args) => {
    const parameters = groups.flat();
    const copies = new Map(parameters.map((parameter) => [parameter, copyOf(torch, parameter)] as const));
    const inner = factory(
      torch,
      groups.map((group) => group.map((parameter) => copies.get(parameter)!)),
      args,
    );
    return {
      step(torch) {
        for (const [parameter, copy] of copies) {
          if (parameter.grad === null) continue;
          // `.float()` of a gradient in float32 is that gradient.
          copy.grad =
            parameter.grad.dtype === "float32"
              ? parameter.grad.retain()
              : torch.empty("_to_copy", parameter.sizes, "float32");
          parameter.grad.release();
          parameter.grad = null;
        }
        inner.step(torch);
        let last: Tensor = hostTensor(torch.ledger, [], "float32");
        for (const [parameter, copy] of copies) {
          if (parameter.dtype === "float32") continue;
          last.release();
          last = torch.empty("_to_copy", parameter.sizes, parameter.dtype);
          copy.grad?.retain().release();
        }
        last.release();
        for (const copy of copies.values()) {
          copy.grad?.release();
          copy.grad = null;
        }
      },
    };
  };
