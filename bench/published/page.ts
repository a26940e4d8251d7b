/** `docs/published-memory.md`: every published figure beside the estimate. */
import { quantile } from "../quantile";
import type { ComparedOutcome, ComparedPeak } from "./compare";
import { ASSUMPTIONS, MECHANISMS, SOURCES } from "./index";
import type { PublishedRun } from "./types";

const GIB = 2 ** 30;

function gib(bytes: number): string {
  return (bytes / GIB).toFixed(2);
}

function percent(value: number): string {
  return `${value < 0 ? "−" : "+"}${(100 * Math.abs(value)).toFixed(1)} %`;
}

const MEASURES = { allocated: "allocated", reserved: "reserved", device: "driver", unsaid: "not said" } as const;

/** The run, linked where its figure has a file of its own. */
export function described({ source, at, run }: Pick<PublishedRun, "source" | "at" | "run">): string {
  // GitHub shows folders under `tree`, files under `blob`.
  return at === undefined ? run : `[${run}](${SOURCES[source]?.url.replace("/tree/", "/blob/")}/${at})`;
}

/** Key of the mechanism behind a row that differs. */
export function missOf({ source, miss }: Pick<PublishedRun, "source" | "miss">): string | undefined {
  return miss ?? SOURCES[source]?.miss;
}

/** Errors above this are explained where they lie inside the band, too. */
const FAR = 0.15;

/** Its number on the page. */
function note(row: PublishedRun, notes: readonly string[]): string {
  const key = missOf(row);
  return key === undefined ? "not explained" : String(notes.indexOf(key) + 1);
}

function peakRow({ row, estimate, band, error, inside }: ComparedPeak, notes: readonly string[]): string {
  const cells = [
    described(row),
    `${row.figure} ${row.unit === "B" ? "bytes" : row.unit}`,
    MEASURES[row.measure],
    gib(estimate),
    `${gib(band.low)}–${gib(band.high)}`,
    percent(error),
    inside ? (Math.abs(error) > FAR ? note(row, notes) : "") : `outside: ${note(row, notes)}`,
  ];
  return `| ${cells.join(" | ")} |`;
}

interface Row {
  readonly row: PublishedRun;
}

function sourcesOf(rows: readonly Row[]): readonly string[] {
  return [...new Set(rows.map(({ row }) => row.source))];
}

function ofSource<T extends Row>(rows: readonly T[], source: string): readonly T[] {
  return rows.filter(({ row }) => row.source === source);
}

/** Link, what was measured, what was assumed. */
function aboutOf(source: string, rows: readonly Row[]): string {
  const about = SOURCES[source];
  const assumed = [...new Set(rows.flatMap(({ row }) => row.assumed ?? []))].map((key) => ASSUMPTIONS[key]);
  return `[Source](${about?.url}): ${about?.measured}. ${assumed.length > 0 ? `Assumed: ${assumed.join("; ")}. ` : ""}`;
}

function section(source: string, rows: readonly ComparedPeak[], notes: readonly string[]): string {
  const inside = rows.filter((one) => one.inside).length;
  return [
    `## ${SOURCES[source]?.title}`,
    "",
    `${aboutOf(source, rows)}${inside} of ${rows.length} inside the band.`,
    "",
    "| run | published | which | estimate, GiB | band, GiB | error | |",
    "|---|---|---|---|---|---|---|",
    ...rows.map((row) => peakRow(row, notes)),
  ].join("\n");
}

/** What the page and the README say in one line. */
export function summary(peaks: readonly ComparedPeak[], outcomes: readonly ComparedOutcome[]): string {
  const errors = peaks.map(({ error }) => Math.abs(error));
  const inside = peaks.filter((one) => one.inside).length;
  const agree = outcomes.filter((one) => one.agrees).length;
  const ran = outcomes.filter(({ row }) => row.ran);
  const red = ran.filter(({ report }) => report.verdict === "does-not-fit").length;
  const share = (part: number): string => `${(100 * quantile(errors, part)).toFixed(1)} %`;
  return [
    `${peaks.length} published peaks of real cards: ${inside} inside the stated band; error of the one number: median`,
    `${share(0.5)}, 90th percentile ${share(0.9)}. ${agree} of ${outcomes.length} published “ran” and “out of memory” agree with the verdict;`,
    `${red} of ${ran.length} that ran are said not to fit.`,
  ].join("\n");
}

function outcomeRow({ row, report, agrees }: ComparedOutcome, notes: readonly string[]): string {
  const peak = report.perDevice;
  const cells = [
    row.run,
    row.ran ? "ran" : "out of memory",
    report.verdict.replaceAll("-", " "),
    peak === null ? "" : gib(peak.usedPeakBytes),
    agrees ? "" : `differs: ${note(row, notes)}`,
  ];
  return `| ${cells.join(" | ")} |`;
}

function outcomeSection(source: string, rows: readonly ComparedOutcome[], notes: readonly string[]): string {
  return [
    `### ${SOURCES[source]?.title}`,
    "",
    aboutOf(source, rows).trimEnd(),
    "",
    "| run | published | verdict | estimate, GiB | |",
    "|---|---|---|---|---|",
    ...rows.map((row) => outcomeRow(row, notes)),
  ].join("\n");
}

export function page(peaks: readonly ComparedPeak[], outcomes: readonly ComparedOutcome[]): string {
  const missed = [
    ...peaks.filter(({ inside, error }) => !inside || Math.abs(error) > FAR),
    ...outcomes.filter((one) => !one.agrees),
  ];
  const notes = [...new Set(missed.map(({ row }) => missOf(row)).filter((key) => key !== undefined))];
  return `# Memory: the estimate against published figures

Written by \`npm run published\` from \`bench/published\`; do not edit.

From documentation and benchmarks that describe a run well enough to write its config. Each run is given to the
estimator as the documents a person would have; what a source does not say is assumed as stated. No constant of an
estimate was fitted to a figure; what the band has beyond its rules was sized on figures that were measured, these among
them ([coverage.md](coverage.md) holds each table out in turn). Where figures showed a rule that was missing, it was
taken from the library's source: inputs kept by 4-bit layers before bitsandbytes 0.43.2, GPTQ bases that are not raised
to float32, 4-bit bases under sharding, axolotl's Cut Cross Entropy, adapters on falcon, gradients and contexts of
torch 1, flat buffers of DeepSpeed 0.18.7.

The band is the report's; for PyTorch's own counters, without the context and the communicator, which they do not see. A
figure is as wide as its rounding; “G” may be 10⁹ or 2³⁰ bytes.

${summary(peaks, outcomes)}

${sourcesOf(peaks)
  .map((source) => section(source, ofSource(peaks, source), notes))
  .join("\n\n")}

## Ran, or out of memory

Of these runs only the outcome was published. A verdict of “tight” agrees with either.

${sourcesOf(outcomes)
  .map((source) => outcomeSection(source, ofSource(outcomes, source), notes))
  .join("\n\n")}

## Why figures lie outside, or more than 15 % off

${notes.map((key, index) => `${index + 1}. ${MECHANISMS[key]}`).join("\n")}
`;
}
