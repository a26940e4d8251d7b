/** Optimizers by the name the HF Trainer's `optim` uses. */
import { adafactor } from "./adafactor";
import { BITSANDBYTES_OPTIMIZERS } from "./bitsandbytes";
import { LOMO_OPTIMIZERS } from "./lomo";
import { LOW_RANK_OPTIMIZERS } from "./low-rank";
import { SCHEDULE_FREE_OPTIMIZERS } from "./schedule-free";
import { SINGLE_TENSOR_OPTIMIZERS } from "./single-tensor";
import { TORCH_OPTIMIZERS } from "./torch-optim";
import { TORCHAO_OPTIMIZERS } from "./torchao";
import type { OptimizerFactory } from "./types";

export type { Optimizer, OptimizerArguments, OptimizerFactory } from "./types";

const OPTIMIZERS: Readonly<Record<string, OptimizerFactory>> = {
  ...TORCH_OPTIMIZERS,
  ...BITSANDBYTES_OPTIMIZERS,
  ...SCHEDULE_FREE_OPTIMIZERS,
  ...SINGLE_TENSOR_OPTIMIZERS,
  ...TORCHAO_OPTIMIZERS,
  ...LOMO_OPTIMIZERS,
  ...LOW_RANK_OPTIMIZERS,
  adafactor,
};

/** The factory for a name, or undefined when the optimizer is not modelled. */
export function findOptimizer(name: string): OptimizerFactory | undefined {
  return Object.hasOwn(OPTIMIZERS, name) ? OPTIMIZERS[name] : undefined;
}

export const OPTIMIZER_NAMES: readonly string[] = Object.keys(OPTIMIZERS);
