/**
 * How often measured peaks lie in the band, beside how far the one number is from them; writes docs/coverage.md.
 *
 * usage: npm run coverage   (loops of other people's tables are compared where `../shared/measured` is; else their part of the page stays)
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ReportRun } from "../src/core/report/schema";
import { COVERAGE, type RunKind, UNEXPLAINED } from "../src/core/uncertainty/coverage";
import { type ComparedLoop, compareLoops, loopRows } from "./measured/compare";
import { type ComparedPeak, comparePeaks } from "./published/compare";
import { PEAKS } from "./published/index";
import { quantile } from "./quantile";

const PAGE = join(__dirname, "..", "docs", "coverage.md");
const START = "<!-- loops -->";
const END = "<!-- /loops -->";

interface Held {
  readonly error: number;
  readonly inside: boolean;
  readonly verdict: ReportRun["verdict"];
}

const KINDS: Readonly<Record<Exclude<RunKind, "plain-loop">, string>> = {
  "own-code": "the code that ran, in a trainer on one card",
  "framework-code": "a framework's own code of a later release, on one card",
  "stands-in": "other code of the same model stands in, on one card",
  ranks: "several ranks",
};

/** Assumptions of rows whose run a framework's own model code carried out. */
const FRAMEWORKS: readonly string[] = ["litgpt", "torchtune", "torchtitan", "llm-foundry"];

/** The kind of a published run, by what its source and its report leave open. */
function kindOf({ row, report }: ComparedPeak): keyof typeof KINDS {
  if (report.devices.count > 1) return "ranks";
  const assumed = row.assumed ?? [];
  if (assumed.includes("qwen1") || report.assumptions.some(({ id }) => id === "assume.own-code")) return "stands-in";
  return assumed.some((key) => FRAMEWORKS.includes(key)) ? "framework-code" : "own-code";
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** A line of a table: rows, accuracy of the number, rows inside the band, runs that ran and are called too large. */
export function line(name: string, rows: readonly Held[], claimed?: number): string {
  const errors = rows.map(({ error }) => Math.abs(error));
  const inside = rows.filter((one) => one.inside).length;
  const red = rows.filter(({ verdict }) => verdict === "does-not-fit").length;
  const cells = [
    name,
    rows.length,
    percent(quantile(errors, 0.5)),
    percent(quantile(errors, 0.95)),
    `${inside} (${percent(inside / rows.length)})`,
    ...(claimed === undefined ? [] : [percent(claimed)]),
    red,
  ];
  return `| ${cells.join(" | ")} |`;
}

interface Kinded extends ComparedPeak {
  readonly kind: keyof typeof KINDS;
}

/** How far a figure lies outside the band of the rules alone, down and up, as shares of the peak; below zero: so far inside. */
function needs({ band, published, report, kind }: Kinded): readonly [down: number, up: number] {
  const used = report.perDevice?.usedPeakBytes ?? 1;
  const [down, up] = UNEXPLAINED[kind];
  return [(band.low - published.high) / used + down, (published.low - band.high) / used + up];
}

/** Figures inside a band whose room is what the other tables' figures of the kind need, but for the last of twenty. */
export function heldOut(peaks: readonly Kinded[]): number {
  return peaks.filter((one) => {
    const others = peaks.filter(({ row, kind }) => kind === one.kind && row.source !== one.row.source).map(needs);
    return needs(one).every((need, side) => {
      const room =
        others.length === 0
          ? 0
          : quantile(
              others.map((sides) => sides[side]!),
              0.95,
            );
      return need <= Math.max(0, room);
    });
  }).length;
}

function loopsPart(loops: readonly ComparedLoop[]): string {
  const ran = loops.filter(({ row }) => !row.real_oom);
  const models = [...new Set(ran.map(({ row }) => row.model))].sort();
  const stopped = loops.filter(({ row }) => row.real_oom);
  const red = stopped.filter(({ verdict }) => verdict === "does-not-fit").length;
  return [
    `Claimed: ${percent(COVERAGE["plain-loop"])}.`,
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
  ].join("\n");
}

/** What the page has between its marks, as it is: where the rows are not at hand. */
function kept(): string {
  const text = readFileSync(PAGE, "utf8");
  return text.slice(text.indexOf(START) + START.length, text.indexOf(END)).trim();
}

async function main(): Promise<void> {
  const peaks = (await comparePeaks(PEAKS)).map((one) => ({ ...one, verdict: one.report.verdict, kind: kindOf(one) }));
  const rows = loopRows();
  const loops = rows === null ? null : await compareLoops(rows);
  if (loops === null) console.log("../shared/measured is not there: the loops' part of the page stays as it is");
  const text = `# How often the band holds

Written by \`npm run coverage\`; do not edit. The report's \`coverage\` is what is counted here, rounded down, for each kind of run by
itself. Of plain loops 0.99 is claimed, though all lie inside: there are no more of them. Beyond what its rules say, a band of published
kinds has room for what none explains, 5 or 6 % of the peak, up to 12 % above it on several ranks: as much as these figures need
(\`core/uncertainty/coverage.ts\`), so that their count is no proof for others. A figure lies inside where it, as wide as its rounding,
meets the band of what was measured. *Called too large* counts runs that ran and whose verdict is “does not fit”.

## Published figures

Rows, sources and the reason of every figure outside: [published-memory.md](published-memory.md) (\`bench/published\`).

| whose code | figures | median error | 95th percentile | inside the band | claimed | called too large |
|---|---|---|---|---|---|---|
${(Object.keys(KINDS) as (keyof typeof KINDS)[])
  .map((kind) =>
    line(
      KINDS[kind],
      peaks.filter((one) => one.kind === kind),
      COVERAGE[kind],
    ),
  )
  .join("\n")}

The same with the room sized on other figures: each table's figures against bands whose room is what the *other* tables of the kind need, but for
the last of twenty (none, where there is no other table). What a band holds of runs that nobody has published is nearer to this:

| whose code | figures | inside |
|---|---|---|
${(Object.keys(KINDS) as (keyof typeof KINDS)[])
  .map((kind) => {
    const own = peaks.filter((one) => one.kind === kind);
    const inside = heldOut(own);
    return `| ${KINDS[kind]}, held out | ${own.length} | ${inside} (${percent(inside / own.length)}) |`;
  })
  .join("\n")}
| all, held out | ${peaks.length} | ${heldOut(peaks)} (${percent(heldOut(peaks) / peaks.length)}) |

## Plain loops

xMem's authors measured loops of their own on RTX 3060, 4060, 4070 Ti and A100: NVML's peak over what it showed when the context was there
(models of torchvision on pictures of 86 × 86, language models on lines of WikiText; torch 2.6 and transformers 4.51.3, some torch 2.3). The
table is not ours to give; each row is made into the script that it describes (\`bench/measured/loops.ts\`), with the pins. Where a row does not
say when gradients are cleared, the loop had one of two defaults: the error is that of the first, and a row is outside where both bands miss it.

${START}
${loops === null ? kept() : loopsPart(loops)}
${END}

## What moves them

- *Workspaces of cuDNN* are blocks of the pool for a moment. Small networks below a few hundred pictures reserve up to 18 % more for them, and none beyond
  (MnasNet: 323 pictures took more than 377): which kernel runs is decided by cuDNN's heuristics on the card. The number has none, the band has one
  for every convolution that rearranges its tensors (\`core/uncertainty/kernels.ts\`).
- *When gradients are cleared*: rows of language models that do not say it agree to 20 MiB with a loop that clears them first (a third of them
  would be 4 to 13 % over with one that clears them before backward), so that is what is compared.
- *Lengths*: lines of text are shorter than the limit in some of the four steps that were run, and the pool keeps odd segments; distilgpt2 with
  10 texts took 3014 MiB on one card and 3456 on the other.
- *Loading before sharding*: the run of several ranks that lies outside is of a script that puts the whole model onto every card first, as are
  those that need most of the room above.
- *Code that was not captured*: Qwen 1's own, and plugins that replace a loss. Adapters on Qwen 1 under ms-swift 2 took 30 to 40 % more than is said, which nothing
  explains: about as much as without checkpointing, which that table says was on.
`;
  writeFileSync(PAGE, text);
  for (const row of text.split("\n")) if (row.startsWith("| ")) console.log(row);
}

if (require.main === module)
  main().catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
