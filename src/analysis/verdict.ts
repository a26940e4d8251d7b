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
  if (estimate.usedPeakBytes > usable) return "does-not-fit";
  return estimate.band.highBytes > usable ? "tight" : "fits";
}
