/** Levers on the optimizer's states and temporaries. */
import { optimizerRow } from "../../../terms/optimizers";
import type { TrainingRun } from "../../training/run";
import type { Lever, LeverOption } from "../types";
import { hostMemory, lever, needs, one, set, sharded } from "./build";

/** Adam in PyTorch's own forms: the optimizers that the 8-bit forms and Adafactor replace. */
function isTorchAdam(run: TrainingRun): boolean {
  return optimizerRow(run.optimizer.name)?.adamw === true && run.adapter === null && !sharded(run);
}

function swapOptimizer(name: string): (run: TrainingRun) => LeverOption[] {
  return (run) =>
    isTorchAdam(run) ? one(name, { ...run, optimizer: { name, args: {} } }, set("optimizer", name)) : [];
}

/** GaLore and APOLLO must be told which modules they project (transformers/trainer_optimizer.py). */
function lowRank(name: string): (run: TrainingRun) => LeverOption[] {
  const args = { optim_target_modules: "all-linear" };
  return (run) =>
    isTorchAdam(run) && run.checkpointing?.useReentrant !== true
      ? one(
          name,
          { ...run, optimizer: { name, args } },
          set("optimizer", name),
          set("optim_target_modules", "all-linear"),
        )
      : [];
}

export const OPTIMIZERS: readonly Lever[] = [
  lever("fused-optimizer", "nothing", (run) =>
    run.optimizer.name === "adamw_torch" && !sharded(run)
      ? one(
          "adamw_torch_fused",
          { ...run, optimizer: { ...run.optimizer, name: "adamw_torch_fused" } },
          set("optimizer", "adamw_torch_fused"),
        )
      : [],
  ),
  lever("8-bit-optimizer", "numerics", swapOptimizer("adamw_bnb_8bit"), { requires: [needs("bitsandbytes")] }),
  lever("paged-8-bit-optimizer", "numerics", swapOptimizer("paged_adamw_8bit"), {
    requires: [needs("bitsandbytes"), hostMemory("optimizer")],
  }),
  lever("adafactor", "numerics", swapOptimizer("adafactor")),
  lever("lion-8bit", "numerics", swapOptimizer("lion_8bit"), { requires: [needs("bitsandbytes")], rare: true }),
  // One momentum per matrix, AdamW for the rest (torch/optim/_muon.py).
  lever("muon", "method", swapOptimizer("muon"), { rare: true }),
  lever("4-bit-optimizer", "numerics", swapOptimizer("adamw_torch_4bit"), { requires: [needs("torchao")], rare: true }),
  lever("galore", "numerics", lowRank("galore_adamw"), { requires: [needs("galore-torch")], rare: true }),
  lever("apollo", "numerics", lowRank("apollo_adamw"), { requires: [needs("apollo-torch")], rare: true }),
];
