/** `docs/published-memory.md` (`npm run published`) holds every published figure, and what the estimator says of it. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ASSUMPTIONS, MECHANISMS, OUTCOMES, PEAKS, SOURCES } from "../../bench/published";
import { comparePeaks, rangeOf } from "../../bench/published/compare";
import { described, missOf } from "../../bench/published/page";

const text = readFileSync(join(__dirname, "..", "..", "docs", "published-memory.md"), "utf8");
const lines = text.split("\n");
const rowOf = (run: string): string => lines.find((line) => line.startsWith(`| ${run} |`)) ?? "";

describe("docs/published-memory.md", () => {
  it("has a row for every figure, each with a source", () => {
    for (const peak of PEAKS) {
      assert.ok(SOURCES[peak.source] !== undefined && text.includes(SOURCES[peak.source]?.url ?? ""), peak.source);
      assert.ok(rowOf(described(peak)).includes(`| ${peak.figure} `), peak.run);
    }
    for (const outcome of OUTCOMES)
      assert.ok(rowOf(outcome.run).includes(outcome.ran ? "| ran |" : "| out of memory |"));
    const runs = PEAKS.map(({ source, run }) => `${source} ${run}`);
    assert.equal(new Set(runs).size, runs.length);
  });

  it("says of every row outside why, and of no row what nobody wrote", () => {
    assert.ok(!text.includes("not explained") && !text.includes("undefined"));
    for (const { source, miss, assumed = [] } of [...PEAKS, ...OUTCOMES]) {
      const key = missOf({ source, miss });
      assert.ok(key === undefined || MECHANISMS[key] !== undefined, key);
      for (const one of assumed) assert.ok(ASSUMPTIONS[one] !== undefined, one);
    }
  });

  it("counts those inside", () => {
    const rows = PEAKS.map((peak) => rowOf(described(peak)));
    const inside = rows.filter((row) => !row.includes("outside")).length;
    assert.ok(text.includes(`${PEAKS.length} published peaks of real cards: ${inside} inside the stated band`));
  });

  it("shows what the estimator gives within 2 %: one run of each source (`npm run published` writes them all)", async () => {
    const sample = [...new Map(PEAKS.map((peak) => [peak.source, peak])).values()];
    for (const { row, estimate } of await comparePeaks(sample)) {
      const [, figure = "", , shown = ""] = rowOf(described(row)).split(" | ");
      assert.ok(figure.startsWith(row.figure), row.run);
      assert.ok(Math.abs((Number(shown) * 2 ** 30) / estimate - 1) < 0.02, `${row.run}: ${shown} GiB of ${estimate}`);
    }
  });

  it("takes a figure for everything that rounds to it", () => {
    assert.deepEqual(rangeOf("22292725760", "B"), { low: 22292725760, high: 22292725760 });
    assert.deepEqual(rangeOf("16.3", "GiB"), { low: 16.25 * 2 ** 30, high: 16.35 * 2 ** 30 });
    assert.deepEqual(rangeOf("42", "G"), { low: 41.5e9, high: 42.5 * 2 ** 30 });
  });
});
