/**
 * Half-precision parameters without ZeRO: float32 copies that the run's optimizer steps on. Sources:
 * deepspeed/runtime/fp16/unfused_optimizer.py (FP16_UnfusedOptimizer: one copy per parameter, for any optimizer that is handed
 * in) and fp16/fused_optimizer.py (FP16_Optimizer: one per group, for DeepSpeed's own FusedAdam); engine.py
 * (`_configure_fp16_optimizer`).
 */
import type { DType } from "../../../engine/dtype";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import type { Optimizer } from "../../optimizers";
import type { DeepSpeedSpec } from "../../run";
import { elements, reserve } from "../strategy";
import { allReduce } from "./all-reduce";
import { dropGradient, normOf } from "./blocks";
import { communicatedIn, type EngineOptions, type MakeOptimizer, type ZeroEngine } from "./engine";
import { flattenParameters } from "./parameters";

const MASTER: DType = "float32";

/** What both kinds do around micro-batches. */
abstract class HalfPrecision implements ZeroEngine {
  private boundary = true;
  protected abstract readonly optimizer: Optimizer;

  constructor(
    protected readonly groups: readonly (readonly Tensor[])[],
    private readonly communicated: DType,
  ) {}

  gradient(): void {}

  begin(_: Torch, last: boolean): void {
    this.boundary = last;
  }

  end(torch: Torch): void {
    if (!this.boundary) return;
    const gradients = this.groups.flat().flatMap(({ grad }) => grad ?? []);
    allReduce(torch, gradients, this.communicated);
  }

  abstract step(torch: Torch): void;
}

class Unfused extends HalfPrecision {
  protected readonly optimizer: Optimizer;
  private readonly masters: readonly (readonly Tensor[])[];

  constructor(torch: Torch, groups: readonly (readonly Tensor[])[], spec: DeepSpeedSpec, make: MakeOptimizer) {
    super(groups, communicatedIn(spec));
    this.masters = groups.map((group) =>
      group.map((parameter) => {
        const master = masterLike(torch, parameter);
        master.requiresGradFlag = true;
        return master;
      }),
    );
    this.optimizer = make(this.masters);
    // `initialize_optimizer_states` steps once on zeros.
    for (const [parameter, master] of this.pairs()) master.grad = copyLike(torch, "zeros", parameter, MASTER);
    this.optimizer.step(torch);
    for (const [, master] of this.pairs()) dropGradient(master);
  }

  private pairs(): (readonly [parameter: Tensor, master: Tensor])[] {
    return this.groups.flatMap((group, g) => group.map((parameter, k) => [parameter, this.masters[g]![k]!] as const));
  }

  step(torch: Torch): void {
    this.groups.forEach((group, g) => {
      normOf(
        torch,
        group.flatMap(({ grad }) => grad?.retain() ?? []),
        MASTER,
      );
      group.forEach((parameter, k) => {
        this.masters[g]![k]!.grad = copyLike(torch, "_to_copy", parameter, MASTER);
      });
    });
    this.optimizer.step(torch);
    for (const [, master] of this.pairs()) dropGradient(master);
  }
}

class Fused extends HalfPrecision {
  protected readonly optimizer: Optimizer;
  private readonly masters: readonly Tensor[];

  constructor(torch: Torch, groups: readonly (readonly Tensor[])[], spec: DeepSpeedSpec, make: MakeOptimizer) {
    super(groups, communicatedIn(spec));
    this.masters = groups.map((group) => {
      flattenParameters(torch, group, elements(group), spec.engineDtype ?? MASTER);
      const master = reserve(torch, "fp32_groups_flat", elements(group), MASTER, "optimizer");
      master.requiresGradFlag = true;
      return master;
    });
    this.optimizer = make(this.masters.map((master) => [master]));
    for (const master of this.masters) master.grad = reserve(torch, "zeros", master.elements, MASTER, "gradients");
    this.optimizer.step(torch);
    for (const master of this.masters) dropGradient(master);
  }

  step(torch: Torch): void {
    this.groups.forEach((group, g) => {
      const wide = group.map((parameter) => copyLike(torch, "_to_copy", parameter, MASTER));
      this.masters[g]!.grad = reserve(torch, "cat", elements(group), MASTER, "gradients");
      for (const copy of wide) copy.release();
      for (const parameter of group) dropGradient(parameter);
    });
    this.optimizer.step(torch);
    for (const master of this.masters) dropGradient(master);
  }
}

function copyLike(torch: Torch, operator: string, parameter: Tensor, dtype: DType): Tensor {
  const { kind, scope } = torch;
  torch.kind = "gradients";
  torch.scope = "";
  const copy = torch.empty(operator, parameter.sizes, dtype);
  torch.kind = kind;
  torch.scope = scope;
  return copy;
}

function masterLike(torch: Torch, parameter: Tensor): Tensor {
  const { kind, scope } = torch;
  torch.kind = "optimizer";
  torch.scope = "";
  const copy = torch.empty("clone", parameter.sizes, MASTER);
  torch.kind = kind;
  torch.scope = scope;
  return copy;
}

export function halfPrecision(
  torch: Torch,
  groups: readonly (readonly Tensor[])[],
  { spec }: EngineOptions,
  make: MakeOptimizer,
): ZeroEngine {
  return spec.fusedOptimizer === true ? new Fused(torch, groups, spec, make) : new Unfused(torch, groups, spec, make);
}
