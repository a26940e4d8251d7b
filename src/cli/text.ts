/** The report for a person at a terminal (`check`; `plan` has a file of its own). Sizes are GiB with one decimal. */

import { type Locale, t } from "../analysis/messages";
import { changesSaid } from "../analysis/report/changes";
import { measuredText } from "../analysis/report/measured";
import { timeSaid } from "../analysis/report/statement";
import type { Report, ReportFinding, ReportPlan, ReportRun } from "../core/report/schema";
import { secondsSaid } from "../terms/seconds";
import { gib } from "../terms/sizes";
import { VERDICT_FINDINGS } from "../terms/verdict-findings";
import { displayPath } from "./paths";
import { named, type Say, words } from "./words";
import { isBroken, wrapped } from "./wrap";

const GIB = 2 ** 30;

/** What a text report needs beside the report itself. */
export interface TextContext {
  /** Absolute path that shown paths are relative to. */
  readonly cwd: string;
  /** Whether ANSI colours are wanted. */
  readonly color: boolean;
  /** Columns that lines are broken to; undefined: none is broken. */
  readonly columns?: number | undefined;
  readonly locale: Locale;
  /** Text of a document as it is on disk; undefined when it cannot be read. */
  readonly textOf: (uri: string) => string | undefined;
}

type Paint = (style: keyof typeof STYLES, text: string) => string;

/** The context with its language and colours ready to use. */
export interface Pen extends TextContext {
  readonly say: Say;
  readonly paint: Paint;
}

export function penOf(context: TextContext): Pen {
  return { ...context, say: words(context.locale), paint: painter(context.color) };
}

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;
const ESCAPE = "\u001b[";

function painter(color: boolean): Paint {
  return (style, text) => (color ? `${ESCAPE}${STYLES[style]}m${text}${ESCAPE}0m` : text);
}

const VERDICTS: Readonly<Record<ReportRun["verdict"], keyof typeof STYLES>> = {
  fits: "green",
  tight: "yellow",
  "does-not-fit": "red",
  unknown: "yellow",
};

const SEVERITIES: Readonly<Record<ReportFinding["severity"], keyof typeof STYLES>> = {
  error: "red",
  warning: "yellow",
  information: "dim",
  hint: "dim",
};

function setting(run: ReportRun, name: string): string | number | boolean | null {
  return run.settings.find((one) => one.name === name)?.value ?? null;
}

/** `full training`, `lora r 16`, `nf4 lora r 16`. */
function technique(run: ReportRun, say: Say): string {
  const adapter = setting(run, "adapter");
  const quantization = setting(run, "quantization");
  const rank = setting(run, "lora_rank");
  const parts: string[] = [];
  if (quantization !== null && quantization !== "none") parts.push(String(quantization));
  if (adapter === null || adapter === "none") {
    const { model, perDevice } = run;
    // Tables that the library itself never trains (sinusoidal positions) are a hundredth of a model at most.
    const frozen = model !== null && perDevice !== null && model.trainableParameters < 0.98 * model.parameters;
    parts.push(say(frozen ? "partly-frozen" : "full-training"));
  } else {
    // Adapters without a rank (OFT turns blocks) state none.
    parts.push(
      rank === null || rank === 0 ? String(adapter) : say("rank", { adapter: String(adapter), rank: String(rank) }),
    );
  }
  return parts.join(" ");
}

/** `8 × 2048 tokens`, as far as it is known. */
function shape(run: ReportRun, say: Say): string | undefined {
  const batch = setting(run, "micro_batch_size");
  const length = setting(run, "sequence_length");
  if (batch === null) return undefined;
  const values = { batch: String(batch), length: String(length) };
  return say(length === null ? "batch" : "tokens", values);
}

/** Memory of a card in GiB: `24`, `79.6`, as the editor's list of GPUs has it. */
export function capacity(bytes: number): number {
  return Number((bytes / GIB).toFixed(1));
}

/** The GPUs; empty without one, which the verdict says. */
function deviceText(run: ReportRun, say: Say): string {
  const { name, memoryBytes, count } = run.devices;
  if (name === null && memoryBytes === null) return "";
  const size = memoryBytes === null ? "" : `${capacity(memoryBytes)} GiB`;
  // A GPU given by its size alone is named after it.
  const isSize = name === null || /^\d+(?:\.\d+)?\s?GI?B$/i.test(name);
  const label = isSize ? size || (name ?? "") : `${name} ${size}`.trimEnd();
  return count > 1 ? say("devices", { count, device: label }) : label;
}

export function headline(run: ReportRun, pen: Pen): string {
  const dtype = setting(run, "compute_dtype");
  const what = [
    run.model?.name ?? pen.say("model-unknown"),
    technique(run, pen.say),
    dtype === null ? undefined : String(dtype),
    shape(run, pen.say),
  ].filter((part) => part !== undefined);
  const path = displayPath(run.documents[0] ?? run.id, pen.cwd);
  return `${pen.paint("bold", path)}   ${what.join(pen.say("separator"))}   ${deviceText(run, pen.say)}`.trimEnd();
}

/** What to do without a GPU: the smallest common card that the run fits. */
export function fitsOnText(run: ReportRun, say: Say): string[] {
  return run.devices.memoryBytes === null ? [say("choose-device", { room: run.statement.room })] : [];
}

/** Host memory that would be said as 0.0 GiB is left out. */
const LEAST_HOST = 0.05 * GIB;

function hostText(run: ReportRun, say: Say): string[] {
  const { pinnedBytes, pageableBytes, nvmeBytes } = run.host;
  const parts = [
    pinnedBytes >= LEAST_HOST ? say("pinned", { size: gib(pinnedBytes) }) : undefined,
    pageableBytes >= LEAST_HOST ? say("pageable", { size: gib(pageableBytes) }) : undefined,
    nvmeBytes >= LEAST_HOST ? say("nvme", { size: gib(nvmeBytes) }) : undefined,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? [] : [say("host", { parts: parts.join(say("separator")) })];
}

function stepText(run: ReportRun, say: Say): string {
  if (run.time === null) return "";
  const { stepSeconds, bound } = run.time;
  const values = {
    low: secondsSaid(stepSeconds.low),
    high: secondsSaid(stepSeconds.high),
    bound: say(`bound.${bound}`),
  };
  const generated = run.time.generationSeconds;
  const part =
    generated === undefined
      ? ""
      : `   ${say("generation", { low: secondsSaid(generated.low), high: secondsSaid(generated.high) })}`;
  return `   ${say("step", values)}${part}`;
}

/** Verdict and sizes in one line. */
export function verdictLine(run: ReportRun, { say, paint }: Pen): string {
  const { verdict, need, peak } = run.statement;
  // In a line it begins small; names in it keep their capitals.
  const label = paint(VERDICTS[run.verdict], `${verdict.charAt(0).toLowerCase()}${verdict.slice(1)}`);
  if (run.perDevice === null) return [label, run.statement.detail].filter(Boolean).join("   ");
  const { notCounted } = run;
  const directions = (["more", "less"] as const).flatMap((way) => {
    const count = directed(run, way);
    return count === 0 ? [] : [say(`not-counted.${way}`, { count })];
  });
  const toward = directions.length === 0 ? "" : say("not-counted.toward", { list: directions.join(say("separator")) });
  const left = notCounted === undefined ? "" : `   ${say("not-counted", { count: notCounted.length })}${toward}`;
  return `${label}   ${need}   ${peak}${stoodText(run)}${stepText(run, say)}${left}`;
}

/** Whose code is counted in place of the one that runs. */
function stoodText({ statement: { standsIn } }: ReportRun): string {
  return standsIn === undefined ? "" : `   ${standsIn}`;
}

/** How many of the keys that are not counted likely need more memory, or less. */
function directed({ notCountedMay = {} }: ReportRun, direction: "more" | "less"): number {
  return Object.values(notCountedMay).filter((may) => may === direction).length;
}

/** What the peak is made of: the tensors by kind, and what the driver counts beside them. */
function componentsOf({ perDevice }: ReportRun, locale: Locale): readonly { name: string; bytes: number }[] {
  if (perDevice === null) return [];
  const { components, allocatedPeakBytes, reservedPeakBytes, usedPeakBytes } = perDevice;
  return [
    ...components.map(({ kind, bytes }) => ({ name: named(locale, "component", kind), bytes })),
    { name: t(locale, "part.cache"), bytes: reservedPeakBytes - allocatedPeakBytes },
    { name: t(locale, "part.context"), bytes: usedPeakBytes - reservedPeakBytes },
  ];
}

function memoryLines(run: ReportRun, pen: Pen): string[] {
  const parts = componentsOf(run, pen.locale)
    .filter(({ bytes }) => bytes >= 0.05 * GIB)
    .map(({ name, bytes }) => `${name} ${gib(bytes)}`);
  return [
    verdictLine(run, pen),
    ...(parts.length === 0 ? [] : [parts.join("  ")]),
    ...hostText(run, pen.say),
    ...(run.measured === undefined || run.perDevice === null
      ? []
      : [measuredText(run.measured, run.perDevice.allocatedPeakBytes, pen.locale)]),
    ...(run.perDevice === null ? [] : fitsOnText(run, pen.say)),
  ];
}

/** Best plan that fits; plans come ranked. */
function smallestChange(run: ReportRun): ReportPlan | undefined {
  return run.plans.find((plan) => plan.fits !== false && plan.edits.length > 0);
}

/** `path:line:column`, counted from one. */
function placeText(uri: string, range: ReportFinding["range"], pen: Pen): string {
  const path = displayPath(uri, pen.cwd);
  return range === undefined ? path : `${path}:${range.start.line + 1}:${range.start.character + 1}`;
}

/** What the verdict line cannot say: the run goes through though its pool would grow beyond the device. */
function givesBack(run: ReportRun, { code }: ReportRun["findings"][number]): boolean {
  return code === "tight" && run.perDevice?.releases !== undefined;
}

/** Findings beside the verdict line; hints are for editors. */
export function findingLines(run: ReportRun, pen: Pen): string[] {
  return run.findings
    .filter((finding) => finding.severity !== "hint")
    .filter((finding) => !(VERDICT_FINDINGS.has(finding.code) && run.perDevice !== null) || givesBack(run, finding))
    .map((finding) => {
      const severity = pen.paint(SEVERITIES[finding.severity], pen.say(`severity.${finding.severity}`));
      return `${placeText(finding.uri, finding.range, pen)} ${severity} ${finding.message} [${finding.code}]`;
    });
}

/** What was assumed, and what the band claims. */
function assumptionLines(run: ReportRun, { say, paint, columns }: Pen): string[] {
  // Without an estimate nothing rests on them; what is missing has a finding.
  if (run.perDevice === null) return [];
  const dim = (text: string): string => paint("dim", text);
  const claim = run.statement.claim === undefined ? [] : [dim(run.statement.claim)];
  if (run.assumptions.length === 0) return claim;
  // A key that the sentence names is not said again.
  const list = run.assumptions.map(({ what, settleWith }) =>
    settleWith === "" || what.includes(settleWith) ? what : say("assumption", { what, key: settleWith }),
  );
  const line = say("assumes", { list: list.join(" · ") });
  return list.length > 1 && isBroken(`  ${line}`, columns)
    ? [dim(say("assumes-list")), ...list.map((one) => `  ${dim(one)}`), ...claim]
    : [dim(line), ...claim];
}

function errorLines(report: Report, pen: Pen): string[] {
  const label = pen.paint("red", pen.say("severity.error"));
  return report.errors.map((error) => {
    const path = displayPath(error.uri, pen.cwd);
    const named = [": ", "："].find((colon) => error.message.startsWith(`${path}${colon}`));
    const message = named === undefined ? error.message : error.message.slice(path.length + named.length);
    return `${placeText(error.uri, error.range, pen)} ${label} ${message}`;
  });
}

/** A line of a file, which is shown as it is. */
export interface Verbatim {
  readonly verbatim: string;
}

export function block(head: string, lines: readonly (string | Verbatim)[], { columns }: Pen): string {
  const laid = lines.map((line) => (typeof line === "string" ? wrapped(`  ${line}`, columns) : `  ${line.verbatim}`));
  return [wrapped(head, columns), ...laid].join("\n");
}

/** Configs of a folder that were left out, and why. */
function skippedLines(report: Report, pen: Pen): string[] {
  const label = pen.paint("yellow", pen.say("skipped"));
  return (report.skipped ?? []).map(({ uri, range, message }) => `${placeText(uri, range, pen)} ${label} ${message}`);
}

/** Order in which a summary counts what became of runs. */
const SUMMARY = ["does-not-fit", "tight", "fits", "no-device", "unknown"] as const;

/** The verdict, or that a GPU is all that is missing for one. */
function outcomeOf({ verdict, perDevice, devices }: ReportRun): (typeof SUMMARY)[number] {
  return verdict === "unknown" && perDevice !== null && devices.memoryBytes === null ? "no-device" : verdict;
}

/** How many runs have which verdict, where there is more than one to count. */
function summaryLine(report: Report, { say, paint }: Pen): string[] {
  const left = report.skipped?.length ?? 0;
  if (report.runs.length + left < 2) return [];
  const verdicts = SUMMARY.flatMap((verdict) => {
    const count = report.runs.filter((run) => outcomeOf(run) === verdict).length;
    return count === 0 ? [] : [say(`summary.${verdict}`, { count })];
  });
  const parts = left === 0 ? verdicts : [...verdicts, say("summary.skipped", { count: left })];
  return [paint("bold", say("summary", { runs: report.runs.length, parts: parts.join(say("separator")) }))];
}

/** The runs' blocks, then what could not be read and what was left out, then the sum. */
export function page(runs: readonly string[], report: Report, pen: Pen): string {
  const lines = [errorLines(report, pen), skippedLines(report, pen), summaryLine(report, pen)];
  const laid = lines.map((some) => some.map((line) => wrapped(line, pen.columns)));
  const blocks = [...runs, ...laid.filter((some) => some.length > 0).map((some) => some.join("\n"))];
  return blocks.length === 0 ? "" : `${blocks.join("\n\n")}\n`;
}

/** The report of `check`. */
export function checkText(report: Report, context: TextContext): string {
  const pen = penOf(context);
  const runs = report.runs.map((run) =>
    block(
      headline(run, pen),
      [...memoryLines(run, pen), ...changeLine(run, pen), ...findingLines(run, pen), ...assumptionLines(run, pen)],
      pen,
    ),
  );
  return page(runs, report, pen);
}

function changeLine(run: ReportRun, pen: Pen): string[] {
  const plan = run.verdict === "does-not-fit" || run.verdict === "tight" ? smallestChange(run) : undefined;
  if (plan === undefined) return [];
  const change = changesSaid(plan.edits, pen.textOf, pen.locale) || plan.title;
  return [
    pen.say("change", { change, size: gib(plan.usedPeakBytes), speed: timeSaid(plan.stepTimeFactor, pen.locale) }),
  ];
}
