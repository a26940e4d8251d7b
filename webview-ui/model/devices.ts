/** Rows of the table of cards: whether the run fits each and how much is left. */
import type { ReportRun } from "../../src/core/report/schema";

export interface DeviceRow {
  readonly name: string;
  readonly memoryBytes: number;
  readonly fits: boolean;
  /** Memory of the card less the peak; negative when it does not fit. */
  readonly headroomBytes: number;
  /** Peak over the card's memory, 0..; more than 1 does not fit. */
  readonly fill: number;
  readonly current: boolean;
}

export function devicesOf(run: ReportRun): readonly DeviceRow[] {
  const used = run.perDevice?.usedPeakBytes;
  if (used === undefined) return [];
  return [...(run.fitsOn ?? [])]
    .sort((a, b) => a.memoryBytes - b.memoryBytes)
    .map((card) => ({
      name: card.name,
      memoryBytes: card.memoryBytes,
      fits: card.fits,
      headroomBytes: card.memoryBytes - used,
      fill: used / Math.max(1, card.memoryBytes),
      current: card.name === run.devices.name,
    }));
}
