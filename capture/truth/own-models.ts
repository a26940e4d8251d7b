/**
 * Estimates beside what `own_models.py` measured: says each run's difference and the first block where the two part, and writes the table of
 * `docs/your-own-model.md`.
 *
 * usage: node --require ./scripts/typescript.cjs capture/truth/own-models.ts FOLDER [--page]: rows of models that FOLDER does not have stay as they are
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { readEvents } from "../../src/cli/python/events";
import { createNodeRuntime, uriOf } from "../../src/host/node";

interface Result {
  readonly repository: string;
  readonly call: string;
  /** A text where the model was not traced. */
  readonly traced: string | { readonly holds: readonly string[] };
  readonly runs: readonly {
    readonly sizes: Readonly<Record<string, number>>;
    readonly amp: boolean;
    readonly allocated: number | string;
  }[];
}

const ROOT = join(__dirname, "../..");
const PAGE = join(ROOT, "docs", "your-own-model.md");
const [MARK, END] = ["<!-- own models -->", "<!-- end of own models -->"];

/** What an estimate says of a script, and where it parts from PyTorch. */
async function estimateOf(folder: string, k: number): Promise<{ allocated?: number; said: string }> {
  const runtime = createNodeRuntime({ workspaceFolders: [folder], packageDirectory: __dirname, env: {} });
  const analysis = await createAnalyzer(runtime).analyse(uriOf(join(folder, `train-${k}.py`)), {});
  const [run] = analysis.runs;
  const allocated = run?.perDevice?.allocatedPeakBytes;
  const events = join(folder, `events-${k}.json`);
  const measured = existsSync(events) ? readEvents(readFileSync(events, "utf8")) : undefined;
  if (run === undefined || allocated === undefined)
    return { said: run?.findings.map(({ message }) => message).join(" ") ?? "no run" };
  const parting = measured && analysis.parting?.(run.id, measured.stream);
  const block = (one?: { bytes: number; operator: string; scope: string; place: string; phase: string } | null) =>
    one ? `${one.bytes} ${one.operator} ${one.scope} ${one.place} (${one.phase})` : "nothing";
  return {
    allocated,
    said: parting ? `${parting.kind}: PyTorch ${block(parting.measured)}, estimate ${block(parting.estimated)}` : "",
  };
}

/** The five runs in a word. */
function verdictOf(differences: readonly (number | undefined)[]): string {
  const known = differences.filter((one) => one !== undefined);
  if (known.length < differences.length || known.length === 0) return "no estimate";
  const exact = known.filter((one) => one === 0).length;
  if (exact === known.length) return "exact";
  const worst = known.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
  const percent = `${worst > 0 ? "+" : "−"}${(Math.abs(worst) * 100).toPrecision(2)} %`;
  return `${exact} of ${known.length} exact, worst ${percent}`;
}

interface Row {
  readonly repository: string;
  readonly name: string;
  readonly verdict: string;
}

/** Rows of a table that was written before. */
function rowsOf(table: string): Row[] {
  const lines = table.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| repository"));
  return lines.map((line) => {
    const [, repository = "", name = "", verdict = ""] = line.split("|").map((cell) => cell.trim());
    return { repository, name, verdict };
  });
}

async function main(folder: string, page: boolean): Promise<void> {
  const rows: Row[] = [];
  for (const name of readdirSync(folder).toSorted()) {
    const file = join(folder, name, "result.json");
    if (!existsSync(file)) continue;
    const { repository, call, traced, runs } = JSON.parse(readFileSync(file, "utf8")) as Result;
    const model = call.split("(")[0] ?? call;
    if (typeof traced === "string") {
      rows.push({ repository, name: model, verdict: "not traced" });
      console.log(`${name}: not traced: ${traced}`);
      continue;
    }
    const differences: (number | undefined)[] = [];
    for (const [k, { sizes, amp, allocated }] of runs.entries()) {
      if (typeof allocated === "string") {
        console.log(`${name} ${k}: PyTorch: ${allocated}`);
        continue;
      }
      const estimate = await estimateOf(join(folder, name), k);
      const difference = estimate.allocated === undefined ? undefined : (estimate.allocated - allocated) / allocated;
      differences.push(difference);
      if (difference !== 0)
        console.log(
          `${name} ${k} ${JSON.stringify(sizes)}${amp ? " amp" : ""}: ${allocated} ${estimate.allocated} ${((difference ?? 0) * 100).toFixed(3)} % ${estimate.said}`,
        );
    }
    const holds = traced.holds.filter((one) => !/^[A-Z] (==|%)/.test(one));
    rows.push({ repository, name: model, verdict: [verdictOf(differences), ...holds].join("; ") });
    console.log(`${name}: ${rows.at(-1)?.verdict}`);
  }
  const text = readFileSync(PAGE, "utf8");
  const [before, after] = [text.slice(0, text.indexOf(MARK) + MARK.length), text.slice(text.indexOf(END))];
  const key = ({ repository, name }: Row): string => `${repository} ${name}`;
  const made = new Set(rows.map(key));
  rows.push(...rowsOf(text.slice(before.length, text.indexOf(END))).filter((row) => !made.has(key(row))));
  rows.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  const exact = rows.filter(({ verdict }) => verdict.startsWith("exact")).length;
  const count = rows.filter(({ verdict }) => verdict !== "not traced").length;
  const repositories = new Set(rows.map(({ repository }) => repository)).size;
  const head = `Of ${rows.length} models of ${repositories} repositories ${count} are traced, and ${exact} are exact.`;
  console.log(head);
  if (!page) return;
  const table = rows.map((row) => `| ${row.repository} | ${row.name} | ${row.verdict} |`);
  writeFileSync(
    PAGE,
    `${before}\n${head}\n\n| repository | model | result |\n|---|---|---|\n${table.join("\n")}\n${after}`,
  );
}

void main(process.argv[2] ?? ".verify/own", process.argv.includes("--page"));
