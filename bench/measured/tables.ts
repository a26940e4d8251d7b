/** Rows of other people's tables against the estimate. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ComparedPeak, comparePeaks, type Range } from "../published/compare";
import type { PublishedPeak } from "../published/types";
import { groupOf, type PeakRow } from "./peaks";

/** Where the tables are, beside the repository. */
export const FOLDER = join(__dirname, "..", "..", "..", "shared", "measured");

/** The rows of a folder's `measured-*.jsonl`, or null where they are not at hand. */
export function peakRows(folder = FOLDER): readonly PeakRow[] | null {
  if (!existsSync(folder)) return null;
  const names = readdirSync(folder).filter((name) => name.startsWith("measured") && name.endsWith(".jsonl"));
  const lines = names.flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"));
  return lines.map((line) => JSON.parse(line) as PeakRow);
}

/** The figure in a unit whose rounding is known. */
function figureOf({ reported, unit, peak_gib }: PeakRow): Pick<PublishedPeak, "figure" | "unit"> {
  if (/ambiguous/.test(unit)) return { figure: String(peak_gib), unit: "G" };
  if (/^GB/.test(unit)) return { figure: reported, unit: "GB" };
  if (/^MiB/.test(unit)) return { figure: reported, unit: "MiB" };
  if (/^bytes/.test(unit)) return { figure: reported, unit: "B" };
  return { figure: reported, unit: "GiB" };
}

/** The row with its estimate, per card; or why there is none. */
export async function compareRow(row: PeakRow): Promise<ComparedPeak | string> {
  const group = groupOf(row);
  if (group === undefined) return "source not written";
  const written = group.write(row);
  if (typeof written === "string") return written;
  const { documents, measure, cards = 1 } = written;
  try {
    const peak: PublishedPeak = { source: group.table, run: row.id, documents, measure, ...figureOf(row) };
    const [one] = await comparePeaks([peak]);
    if (one === undefined) return "no estimate";
    const published: Range = { low: one.published.low / cards, high: one.published.high / cards };
    return {
      ...one,
      published,
      error: one.estimate / ((published.low + published.high) / 2) - 1,
      inside: published.high >= one.band.low && published.low <= one.band.high,
    };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
