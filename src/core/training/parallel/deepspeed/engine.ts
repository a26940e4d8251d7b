/** What DeepSpeed's engine asks of the optimizer that it puts around the run's own. Source: deepspeed/runtime/engine.py. */
import type { DType } from "../../../engine/dtype";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import type { Optimizer } from "../../optimizers";
import type { DeepSpeedSpec } from "../../run";

/** Builds the run's own optimizer on groups of parameters. */
export type MakeOptimizer = (groups: readonly (readonly Tensor[])[]) => Optimizer;

export interface EngineOptions {
  readonly spec: DeepSpeedSpec;
  /** Data-parallel ranks. */
  readonly ranks: number;
  /** Bytes that the card has for the process; without a card, as many as it likes. */
  readonly roomBytes: number;
}

/** Dtype of the master copies, their gradients and states (`_configure_master_weights` of deepspeed/runtime/base_optimizer.py). */
export function masterOf({ masterDtype }: DeepSpeedSpec): DType {
  return masterDtype ?? "float32";
}

/** What gradients are reduced in (`communication_data_type` of the engine). */
export function communicatedIn({ communicationDtype, engineDtype }: DeepSpeedSpec): DType {
  return communicationDtype ?? engineDtype ?? "float32";
}

/** An optimizer of DeepSpeed's: its hooks on gradients, around micro-batches, and its step, which clips too. */
export interface ZeroEngine extends Optimizer {
  /** A parameter's gradient is complete for the pass. */
  gradient(torch: Torch, leaf: Tensor): void;
  /** A micro-batch begins; `last`: `is_gradient_accumulation_boundary`. */
  begin(torch: Torch, last: boolean): void;
  /** Its backward is over (`_backward_epilogue`). */
  end(torch: Torch): void;
}
