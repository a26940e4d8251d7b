import type { DType } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";

/** An optimizer over parameter groups, as the Trainer builds them (with and without weight decay). */
export interface Optimizer {
  /** One `step()`: states appear on the first call unless the constructor made them. */
  step(torch: Torch): void;
  /** Optimizers that update in backward: a parameter's gradient is complete for this pass. */
  afterAccumulate?(leaf: Tensor, torch: Torch): void;
  /** … and the pass is over. */
  afterBackward?(torch: Torch): void;
}

/** Settings as strings, from `optim_args` and the trainer. */
export type OptimizerArguments = Readonly<Record<string, string>>;

export type OptimizerFactory = (
  torch: Torch,
  groups: readonly (readonly Tensor[])[],
  args: OptimizerArguments,
) => Optimizer;

/** A persistent state tensor like `parameter` (`zeros_like`), in `dtype` or the parameter's own. */
export function stateLike(
  torch: Torch,
  parameter: Tensor,
  dtype: DType = parameter.dtype,
  operator = "zeros_like",
): Tensor {
  return state(torch, operator, parameter.sizes, dtype);
}

/** A persistent state tensor of any shape. */
export function state(torch: Torch, operator: string, sizes: readonly number[], dtype: DType): Tensor {
  const { kind } = torch;
  torch.kind = "optimizer";
  const tensor = torch.empty(operator, sizes, dtype);
  torch.kind = kind;
  return tensor;
}

/**
 * States in the place of older ones of the same sizes. A pass that is repeated finds what it found the time before: there
 * the old ones stay and the new ones go, one block instead of another of its size.
 *
 * @returns those that stay
 */
export function replaceStates(torch: Torch, old: readonly Tensor[], made: readonly Tensor[]): readonly Tensor[] {
  const stays = torch.stepsInPass && old.length > 0 ? old : made;
  for (const tensor of stays === old ? made : old) tensor.release();
  return stays;
}

/** Parameters of a group that have a gradient now. */
export function withGradient(group: readonly Tensor[]): Tensor[] {
  return group.filter((parameter) => parameter.grad !== null);
}

/** `_group_tensors_by_device_and_dtype`: one list per parameter dtype, in order of first appearance. */
export function byDtype(parameters: readonly Tensor[]): Tensor[][] {
  const groups = new Map<DType, Tensor[]>();
  for (const parameter of parameters) {
    const group = groups.get(parameter.dtype);
    if (group === undefined) groups.set(parameter.dtype, [parameter]);
    else group.push(parameter);
  }
  return [...groups.values()];
}

/** One temporary per tensor of a list, all alive together (`torch._foreach_*` out of place). */
export function foreach(torch: Torch, operator: string, tensors: readonly Tensor[]): Tensor[] {
  return tensors.map((tensor) => torch.empty(operator, tensor.sizes, tensor.dtype, tensor.strides));
}

export function releaseAll(tensors: readonly Tensor[]): void {
  for (const tensor of tensors) tensor.release();
}
