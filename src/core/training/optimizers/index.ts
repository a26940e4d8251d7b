/** Optimizers by the names of their rows (`src/terms/optimizers.ts`): each is one of these ways of stepping, with its row's options. */

import {
  OPTIMIZER_ROWS,
  type OptimizerName,
  type OptimizerRow,
  optimizerRow,
  type Stepping,
  type Ways,
} from "../../../terms/optimizers";
import type { Tensor } from "../../engine/tensor";
import type { OptimizerSpec } from "../run";
import { adafactor } from "./adafactor";
import { adamMini } from "./adam-mini";
import { bitsandbytes } from "./bitsandbytes";
import { blockwise } from "./block";
import { inBackward } from "./in-backward";
import { lbfgs } from "./lbfgs";
import { lomo } from "./lomo";
import { lowRank } from "./low-rank";
import { anyPrecision, grokAdamW, stableAdamW } from "./single-tensor";
import { told } from "./told";
import { muonWithAdam, torchOptimizer } from "./torch-optim";
import { lowBit } from "./torchao";
import type { OptimizerFactory } from "./types";

export type { Optimizer, OptimizerArguments, OptimizerFactory } from "./types";

const WAYS: { readonly [Way in keyof Ways]: (options: Ways[Way]) => OptimizerFactory } = {
  torch: torchOptimizer,
  muon: () => muonWithAdam,
  bitsandbytes,
  told,
  torchao: lowBit,
  lomo,
  "low-rank": lowRank,
  adafactor: () => adafactor,
  "adam-mini": () => adamMini,
  "any-precision": () => anyPrecision,
  "stable-adamw": () => stableAdamW,
  grokadamw: () => grokAdamW,
  lbfgs: () => lbfgs,
};

function stepping<Way extends keyof Ways>(by: Stepping & { readonly way: Way }): OptimizerFactory {
  const way: (options: Ways[Way]) => OptimizerFactory = WAYS[by.way];
  return way(by as Ways[Way]);
}

/** The factory for a name of a row, or undefined when the optimizer is not modelled. */
export function findOptimizer(name: string): OptimizerFactory | undefined {
  if (!Object.hasOwn(OPTIMIZER_ROWS, name)) return undefined;
  const { by, layerwise }: OptimizerRow = OPTIMIZER_ROWS[name as OptimizerName];
  return layerwise ? inBackward(stepping(by)) : stepping(by);
}

/**
 * Parameter groups as the optimizer is given them: the Trainer's two (with and without weight decay), some every
 * parameter in the model's order, as plain loops do, BAdam's inner optimizer biases apart.
 */
export function groupsOf(
  { name, block, oneGroup }: OptimizerSpec,
  trainable: readonly Tensor[],
): readonly (readonly Tensor[])[] {
  const isDecayed =
    optimizerRow(name)?.oneGroup || oneGroup
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
