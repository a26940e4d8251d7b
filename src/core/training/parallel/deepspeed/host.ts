/** Host memory of one rank under DeepSpeed's offload, in bytes. */
import { type DType, ELEMENT_BYTES } from "../../../engine/dtype";
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

/** What waits of an element of this rank's part: moments are `zeros_like` of the master, which pins nothing (ops/adam/cpu_adam.py). */
interface PerElement {
  readonly pinned: number;
  readonly pageable: number;
}

function tallied({ pinned, pageable }: PerElement, count: number, tally: HostTally, spec: DeepSpeedSpec): void {
  onHost(tally, pinned * count, "cpu", spec);
  tally.pageable += pageable * count;
}

function momentsOf(spec: DeepSpeedSpec): number {
  return 2 * ELEMENT_BYTES[spec.hostStatesDtype ?? "float32"];
}

function computed({ engineDtype }: DeepSpeedSpec): number {
  return ELEMENT_BYTES[engineDtype ?? "float32"];
}

/**
 * Stages 1 and 2 (stage_1_and_2.py): master, its gradient, a copy in the parameters' dtype that goes back to the device
 * (`param_buffer_of_bit16_for_cpu_offload_groups`), moments, and a buffer for the largest gradient.
 */
export function hostOfPartition(tally: HostTally, { spec, ranks }: EngineOptions, trained: readonly Tensor[]): void {
  if (spec.offloadOptimizer === "none" || spec.zeroStage === 0) return;
  const master = ELEMENT_BYTES[masterOf(spec)];
  const largest = trained.reduce((most, { elements: count }) => Math.max(most, count), 0);
  tallied({ pinned: 2 * master + computed(spec), pageable: momentsOf(spec) }, elements(trained) / ranks, tally, spec);
  onHost(tally, largest * computed(spec), "cpu", spec);
}

/** Gradients of several micro-batches are added up there, in the parameters' dtype (`accumulated_grads_in_cpu`). */
export function hostOfAccumulation(tally: HostTally, { spec, ranks }: EngineOptions, trained: readonly Tensor[]): void {
  if (spec.offloadOptimizer === "none" || spec.zeroStage === 0 || spec.masterDtype !== undefined) return;
  onHost(tally, (elements(trained) / ranks) * computed(spec), "cpu", spec);
}

/**
 * Stage 3 (stage3.py): gradients by sub-groups and as they are reduced (`grad_partitions_flat_buffer`), masters and moments. What
 * the optimizer has on NVMe goes there whole, but for reduced gradients.
 */
export function hostOfSubGroups(tally: HostTally, { spec, ranks }: EngineOptions, trained: readonly Tensor[]): void {
  const { offloadOptimizer: target, offloadRatio: ratio = 1 } = spec;
  if (target === "none") return;
  const master = ELEMENT_BYTES[masterOf(spec)];
  const own = elements(trained) / ranks;
  // OptimizerSwapper's are float32 and page-locked, whatever `pin_memory` says (swap_tensor/optimizer_utils.py, SwapBufferManager).
  if (target === "nvme")
    tally.pinned += (spec.nvmeBuffers ?? 0) * ELEMENT_BYTES.float32 * Math.min(own, spec.subGroupSize);
  const reduced = spec.gradAccumDtype === null ? computed(spec) : ELEMENT_BYTES[spec.gradAccumDtype];
  onHost(tally, reduced * own, "cpu", spec);
  if (target === "nvme") tally.nvme += (2 * master + momentsOf(spec)) * own;
  else tallied({ pinned: master, pageable: master + momentsOf(spec) }, own * ratio, tally, spec);
}

/** What parameters come through from NVMe, page-locked (swap_tensor/partitioned_param_swapper.py, `buffers`). */
export function hostOfParameterBuffers(
  tally: HostTally,
  { offloadParam, nvmeElements = 0 }: DeepSpeedSpec,
  dtype: DType,
): void {
  if (offloadParam === "nvme") tally.pinned += nvmeElements * ELEMENT_BYTES[dtype];
}
