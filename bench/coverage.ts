/**
 * How often measured peaks lie in the band, beside how far the one number is from them; writes docs/coverage.md, and what the report claims
 * (`src/core/uncertainty/claims.json`).
 *
 * usage: npm run coverage   (other people's tables are compared where `../shared/measured` is; else their parts and the claims stay)
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ReportRun } from "../src/core/report/schema";
import { CLAIMS, type RunKind } from "../src/core/uncertainty/coverage";
import { claimOf, heldOut, type Need, roomOf } from "./held-out";
import { type ComparedLoop, compareLoops, loopRows } from "./measured/compare";
import { farLoops, farTables } from "./measured/misses";
import { GROUPS } from "./measured/peaks";
import { compareRow, peakRows } from "./measured/tables";
import { type ComparedPeak, comparePeaks } from "./published/compare";
import { PEAKS } from "./published/index";
import { quantile } from "./quantile";

const PAGE = join(__dirname, "..", "docs", "coverage.md");
const CLAIMED = join(__dirname, "..", "src", "core", "uncertainty", "claims.json");

interface Held {
  readonly error: number;
  readonly inside: boolean;
  readonly verdict: ReportRun["verdict"];
}

type TableKind = Exclude<RunKind, "plain-loop">;

const KINDS: Readonly<Record<TableKind, string>> = {
  "own-code": "the code that ran, in a trainer on one card",
  "framework-code": "a framework's own code of a later release, on one card",
  "stands-in": "other code of the same model stands in, on one card",
  ranks: "several ranks",
};

/** Assumptions of rows whose run a framework's own model code carried out. */
const FRAMEWORKS: readonly string[] = ["litgpt", "torchtune", "torchtitan", "llm-foundry"];

/** The kind of a published run, by what its source and its report leave open. */
function kindOf({ row, report }: ComparedPeak): TableKind {
  if (report.devices.count > 1) return "ranks";
  const assumed = row.assumed ?? [];
  if (assumed.includes("qwen1") || report.assumptions.some(({ id }) => id === "assume.own-code")) return "stands-in";
  return assumed.some((key) => FRAMEWORKS.includes(key)) ? "framework-code" : "own-code";
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** A line of a table: rows, accuracy of the number, rows inside the band, runs that ran and are called too large. */
export function line(name: string, rows: readonly Held[]): string {
  const errors = rows.map(({ error }) => Math.abs(error));
  const inside = rows.filter((one) => one.inside).length;
  const red = rows.filter(({ verdict }) => verdict === "does-not-fit").length;
  const cells = [
    name,
    rows.length,
    percent(quantile(errors, 0.5)),
    percent(quantile(errors, 0.95)),
    `${inside} (${percent(inside / rows.length)})`,
    red,
  ];
  return `| ${cells.join(" | ")} |`;
}

interface Kinded extends ComparedPeak, Need {
  readonly kind: TableKind;
  readonly verdict: ReportRun["verdict"];
}

/** A figure with how far it lies outside the band of the rules alone, down and up, as shares of the peak; below zero: so far inside. */
function kinded(one: ComparedPeak, kind: TableKind): Kinded {
  const { band, published, report, row } = one;
  const used = report.perDevice?.usedPeakBytes ?? 1;
  const room = CLAIMS[kind];
  return {
    ...{ ...one, kind, table: row.source, verdict: report.verdict },
    down: (band.low - published.high) / used + room.down,
    up: (published.low - band.high) / used + room.up,
  };
}

/** Whether a row of the tables at hand is one that the published page has, too. */
function isSame(one: Kinded, other: Kinded): boolean {
  const meet = one.published.low <= other.published.high && other.published.low <= one.published.high;
  return one.table === other.table && meet && Math.abs(one.estimate / other.estimate - 1) < 0.005;
}

/** Figures of the tables at hand that are not on the published page; null without the tables. */
async function furtherPeaks(published: readonly Kinded[]): Promise<readonly Kinded[] | null> {
  const rows = peakRows();
  if (rows === null) return null;
  const further: Kinded[] = [];
  for (const row of rows) {
    const one = await compareRow(row);
    if (typeof one === "string") continue;
    const code = GROUPS.find(({ table }) => table === one.row.source)?.code;
    const found = kinded(one, one.report.devices.count > 1 ? "ranks" : (code ?? "own-code"));
    if (!published.some((other) => isSame(found, other))) further.push(found);
  }
  return further;
}

const kindsOf = Object.keys(KINDS) as TableKind[];

/** What each kind may claim, and the room that its band needs for it. */
export function claimsOf(
  peaks: readonly Need[],
  loops: readonly Pick<Held, "inside">[],
): Readonly<Record<RunKind, { claimed: number; down: number; up: number }>> {
  const held = heldOut(peaks);
  const claim = (kind: TableKind): { claimed: number; down: number; up: number } => {
    const count = (of: readonly Need[]): number => of.filter((one) => one.kind === kind).length;
    const [down, up] = roomOf(kind, peaks).map((room) => Math.ceil(100 * room) / 100) as [number, number];
    return { claimed: claimOf(count(held), count(peaks)), down, up };
  };
  const inside = loops.filter((one) => one.inside).length;
  return {
    "plain-loop": { claimed: claimOf(inside, loops.length), down: 0, up: 0 },
    "own-code": claim("own-code"),
    "framework-code": claim("framework-code"),
    "stands-in": claim("stands-in"),
    ranks: claim("ranks"),
  };
}

/** How wide a band would have to be for all of them, and why it is not. */
function outsideOf(peaks: readonly Kinded[], held: readonly Kinded[]): string {
  const inside = new Set(held);
  const need = Math.max(...peaks.filter((one) => !inside.has(one)).map(({ down, up }) => Math.max(down, up)));
  return [
    `Of these no kind claims 99 %: what lies outside when held out lies up to ${percent(need)} outside the band of the rules alone; with room for`,
    "all of it more runs would be called tight.",
  ].join("\n");
}

function heldOutPart(
  peaks: readonly Kinded[],
  further: readonly Kinded[],
  claims: ReturnType<typeof claimsOf>,
): string {
  const held = heldOut(peaks);
  const of = (kind: TableKind): string => {
    const own = peaks.filter((one) => one.kind === kind);
    const inside = held.filter((one) => one.kind === kind).length;
    const { claimed, down, up } = claims[kind];
    const tables = new Set(own.map(({ table }) => table)).size;
    const room = `${Math.round(100 * down)} % below, ${Math.round(100 * up)} % above`;
    return `| ${KINDS[kind]} | ${own.length} of ${tables} | ${inside} (${percent(inside / own.length)}) | ${percent(claimed)} | ${room} |`;
  };
  return [
    "| whose code | figures of tables | inside, held out | claimed | room |",
    "|---|---|---|---|---|",
    ...kindsOf.map(of),
    `| held out, all | ${peaks.length} | ${held.length} (${percent(held.length / peaks.length)}) | | |`,
    "",
    ...farTables(further),
    "",
    outsideOf(peaks, held),
  ].join("\n");
}

function loopsPart(loops: readonly ComparedLoop[]): string {
  const ran = loops.filter(({ row }) => !row.real_oom);
  const models = [...new Set(ran.map(({ row }) => row.model))].sort();
  const stopped = loops.filter(({ row }) => row.real_oom);
  const red = stopped.filter(({ verdict }) => verdict === "does-not-fit").length;
  return [
    `Claimed: ${percent(CLAIMS["plain-loop"].claimed)}.`,
    "",
    "| model | runs | median error | 95th percentile | inside the band | called too large |",
    "|---|---|---|---|---|---|",
    ...models.map((model) =>
      line(
        model,
        ran.filter(({ row }) => row.model === model),
      ),
    ),
    line("all", ran),
    "",
    `Of ${stopped.length} runs that went out of memory, ${red} are called too large.`,
    "",
    ...farLoops(loops),
  ].join("\n");
}

/** A part of the page that needs tables which are not in the repository: as it stands there where they are not at hand. */
function part(name: "held-out" | "loops", made: string | null): string {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const page = made === null ? readFileSync(PAGE, "utf8") : "";
  const text = made ?? page.slice(page.indexOf(start) + start.length, page.indexOf(end)).trim();
  return `${start}\n${text}\n${end}`;
}

async function main(): Promise<void> {
  const peaks = (await comparePeaks(PEAKS)).map((one) => kinded(one, kindOf(one)));
  const further = await furtherPeaks(peaks);
  const rows = loopRows();
  const loops = rows === null ? null : await compareLoops(rows);
  const every = further === null ? null : [...peaks, ...further];
  const ran = loops?.filter(({ row }) => !row.real_oom);
  const claims = every === null || ran === undefined ? null : claimsOf(every, ran);
  // What the report will say once these claims stand in it.
  const room = claims ?? CLAIMS;
  const shown = peaks.map((one) => {
    const { down, up } = room[one.kind];
    return { ...one, inside: one.down <= down && one.up <= up };
  });
  if (claims === null)
    console.log("../shared/measured is not there: its parts of the page and the claims stay as they are");
  else writeFileSync(CLAIMED, `${JSON.stringify(claims, null, 2)}\n`);
  const text = `# How often the band holds

Written by \`npm run coverage\`; do not edit. The report's \`coverage\` is what was *held out*: each table's figures are counted against bands
whose room was sized on the other tables alone, and the share that lies inside, rounded down, is claimed for that kind of run. The command
writes it where the report reads it (\`core/uncertainty/claims.json\`). A figure lies inside where it, as wide as its rounding, meets the band
of what was measured. Held out is the room alone: what rules count was mended, from the libraries' sources, with these figures in view; a kind
of run that has few tables rests on those. *Called too large* counts runs that ran and whose verdict is “does not fit”, which only a low end
above the card says.

## Held out

The published figures below and those of tables that are not ours to give, each once. Beyond what its rules say, a band has room for
what none explains: as much as figures needed, but for one in a hundred on each side; below the number all kinds together, above it one card
and several ranks apart. Not counted are figures whose script nobody published, and those of trainers that no config of today asks for.

${part("held-out", every === null || further === null || claims === null ? null : heldOutPart(every, further, claims))}

## Published figures

Rows, sources and the reason of every figure outside: [published-memory.md](published-memory.md) (\`bench/published\`). These bands have the
room that these figures helped to size.

| whose code | figures | median error | 95th percentile | inside the band | called too large |
|---|---|---|---|---|---|
${kindsOf
  .map((kind) =>
    line(
      KINDS[kind],
      shown.filter((one) => one.kind === kind),
    ),
  )
  .join("\n")}

## Plain loops

xMem's authors measured loops of their own on RTX 3060, 4060, 4070 Ti and A100: NVML's peak over what it showed when the context was there
(models of torchvision on pictures of 86 × 86, language models on lines of WikiText; torch 2.6 and transformers 4.51.3, some torch 2.3). The
table is not ours to give; each row is made into the script that it describes (\`bench/measured/loops.ts\`), with the pins. Where a row does not
say when gradients are cleared, the loop had one of two defaults: the error is that of the first, and a row is outside where both bands miss it.
Their band is that of the rules alone: no room is sized on them.

${part("loops", loops === null ? null : loopsPart(loops))}

## What moves them

- *Workspaces of cuDNN* are blocks of the pool for a moment. Small networks below a few hundred pictures reserve up to 18 % more for them, and none beyond
  (MnasNet: 323 pictures took more than 377): which kernel runs is decided by cuDNN's heuristics on the card. The number has none, the band has one
  for every convolution that rearranges its tensors (\`core/uncertainty/kernels.ts\`).
- *When gradients are cleared*: rows of language models that do not say it agree to 20 MiB with a loop that clears them first (a third of them
  would be 4 to 13 % over with one that clears them before backward), so that is what is compared.
- *Lengths*: lines of text are shorter than the limit in some of the four steps that were run, and the pool keeps odd segments; distilgpt2 with
  10 texts took 3014 MiB on one card and 3456 on the other.
- *What loading leaves in the pool*: DeepSpeed flattens a model on the card where there is room (0.18.7 and later), and the segments of its
  parameters stay, 6 GiB of 80 in Llama-3.1-8B under ZeRO-2; a model that is loaded before ZeRO-3 splits it is a floor. Scripts tell both.
- *Code that was not captured*: Qwen 1's own. Where no autocast runs (DeepSpeed with half precision) its loss never sees float32, and its logits
  cost half of what is counted: Q-LoRA of 1.8B grows by 1.2 MiB a token, four times the logits in float16.
- *A trainer's second loss*: ms-swift 2 with \`use_loss_scale\` counts one in float32 beside the model's; its table of tuners lies 28 to 38 %
  above the estimate of what today's configs can say, and is not counted.
`;
  writeFileSync(PAGE, text);
  for (const row of text.split("\n")) if (row.startsWith("| ")) console.log(row);
}

if (require.main === module)
  main().catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
