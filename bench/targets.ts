/** Which figures of docs/performance.md miss their targets; pure. */

/** A row of the page's table, in the page's words. */
export interface Row {
  readonly what: string;
  /** With its unit: `14 ms`, `1.49 MB`. */
  readonly median: string;
  /** `≤ 8 ms`, `< 15 ms`, or nothing. */
  readonly target: string;
}

/** The rows of a table in Markdown whose columns are what, median, best, target. */
export function rowsOf(table: string): readonly Row[] {
  return table
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| what"))
    .map((line) => {
      const [, what = "", median = "", , target = ""] = line.split("|").map((cell) => cell.trim());
      return { what, median, target };
    });
}

/** Whether the median is what the target asks for; a figure without a target misses none. */
function isMet({ median, target }: Row): boolean {
  const [, sign, limit] = /^([≤<]) ([\d.]+)/.exec(target) ?? [];
  if (limit === undefined) return true;
  return sign === "≤" ? Number.parseFloat(median) <= Number(limit) : Number.parseFloat(median) < Number(limit);
}

/** The sentence below the table: a reader should not have to compare the columns. */
export function missedTargets(rows: readonly Row[]): string {
  const missed = rows.filter((row) => !isMet(row));
  if (missed.length === 0) return "Every target is met.";
  return [
    `Of ${rows.filter(({ target }) => target !== "").length} targets ${missed.length} are not met here, by the median:`,
    "",
    ...missed.map(({ what, median, target }) => `- ${what}: ${median}, for ${target}`),
  ].join("\n");
}
