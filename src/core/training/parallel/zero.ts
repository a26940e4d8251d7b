/** DeepSpeed's engine on one rank, by its stage. Sources: deepspeed/runtime/engine.py, deepspeed/runtime/zero. */
import type { DeepSpeedSpec } from "../run";
import { BelowStage3 } from "./deepspeed/below-stage3";
import { Stage3 } from "./deepspeed/stage3/strategy";
import type { Strategy } from "./strategy";

/** @param roomBytes what the card has for the process */
export function zero(spec: DeepSpeedSpec, ranks: number, roomBytes: number): Strategy {
  const options = { spec, ranks, roomBytes };
  return spec.zeroStage < 3 ? new BelowStage3(options) : new Stage3(options);
}
