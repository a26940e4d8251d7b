/** Layout of the stacked bar: what fills the card at the peak, as shares of one common scale. */
import type { ComponentKind } from "../../src/core/report/estimate";
import type { ReportRun } from "../../src/core/report/schema";

/** Component kinds, and what the driver counts beyond live tensors. */
export type PartKind = ComponentKind | "cache" | "context";

export interface BarPart {
  readonly kind: PartKind;
  readonly bytes: number;
  /** Left edge and width, 0..1 of the scale. */
  readonly start: number;
  readonly size: number;
}

export interface BarLayout {
  readonly parts: readonly BarPart[];
  /** Bytes that the full width stands for. */
  readonly scaleBytes: number;
  readonly band: { readonly start: number; readonly size: number };
  /** Where the usable memory and the whole card end; null without a device. */
  readonly usableAt: number | null;
  readonly cardAt: number | null;
  readonly usedAt: number;
}

/** Parts of the peak in the order of the bar: live tensors by component, then cached blocks, then context and libraries. */
export function partsOf(run: ReportRun): readonly { readonly kind: PartKind; readonly bytes: number }[] {
  const device = run.perDevice;
  if (device === null) return [];
  const cache = device.reservedPeakBytes - device.allocatedPeakBytes;
  const context = device.usedPeakBytes - device.reservedPeakBytes;
  return [
    ...device.components.map(({ kind, bytes }) => ({ kind, bytes })),
    { kind: "cache" as const, bytes: cache },
    { kind: "context" as const, bytes: context },
  ].filter((part) => part.bytes > 0);
}

/** Memory a process can use of the device: stated, else the whole of it; null without a device. */
export function usableBytes(run: ReportRun): number | null {
  return run.devices.usableBytes ?? run.devices.memoryBytes;
}

/**
 * Lays the peak out on a scale that holds the card, the band and every peak to compare with, plus a little air.
 *
 * @param alsoBytes other totals that the scale must hold (the file's own run beside a what-if)
 */
export function layoutBar(run: ReportRun, alsoBytes: readonly number[] = []): BarLayout | null {
  const device = run.perDevice;
  if (device === null) return null;
  const card = run.devices.memoryBytes;
  const usable = usableBytes(run);
  const top = Math.max(device.usedPeakBytes, device.band.highBytes, card ?? 0, ...alsoBytes, 1);
  const scaleBytes = card !== null && top <= card ? card : top * 1.02;
  let start = 0;
  const parts = partsOf(run).map(({ kind, bytes }) => {
    const part = { kind, bytes, start, size: bytes / scaleBytes };
    start += part.size;
    return part;
  });
  const low = Math.max(0, device.band.lowBytes) / scaleBytes;
  return {
    parts,
    scaleBytes,
    band: { start: low, size: Math.max(0, device.band.highBytes / scaleBytes - low) },
    usableAt: usable === null ? null : usable / scaleBytes,
    cardAt: card === null ? null : card / scaleBytes,
    usedAt: device.usedPeakBytes / scaleBytes,
  };
}
