/** Host memory of one rank under DeepSpeed's offload, in bytes. */
import { ELEMENT_BYTES } from "../../../engine/dtype";
import type { Tensor } from "../../../engine/tensor";
import type { DeepSpeedSpec } from "../../run";
import { elements } from "../strategy";
import { type EngineOptions, masterOf } from "./engine";

/** Counted up as states are found to wait there. */
export interface HostTally {
  pinned: number;
  pageable: number;
  nvme: number;
}

/** Bytes that wait on `target`. */
export function onHost(tally: HostTally, bytes: number, target: "cpu" | "nvme", { pinMemory }: DeepSpeedSpec): void {
  if (target === "nvme") tally.nvme += bytes;
  else if (pinMemory) tally.pinned += bytes;
  else tally.pageable += bytes;
}

/** This rank's master copy, its gradients and two moments (stage_1_and_2.py, stage3.py: `offload_optimizer`). */
export function hostOfOptimizer(tally: HostTally, { spec, ranks }: EngineOptions, trained: readonly Tensor[]): void {
  if (spec.offloadOptimizer === "none") return;
  const states = 2 * ELEMENT_BYTES[masterOf(spec)] + 2 * ELEMENT_BYTES[spec.hostStatesDtype ?? "float32"];
  onHost(tally, (states * elements(trained)) / ranks, spec.offloadOptimizer, spec);
}
