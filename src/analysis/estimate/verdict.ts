/** Whether an estimate fits a device. */
import type { Peak } from "../../core/estimate";
import { deviceOf, usableBytes } from "../../core/hardware/devices";
import type { Estimate } from "../../core/report/estimate";
import type { ReportRun } from "../../core/report/schema";
import type { DeviceSpec } from "../../core/training/run";

export type Verdict = ReportRun["verdict"];

/** Devices that are remembered: a file may state a new one with every edit. */
const MOST_REMEMBERED = 200;

const usable = new Map<string, number>();

/** What a process can use of a device, in bytes; null without a device. Looked up once per device. */
export function usableOf(device: DeviceSpec | null): number | null {
  if (device === null) return null;
  const key = `${device.name} ${device.memoryBytes} ${device.occupiedBytes ?? 0}`;
  let bytes = usable.get(key);
  if (bytes === undefined) {
    bytes = Math.max(0, usableBytes(deviceOf(device)) - (device.occupiedBytes ?? 0));
    if (usable.size >= MOST_REMEMBERED) usable.clear();
    usable.set(key, bytes);
  }
  return bytes;
}

/** Red is for runs of which even the low end of the band does not fit: the one number may be wrong by as much as the band says. */
export function verdictOf(estimate: Peak | undefined, usable: number | null): Verdict {
  if (estimate === undefined || usable === null) return "unknown";
  const { band, usedPeakBytes } = estimate;
  if (band.lowBytes > usable) return "does-not-fit";
  return Math.max(band.highBytes, usedPeakBytes) > usable ? "tight" : "fits";
}

/** Whether the one number is more than the device has, whatever the band says. */
export function needsMore({
  estimate,
  usable,
}: {
  readonly estimate: Estimate | undefined;
  readonly usable: number | null;
}): boolean {
  return estimate !== undefined && usable !== null && estimate.usedPeakBytes > usable;
}
