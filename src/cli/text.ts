/** The report for a person at a terminal (`check` and `plan`). Sizes are GiB with one decimal. */
import type { Report, ReportEdit, ReportFinding, ReportPlan, ReportRun } from "../core/report/schema";
import { applyEdits, changedLines } from "./changes";
import { displayPath } from "./paths";

const GIB = 2 ** 30;

/** What a text report needs beside the report itself. */
export interface TextContext {
  /** Absolute path that shown paths are relative to. */
  readonly cwd: string;
  /** Whether ANSI colours are wanted. */
  readonly color: boolean;
  /** Text of a document as it is on disk; undefined when it cannot be read. */
  readonly textOf: (uri: string) => string | undefined;
}

type Paint = (style: keyof typeof STYLES, text: string) => string;

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;
const ESCAPE = "\u001b[";

function painter(color: boolean): Paint {
  return (style, text) => (color ? `${ESCAPE}${STYLES[style]}m${text}${ESCAPE}0m` : text);
}

/** Number of GiB with one decimal, without the unit. */
export function gib(bytes: number): string {
  return (bytes / GIB).toFixed(1);
}

const VERDICTS: Readonly<Record<ReportRun["verdict"], { readonly text: string; readonly style: keyof typeof STYLES }>> =
  {
    fits: { text: "fits", style: "green" },
    tight: { text: "tight", style: "yellow" },
    "does-not-fit": { text: "does not fit", style: "red" },
    unknown: { text: "no verdict", style: "yellow" },
  };

const SEVERITIES: Readonly<Record<ReportFinding["severity"], keyof typeof STYLES>> = {
  error: "red",
  warning: "yellow",
  information: "dim",
  hint: "dim",
};

/** Findings that the verdict line already says; hints are for editors. */
const SAID_BY_VERDICT = new Set(["does-not-fit", "tight"]);

function setting(run: ReportRun, name: string): string | number | boolean | null {
  return run.settings.find((one) => one.name === name)?.value ?? null;
}

/** `full fine-tune`, `lora r 16`, `nf4 lora r 16`. */
function technique(run: ReportRun): string {
  const adapter = setting(run, "adapter");
  const quantization = setting(run, "quantization");
  const rank = setting(run, "lora_rank");
  const parts: string[] = [];
  if (quantization !== null && quantization !== "none") parts.push(String(quantization));
  if (adapter === null || adapter === "none") {
    const { model, perDevice } = run;
    const frozen = model !== null && perDevice !== null && model.trainableParameters < model.parameters;
    parts.push(frozen ? "partly frozen" : "full fine-tune");
  } else {
    parts.push(rank === null ? String(adapter) : `${adapter} r ${rank}`);
  }
  return parts.join(" ");
}

/** `8 × 2048 tokens`, as far as it is known. */
function shape(run: ReportRun): string | undefined {
  const batch = setting(run, "micro_batch_size");
  const length = setting(run, "sequence_length");
  if (batch === null) return undefined;
  return length === null ? `batch ${batch}` : `${batch} × ${length} tokens`;
}

function deviceText(run: ReportRun): string {
  const { name, memoryBytes, count } = run.devices;
  if (name === null && memoryBytes === null) return "no GPU chosen";
  const size = memoryBytes === null ? "" : `${Math.round(memoryBytes / GIB)} GiB`;
  // A GPU given by its size alone is named after it.
  const label = name === null ? size : /\d\s*GiB$/i.test(name) || size === "" ? name : `${name} ${size}`;
  return count > 1 ? `${count} × ${label}` : label;
}

function headline(run: ReportRun, context: TextContext, paint: Paint): string {
  const what = [
    run.model?.name ?? "model unknown",
    technique(run),
    setting(run, "compute_dtype") === null ? undefined : String(setting(run, "compute_dtype")),
    shape(run),
  ].filter((part) => part !== undefined);
  const path = displayPath(run.documents[0] ?? run.id, context.cwd);
  return `${paint("bold", path)}   ${what.join(", ")}   ${deviceText(run)}`;
}

/** What to do without a GPU: the smallest common card that the run fits. */
function fitsOnText(run: ReportRun): string | undefined {
  const cards = run.fitsOn ?? [];
  if (cards.length === 0) return undefined;
  const smallest = cards.find((one) => one.fits);
  const answer =
    smallest === undefined
      ? "fits none of the common cards"
      : `fits ${smallest.name} (${Math.round(smallest.memoryBytes / GIB)} GiB) and larger`;
  return `${answer}; choose a GPU with --device`;
}

function memoryLines(run: ReportRun, paint: Paint): string[] {
  const memory = run.perDevice;
  const verdict = VERDICTS[run.verdict];
  const label = paint(verdict.style, verdict.text);
  if (memory === null) return [`${label}   no estimate`];
  const { lowBytes, highBytes } = memory.band;
  const usable = run.devices.usableBytes ?? null;
  const of = usable === null ? "" : ` of ${gib(usable)} usable`;
  const shared = run.devices.count > 1 ? " per GPU" : "";
  const lines = [
    `${label}   ${gib(memory.usedPeakBytes)} GiB (${gib(lowBytes)}–${gib(highBytes)})${of}${shared}   peak in ${memory.peakPhase}`,
    memory.components
      .filter((one) => one.bytes >= 0.05 * GIB)
      .map((one) => `${one.kind.replaceAll("-", " ")} ${gib(one.bytes)}`)
      .join("  "),
  ];
  const { pinnedBytes, pageableBytes, nvmeBytes } = run.host;
  const host = [
    pinnedBytes > 0 ? `${gib(pinnedBytes)} pinned` : undefined,
    pageableBytes > 0 ? `${gib(pageableBytes)} pageable` : undefined,
    nvmeBytes > 0 ? `${gib(nvmeBytes)} on NVMe` : undefined,
  ].filter((part) => part !== undefined);
  if (host.length > 0) lines.push(`host memory ${host.join(", ")} GiB`);
  const fits = fitsOnText(run);
  if (run.verdict === "unknown" && fits !== undefined) lines.push(fits);
  return lines.filter((line) => line !== "");
}

/** Best plan that fits; plans come ranked. */
export function smallestChange(run: ReportRun): ReportPlan | undefined {
  return run.plans.find((plan) => plan.fits !== false && plan.edits.length > 0);
}

/** `micro-batch 8 -> 2` style: every changed line of a plan, shortened to what changed in it. */
function shortChanges(edits: readonly ReportEdit[], context: TextContext): string {
  const parts: string[] = [];
  for (const uri of new Set(edits.map((edit) => edit.uri))) {
    const before = context.textOf(uri);
    if (before === undefined) continue;
    const after = applyEdits(
      before,
      edits.filter((edit) => edit.uri === uri),
    );
    for (const change of changedLines(before, after)) {
      change.after.forEach((line, i) => {
        const old = change.before[i];
        parts.push(old === undefined ? `add ${tidy(line)}` : replaced(tidy(old), tidy(line)));
      });
      for (const line of change.before.slice(change.after.length)) parts.push(`remove ${tidy(line)}`);
    }
  }
  return parts.filter((part) => part !== "").join(", ");
}

/** A config line without its indentation, trailing comma and comment. */
function tidy(line: string): string {
  return line
    .replace(/\s+#.*$/, "")
    .replace(/,\s*$/, "")
    .trim();
}

/** `key: 8` and `key: 2` as `key 8 -> 2`; anything else in full. */
function replaced(before: string, after: string): string {
  if (before === after) return "";
  const [, key, old] = /^"?([\w.-]+)"?\s*[:=]\s*(.+)$/.exec(before) ?? [];
  const [, newKey, fresh] = /^"?([\w.-]+)"?\s*[:=]\s*(.+)$/.exec(after) ?? [];
  if (key !== undefined && key === newKey) return `${key} ${old} -> ${fresh}`;
  return `${before} -> ${after}`;
}

/** Title with the plan's peak, which most titles already give. */
function planTitle(plan: ReportPlan): string {
  return plan.title.includes("GiB") ? plan.title : `${plan.title} (${gib(plan.usedPeakBytes)} GiB)`;
}

function slowdown(plan: ReportPlan): string {
  const percent = Math.round((plan.stepTimeFactor - 1) * 100);
  if (percent === 0) return "same speed";
  return percent > 0 ? `about ${percent} % slower` : `about ${-percent} % faster`;
}

function findingLines(run: ReportRun, context: TextContext, paint: Paint): string[] {
  return run.findings
    .filter((finding) => finding.severity !== "hint")
    .filter((finding) => !(SAID_BY_VERDICT.has(finding.code) && run.perDevice !== null))
    .map((finding) => {
      const at =
        finding.range === undefined ? "" : `:${finding.range.start.line + 1}:${finding.range.start.character + 1}`;
      const severity = paint(SEVERITIES[finding.severity], finding.severity);
      return `${displayPath(finding.uri, context.cwd)}${at} ${severity} ${finding.message} [${finding.code}]`;
    });
}

function assumptionLine(run: ReportRun): string[] {
  if (run.assumptions.length === 0) return [];
  return [`assumes ${run.assumptions.map((one) => `${one.what} (set ${one.settleWith})`).join(", ")}`];
}

function errorLines(report: Report, context: TextContext, paint: Paint): string[] {
  return report.errors.map((error) => {
    const at = error.range === undefined ? "" : `:${error.range.start.line + 1}:${error.range.start.character + 1}`;
    const path = displayPath(error.uri, context.cwd);
    const message = error.message.startsWith(`${path}: `) ? error.message.slice(path.length + 2) : error.message;
    return `${path}${at} ${paint("red", "error")} ${message}`;
  });
}

function block(head: string, lines: readonly string[]): string {
  return [head, ...lines.map((line) => `  ${line}`)].join("\n");
}

function document(blocks: readonly string[]): string {
  return blocks.length === 0 ? "" : `${blocks.join("\n\n")}\n`;
}

/** The report of `check`. */
export function checkText(report: Report, context: TextContext): string {
  const paint = painter(context.color);
  const runs = report.runs.map((run) => {
    const plan = run.verdict === "does-not-fit" || run.verdict === "tight" ? smallestChange(run) : undefined;
    const change =
      plan === undefined
        ? []
        : [
            `smallest change that fits: ${shortChanges(plan.edits, context) || plan.title}   ${gib(plan.usedPeakBytes)} GiB, ${slowdown(plan)}`,
          ];
    return block(headline(run, context, paint), [
      ...memoryLines(run, paint),
      ...change,
      ...findingLines(run, context, paint),
      ...assumptionLine(run).map((line) => paint("dim", line)),
    ]);
  });
  const errors = errorLines(report, context, paint);
  return document(errors.length === 0 ? runs : [...runs, errors.join("\n")]);
}

function diffLines(plan: ReportPlan, context: TextContext, paint: Paint): string[] {
  return [...new Set(plan.edits.map((edit) => edit.uri))].flatMap((uri) => {
    const before = context.textOf(uri);
    if (before === undefined) return [];
    const after = applyEdits(
      before,
      plan.edits.filter((edit) => edit.uri === uri),
    );
    return changedLines(before, after).flatMap((change) => [
      paint("dim", `   ${displayPath(uri, context.cwd)}:${change.line + 1}`),
      ...change.before.map((line) => paint("red", `   - ${line}`)),
      ...change.after.map((line) => paint("green", `   + ${line}`)),
    ]);
  });
}

/** The report of `plan`: every suggestion with its memory, cost and changed lines. */
export function planText(report: Report, context: TextContext): string {
  const paint = painter(context.color);
  const runs = report.runs.map((run) => {
    const plans = run.plans.flatMap((plan, i) => [
      `${i + 1}. ${planTitle(plan)}   saves ${gib(plan.savesBytes)} GiB, ${slowdown(plan)}${plan.fits === false ? ", still does not fit" : ""}`,
      ...diffLines(plan, context, paint),
    ]);
    const first = memoryLines(run, paint)[0] ?? "";
    return block(headline(run, context, paint), [first, ...(plans.length === 0 ? ["no change to suggest"] : plans)]);
  });
  const errors = errorLines(report, context, paint);
  return document(errors.length === 0 ? runs : [...runs, errors.join("\n")]);
}
