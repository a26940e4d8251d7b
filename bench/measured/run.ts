/**
 * Tables of peaks measured on real cards against the estimate. The tables are not part of the repository.
 *
 * usage: npm run measured -- FOLDER [--rows] [--only TEXT]   (FOLDER has measured-*.jsonl and xmem-*.jsonl)
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { quantile } from "../quantile";
import { compareLoops, loopRows } from "./compare";
import { GROUPS, groupOf, type PeakRow } from "./peaks";
import { compareRow, peakRows } from "./tables";

const GIB = 2 ** 30;

interface Held {
  readonly id: string;
  readonly error: number;
  readonly inside: boolean;
  readonly red: boolean;
  readonly said: string;
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function summed(name: string, rows: readonly Held[]): string {
  const errors = rows.map(({ error }) => Math.abs(error));
  const inside = rows.filter((one) => one.inside).length;
  const red = rows.filter((one) => one.red).length;
  return [
    name.padEnd(38),
    String(rows.length).padStart(4),
    ...[0.5, 0.9, 0.95].map((part) => percent(quantile(errors, part)).padStart(8)),
    `${inside} (${percent(inside / rows.length)})`.padStart(15),
    String(red).padStart(5),
  ].join("  ");
}

async function heldOf(row: PeakRow): Promise<Held | string> {
  const one = await compareRow(row);
  if (typeof one === "string") return one;
  const gib = (bytes: number): string => (bytes / GIB).toFixed(2);
  const middle = (one.published.low + one.published.high) / 2;
  const said = `${gib(middle)} measured, ${gib(one.estimate)} (${gib(one.band.low)}–${gib(one.band.high)})`;
  return { id: row.id, error: one.error, inside: one.inside, red: one.report.verdict === "does-not-fit", said };
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { rows: { type: "boolean", default: false }, only: { type: "string", default: "" } },
  });
  const [folder] = positionals;
  if (folder === undefined) throw new Error("usage: npm run measured -- FOLDER [--rows] [--only TEXT]");
  const names = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  const all: Held[] = [];
  const left = new Map<string, number>();
  const print = (held: Held): void => {
    const mark = held.inside ? " " : "*";
    if (values.rows) console.log(`${mark} ${held.id.padEnd(44)} ${percent(held.error).padStart(9)}  ${held.said}`);
  };
  const rows = (peakRows(folder) ?? []).filter(({ id }) => id.includes(values.only));
  const tables: string[] = [];
  for (const group of [...GROUPS, undefined]) {
    const held: Held[] = [];
    for (const row of rows.filter((one) => groupOf(one) === group)) {
      const found = await heldOf(row);
      if (typeof found === "string") left.set(found, (left.get(found) ?? 0) + 1);
      else held.push(found);
    }
    held.forEach(print);
    if (group !== undefined && held.length > 0) tables.push(summed(group.name, held));
    all.push(...held);
  }
  for (const name of names.filter((name) => name.startsWith("xmem") && values.only === "")) {
    const loops = await compareLoops(loopRows(join(folder, name)) ?? []);
    const held = loops
      .filter(({ row }) => !row.real_oom)
      .map(({ row, error, inside, verdict }): Held => {
        const id = `${row.model} ${row.optimizer} ${row.batch} ${row.gpu}`;
        return {
          id,
          error,
          inside,
          red: verdict === "does-not-fit",
          said: `${(row.ground_bytes / GIB).toFixed(2)} measured`,
        };
      });
    held.forEach(print);
    tables.push(summed("plain loops (xMem)", held));
    all.push(...held);
  }
  console.log(`\n${"".padEnd(38)}  rows    median    90th      95th           inside  too large`);
  for (const line of tables) console.log(line);
  if (all.length > 0) console.log(summed("all", all));
  for (const [reason, count] of [...left].sort((a, b) => b[1] - a[1])) console.log(`${count} not written: ${reason}`);
}

if (require.main === module)
  main().catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
