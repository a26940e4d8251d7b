/**
 * A run that takes more than its card has, in memory that moves by itself: `cudaMallocManaged` (PyTorch takes it through
 * `CUDAPluggableAllocator` alone), or the fallback to system memory of NVIDIA's driver for Windows. What lies beyond the card is
 * migrated over the host's link.
 *
 * At least that much goes and comes back once a step. At most every sweep over the memory finds nothing of it: the driver evicts what
 * lies on the card longest (nvidia-uvm, uvm_pmm_gpu.c: the chunk that was allocated first), which a forward, a backward and the optimizer
 * each need next; but no more than kernels move.
 */
import { deviceOf, usableBytes } from "../hardware/devices";
import type { TrainingRun } from "../training/run";
import { HOST_LINK } from "./rates";
import { type Measured, stepTime } from "./step-time";

/** Figures of one step of one card, least and most. */
export interface Migration {
  /** Beyond what the card has. */
  readonly overBytes: number;
  /** Over the host's link, both ways together. */
  readonly bytes: readonly [low: number, high: number];
  /** Times a step without migration. */
  readonly slower: readonly [low: number, high: number];
}

/** What would be migrated; null where the run fits, where memory does not move by itself, or where a step's time is not known. */
export function migrationOf(run: TrainingRun, measured: Measured): Migration | null {
  const device = run.device === null ? undefined : deviceOf(run.device);
  const time = stepTime(run, measured);
  // Before Pascal cards had no page faults; what is shared has no other side.
  if (device === undefined || time === null || device.vendor !== "nvidia" || device.unified) return null;
  const over = measured.usedPeakBytes - usableBytes(device);
  if (over <= 0) return null;
  const moved = time.demands.find(({ road }) => road === "memory")?.bytes ?? 0;
  const sweeps = 2 * Math.max(1, run.gradientAccumulationSteps) + 1;
  const least = 2 * over;
  const most = Math.max(least, Math.min(2 * measured.usedPeakBytes * sweeps, moved));
  const link = device.hostBandwidth;
  // At best both directions at once, at worst one after the other.
  const seconds = [least / 2 / (link * HOST_LINK[1]), most / (link * HOST_LINK[0])] as const;
  return {
    overBytes: over,
    bytes: [least, most],
    slower: [1 + seconds[0] / time.high, 1 + seconds[1] / time.low],
  };
}
