/** Optimizers by the name the HF Trainer's `optim` uses. */

import { table } from "../../../terms/table";
import type { Tensor } from "../../engine/tensor";
import type { OptimizerSpec } from "../run";
import { adafactor } from "./adafactor";
import { adamMini } from "./adam-mini";
import { BITSANDBYTES_OPTIMIZERS } from "./bitsandbytes";
import { blockwise } from "./block";
import { inBackward } from "./in-backward";
import { LOMO_OPTIMIZERS } from "./lomo";
import { LOW_RANK_OPTIMIZERS } from "./low-rank";
import { SCHEDULE_FREE_OPTIMIZERS } from "./schedule-free";
import { SINGLE_TENSOR_OPTIMIZERS } from "./single-tensor";
import { TORCH_OPTIMIZERS } from "./torch-optim";
import { TORCHAO_OPTIMIZERS } from "./torchao";
import type { OptimizerFactory } from "./types";

export type { Optimizer, OptimizerArguments, OptimizerFactory } from "./types";

const FACTORIES: Readonly<Record<string, OptimizerFactory>> = table({
  ...TORCH_OPTIMIZERS,
  ...BITSANDBYTES_OPTIMIZERS,
  ...SCHEDULE_FREE_OPTIMIZERS,
  ...SINGLE_TENSOR_OPTIMIZERS,
  ...TORCHAO_OPTIMIZERS,
  ...LOMO_OPTIMIZERS,
  ...LOW_RANK_OPTIMIZERS,
  adafactor,
  adam_mini: adamMini,
});

/** The factory for a name, or undefined when the optimizer is not modelled. */
export function findOptimizer(name: string): OptimizerFactory | undefined {
  return Object.hasOwn(FACTORIES, name) ? FACTORIES[name] : undefined;
}

/**
 * Parameter groups as the optimizer is given them: the Trainer's two (with and without weight decay), Adam-mini every
 * parameter in the model's order (as plain loops do), BAdam's inner optimizer biases apart.
 */
export function groupsOf(
  { name, block, oneGroup }: OptimizerSpec,
  trainable: readonly Tensor[],
): readonly (readonly Tensor[])[] {
  const isDecayed =
    name === "adam_mini" || oneGroup
      ? () => true
      : block === undefined
        ? ({ rank }: Tensor) => rank > 1
        : (parameter: Tensor) => parameter.name?.includes("bias") !== true;
  const groups = [trainable.filter(isDecayed), trainable.filter((parameter) => !isDecayed(parameter))];
  return groups.filter((group) => group.length > 0);
}

/** The factory of a run's optimizer with what is put around it, or undefined when it is not modelled. */
export function optimizerFactory({ name, stepsInBackward, block }: OptimizerSpec): OptimizerFactory | undefined {
  const own = findOptimizer(name);
  if (own === undefined) return undefined;
  if (block !== undefined) return blockwise(own);
  return stepsInBackward ? inBackward(own) : own;
}

export const OPTIMIZER_NAMES: readonly string[] = Object.keys(FACTORIES);
