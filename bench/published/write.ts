/**
 * Estimates against figures published by others; writes docs/published-memory.md.
 *
 * usage: npm run published
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { compareOutcomes, comparePeaks } from "./compare";
import { OUTCOMES, PEAKS } from "./index";
import { page, summary } from "./page";

async function main(): Promise<void> {
  const peaks = await comparePeaks(PEAKS);
  const outcomes = await compareOutcomes(OUTCOMES);
  writeFileSync(join(__dirname, "..", "..", "docs", "published-memory.md"), page(peaks, outcomes));
  console.log(summary(peaks, outcomes));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
