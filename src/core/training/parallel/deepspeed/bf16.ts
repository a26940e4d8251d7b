/**
 * Stage 1 that accumulates bfloat16 gradients in float32: the gradients of the whole model stay in float32 for good, beside
 * those that backward makes. Source: deepspeed/runtime/bf16_optimizer.py (BF16_Optimizer); engine.py
 * (`_do_optimizer_sanity_check`, `_backward_epilogue`).
 */
import type { DType } from "../../../engine/dtype";
import { hostTensor, type Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import type { Optimizer } from "../../optimizers";
import { reserve } from "../strategy";
import { allReduce } from "./all-reduce";
import { dropGradient } from "./blocks";
import { communicatedIn, type EngineOptions, type MakeOptimizer, type ZeroEngine } from "./engine";
import { flatGroup } from "./layout";
import { flattenParameters } from "./parameters";

const MASTER: DType = "float32";

export class Bf16Optimizer implements ZeroEngine {
  private readonly optimizer: Optimizer;
  /** `fp32_groups_gradients_flat`. */
  private readonly gradients: readonly Tensor[];
  private boundary = true;

  constructor(
    torch: Torch,
    private readonly groups: readonly (readonly Tensor[])[],
    private readonly options: EngineOptions,
    make: MakeOptimizer,
  ) {
    const dtype = options.spec.engineDtype ?? MASTER;
    const accumulated = options.spec.gradAccumDtype ?? MASTER;
    const gradients: Tensor[] = [];
    const partitions = groups.map((group, k) => {
      const { aligned, partition } = flatGroup(k, group, options.ranks, false);
      flattenParameters(torch, group, aligned, dtype);
      const master = reserve(torch, "fp32_groups_flat_partition", partition, MASTER, "optimizer");
      gradients.push(reserve(torch, "fp32_groups_gradients_flat", aligned, accumulated, "gradients"));
      master.requiresGradFlag = true;
      // A part of the group's gradients, in the same dtype.
      master.grad = hostTensor(torch.ledger, master.sizes, MASTER);
      return master;
    });
    this.gradients = gradients;
    this.optimizer = make(partitions.map((partition) => [partition]));
  }

  gradient(): void {}

  begin(_: Torch, last: boolean): void {
    this.boundary = last;
  }

  /** `update_hp_grads`: each gradient is added in float32; its own stays, to be set to zero. */
  end(torch: Torch): void {
    for (const { grad } of this.groups.flat())
      if (grad !== null) reserve(torch, "_to_copy", grad.elements, MASTER, "temporaries").release();
    if (this.boundary) allReduce(torch, this.gradients, communicatedIn(this.options.spec));
  }

  step(torch: Torch): void {
    this.optimizer.step(torch);
    for (const parameter of this.groups.flat()) dropGradient(parameter);
  }
}
