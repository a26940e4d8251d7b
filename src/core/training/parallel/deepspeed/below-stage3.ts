/** DeepSpeed's engine in stages 0 to 2, where every rank has all parameters whole. Source: deepspeed/runtime/engine.py. */
import type { DType } from "../../../engine/dtype";
import type { Watcher } from "../../../engine/notes";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import type { Optimizer } from "../../optimizers";
import type { Strategy } from "../strategy";
import { Bf16Optimizer } from "./bf16";
import { communicatedIn, type EngineOptions, type MakeOptimizer, type ZeroEngine } from "./engine";
import { halfPrecision } from "./half-precision";
import { hostOfAccumulation, hostOfPartition } from "./host";
import { PlainEngine } from "./plain";
import { Stage12 } from "./stage12";

export class BelowStage3 implements Strategy {
  readonly parameterDtype: DType | null;
  /** `_cast_module_mixed_precision` casts parameters alone. */
  readonly keepsBuffers: boolean;
  readonly castsBuffers: boolean;
  readonly keepsAutocast = false;
  readonly shardsParameters = false;
  readonly host = { pinned: 0, pageable: 0, nvme: 0 };
  private engine: Pick<ZeroEngine, "begin" | "end"> | null = null;
  private trained: readonly Tensor[] = [];
  private countsAdded = false;
  watcher: Watcher | undefined;

  constructor(private readonly options: EngineOptions) {
    this.parameterDtype = options.spec.engineDtype;
    this.castsBuffers = options.spec.castsBuffers === true;
    this.keepsBuffers = !this.castsBuffers;
  }

  prepare(_: Torch, parameters: readonly Tensor[]): void {
    this.trained = parameters.filter((parameter) => parameter.requiresGradFlag);
    hostOfPartition(this.host, this.options, this.trained);
  }

  optimizerGroups(_: Torch, groups: readonly (readonly Tensor[])[]): readonly (readonly Tensor[])[] {
    return groups;
  }

  /** `_configure_optimizer`; null where DeepSpeed steps with the run's own. */
  optimizer(torch: Torch, groups: readonly (readonly Tensor[])[], make: MakeOptimizer): Optimizer | null {
    const engine = this.wrapped(torch, groups, make);
    this.engine = engine ?? new PlainEngine(this.trained, communicatedIn(this.options.spec));
    this.watcher = engine ?? undefined;
    return engine;
  }

  private wrapped(torch: Torch, groups: readonly (readonly Tensor[])[], make: MakeOptimizer): ZeroEngine | null {
    const { spec } = this.options;
    const { zeroStage, engineDtype, gradAccumDtype, offloadOptimizer } = spec;
    if (zeroStage === 0) return engineDtype === null ? null : halfPrecision(torch, groups, this.options, make);
    // `_do_optimizer_sanity_check`.
    const widened = engineDtype === "bfloat16" && gradAccumDtype === "float32";
    if (zeroStage === 1 && widened && offloadOptimizer === "none")
      return new Bf16Optimizer(torch, groups, this.options, make);
    return new Stage12(torch, groups, this.options, make);
  }

  beginMicroBatch(torch: Torch, last: boolean): void {
    if (!last && !this.countsAdded) hostOfAccumulation(this.host, this.options, this.trained);
    this.countsAdded ||= !last;
    this.engine?.begin(torch, last);
  }

  endMicroBatch(torch: Torch): void {
    this.engine?.end(torch);
  }
}
