/** Whether an estimate fits a device. */
import { deviceOf, usableBytes } from "../core/hardware/devices";
import type { Estimate } from "../core/report/estimate";
import type { ReportRun } from "../core/report/schema";
import type { DeviceSpec } from "../core/training/run";

export type Verdict = ReportRun["verdict"];

const usable = new Map<string, number>();

/** What a process can use of a device, in bytes; null without a device. Looked up once per device. */
export function usableOf(device: DeviceSpec | null): number | null {
  if (device === null) return null;
  const key = `${device.name} ${device.memoryBytes} ${device.occupiedBytes ?? 0}`;
  let bytes = usable.get(key);
  if (bytes === undefined) {
    bytes = Math.max(0, usableBytes(deviceOf(device)) - (device.occupiedBytes ?? 0));
    usable.set(key, bytes);
  }
  return bytes;
}

export function verdictOf(estimate: Estimate | undefined, usable: number | null): Verdict {
  if (estimate === undefined || usable === null) return "unknown";
  // A pool without room to grow gives back what it does not use before anything fails.
  if (estimate.usedPeakBytes > usable) return estimate.releases === undefined ? "does-not-fit" : "tight";
  return estimate.band.highBytes > usable ? "tight" : "fits";
}
