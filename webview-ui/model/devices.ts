/** Rows of the table of cards: whether the run fits each and how much is left. */
import type { ReportRun } from "../../src/core/report/schema";
import { difference } from "../../src/terms/sizes";
import { usableBytes } from "./bar";

export interface DeviceRow {
  readonly name: string;
  readonly memoryBytes: number;
  readonly verdict: "fits" | "tight" | "does-not-fit";
  /** Usable memory of the card less the peak; negative when it does not fit. */
  readonly headroomBytes: number;
  /** Peak over the card's usable memory, 0..; more than 1 does not fit. */
  readonly fill: number;
  readonly current: boolean;
}

export function devicesOf(run: ReportRun): readonly DeviceRow[] {
  const used = run.perDevice?.usedPeakBytes;
  if (used === undefined) return [];
  const cards = [...(run.fitsOn ?? [])];
  if (cards.length === 0) return [];
  const { name, memoryBytes } = run.devices;
  if (name !== null && memoryBytes !== null && cards.every((card) => card.name !== name)) {
    cards.push({
      name,
      memoryBytes,
      usableBytes: usableBytes(run) ?? memoryBytes,
      fits: run.verdict === "fits",
      ...(run.verdict === "unknown" ? {} : { verdict: run.verdict }),
    });
  }
  return cards
    .sort((a, b) => a.memoryBytes - b.memoryBytes)
    .map((card) => ({
      name: card.name,
      memoryBytes: card.memoryBytes,
      verdict: card.verdict ?? (card.fits ? "fits" : "does-not-fit"),
      headroomBytes: difference(card.usableBytes ?? card.memoryBytes, card.usedPeakBytes ?? used),
      fill: (card.usedPeakBytes ?? used) / Math.max(1, card.usableBytes ?? card.memoryBytes),
      current: card.name === run.devices.name,
    }));
}
