/**
 * Half-precision parameters with one float32 copy that the optimizer steps on, and one buffer that all gradients are
 * added into: Megatron's optimizer (sharded with `--use-distributed-optimizer`) and nanotron's accumulator (sharded in
 * ZeRO stage 1). Sources: megatron/core/distributed/{distributed_data_parallel,param_and_grad_buffer}.py,
 * megatron/core/optimizer/{optimizer,distrib_optimizer}.py, nanotron/optim/gradient_accumulator.py.
 */
import type { DType } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { MainParametersSpec } from "../run";
import { elements, ghost, NO_HOST, reserve, type Strategy } from "./strategy";

export function mainParameters(spec: MainParametersSpec, ranks: number, expertParallel: number): Strategy {
  const share = spec.sharded ? ranks : 1;
  // Experts are spread over the ranks already, and their states over the ranks that hold the same ones.
  const spread = (tensor: Tensor): number =>
    spec.sharded && /(?:^|\.)experts\./.test(tensor.name ?? "") ? expertParallel : 1;
  const states = (group: readonly Tensor[]): number =>
    group.reduce((sum, tensor) => sum + tensor.elements * spread(tensor), 0) / share;
  const main: DType = "float32";
  let partitions: Tensor[] = [];
  return {
    parameterDtype: spec.dtype,
    keepsAutocast: false,
    shardsParameters: false,
    host: NO_HOST,
    prepare(torch, parameters) {
      const trained = parameters.filter((parameter) => parameter.requiresGradFlag);
      reserve(torch, "main_grad", elements(trained), spec.gradientDtype, "gradients");
    },
    // `param.main_grad.add_(param.grad)`, and the gradient is let go.
    leafHook(leaf) {
      leaf.grad?.release();
      leaf.grad = null;
    },
    optimizerGroups(torch, groups) {
      partitions = groups.map((group) => {
        const partition = reserve(torch, "main_param", states(group), main, "optimizer");
        partition.requiresGradFlag = true;
        return partition;
      });
      return partitions.map((partition) => [partition]);
    },
    // `main_grad.float()` is the buffer itself when it is float32, a copy otherwise.
    beforeStep(torch) {
      for (const partition of partitions)
        partition.grad =
          spec.gradientDtype === main
            ? ghost(torch, partition.sizes, main)
            : reserve(torch, "main_grad_float", partition.elements, main, "gradients");
    },
    afterStep() {
      for (const partition of partitions) {
        partition.grad?.release();
        partition.grad = null;
      }
    },
  };
}
