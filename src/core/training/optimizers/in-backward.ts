/**
 * Optimizers that step each parameter in backward, as soon as its gradient is there, and let the gradient go: one optimizer
 * for each parameter. Sources: torchtune/training/memory.py (OptimizerInBackwardWrapper, register_optim_in_bwd_hooks),
 * torchtitan/components/optimizer.py (OptimizersInBackwardContainer), transformers/trainer_optimizer.py (layer-wise GaLore
 * and APOLLO).
 */
import type { Optimizer, OptimizerFactory } from "./types";

export const inBackward =
  (factory: OptimizerFactory): OptimizerFactory =>
  (torch, groups, args) => {
    const own = new Map(groups.flat().map((leaf) => [leaf, factory(torch, [[leaf]], args)] as const));
    const optimizer: Optimizer = {
      step() {
        // Everything was updated in backward.
      },
      afterAccumulate(leaf, torch) {
        const { stepsInPass } = torch;
        torch.stepsInPass = true;
        own.get(leaf)?.step(torch);
        torch.stepsInPass = stepsInPass;
        leaf.grad?.release();
        leaf.grad = null;
      },
    };
    // States appear in the first backward; they are made before it, so that every pass does the same.
    for (const leaf of own.keys()) {
      leaf.grad = torch.empty("zeros", leaf.sizes, leaf.dtype);
      optimizer.afterAccumulate?.(leaf, torch);
    }
    return optimizer;
  };
