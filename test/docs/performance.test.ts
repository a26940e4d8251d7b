/** docs/performance.md (`npm run bench`) says which of its targets are not met. */
import { strict as assert } from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { missedTargets, rowsOf } from "../../bench/targets";

const PAGE = join(__dirname, "..", "..", "docs", "performance.md");

/** The page's table, and what stands below it up to the line that names the machine. */
function parts(page: string): { table: string; said: string; with: (said: string) => string } {
  const start = page.indexOf("| what |");
  const below = page.indexOf("\n\n", start) + 2;
  const machine = page.indexOf("\nNode ", start) + 1;
  return {
    table: page.slice(start, below),
    said: page.slice(below, machine).trim(),
    with: (said) => `${page.slice(0, below)}${said}\n\n${page.slice(machine)}`,
  };
}

describe("docs/performance.md", () => {
  it("names every target that its table misses", () => {
    const { table, with: withSaid } = parts(readFileSync(PAGE, "utf8"));
    const said = missedTargets(rowsOf(table));
    if (process.env["UPDATE_DOCS"] !== undefined) writeFileSync(PAGE, withSaid(said));
    assert.equal(parts(readFileSync(PAGE, "utf8")).said, said);
  });

  it("takes the sign of a target as it stands, and figures without one as met", () => {
    const row = (median: string, target: string) => ({ what: "it", median, target });
    assert.equal(missedTargets([row("8 ms", "≤ 8 ms"), row("9 ms", "")]), "Every target is met.");
    assert.match(
      missedTargets([row("8 ms", "< 8 ms"), row("1.49 MB", "≤ 1.5 MB")]),
      /Of 2 targets 1 .*\n\n- it: 8 ms, for < 8 ms$/,
    );
  });
});
