/** A report as Markdown, for the clipboard: what a colleague or an issue needs to see. */
import type { Report, ReportPlan, ReportRun } from "../core/report/schema";
import { capacity, gib, partName, phaseName, type Translate } from "./statusText";

/** Markdown of all runs of a report. */
export function reportMarkdown(report: Report, label: string, t: Translate): string {
  const runs = report.runs.map((run) => runMarkdown(run, t));
  const errors = report.errors.map(({ uri, message }) => `- ${uri}: ${message}`);
  return [`## ${label}`, ...runs, ...(errors.length > 0 ? [errors.join("\n")] : [])].join("\n\n").concat("\n");
}

function runMarkdown(run: ReportRun, t: Translate): string {
  const blocks: string[] = [`**${headline(run, t)}**`];
  const { perDevice } = run;
  if (perDevice !== null) {
    const shown = perDevice.components.filter(({ bytes }) => gib(bytes) !== "0.0");
    const rows = shown.map(({ kind, bytes }) => `| ${partName(kind, t)} | ${gib(bytes)} |`);
    blocks.push(
      t(
        "Peak in {0}: {1} GiB allocated, {2} GiB reserved, {3} GiB used ({4}–{5})",
        phaseName(perDevice.peakPhase, t),
        gib(perDevice.allocatedPeakBytes),
        gib(perDevice.reservedPeakBytes),
        gib(perDevice.usedPeakBytes),
        gib(perDevice.band.lowBytes),
        gib(perDevice.band.highBytes),
      ),
      [`| ${t("At the peak")} | GiB |`, "|---|---:|", ...rows].join("\n"),
    );
  }
  const stated = run.settings.filter(({ from }) => from === "document" || from === "linked");
  if (stated.length > 0) {
    blocks.push(`${t("Settings")}: ${stated.map(({ key, value }) => `\`${key}=${String(value)}\``).join(", ")}`);
  }
  if (run.assumptions.length > 0) {
    blocks.push([`${t("Assumes")}:`, ...run.assumptions.map(({ what }) => `- ${what}`)].join("\n"));
  }
  if (run.plans.length > 0) {
    const plans = run.plans.map((plan) => `- ${planLine(plan)}`);
    blocks.push([`${t("Plans")}:`, ...plans].join("\n"));
  }
  return blocks.join("\n\n");
}

/** A plan with its memory; titles often say it themselves. */
function planLine({ title, usedPeakBytes }: ReportPlan): string {
  return title.includes("GiB") ? title : `${title}: ${gib(usedPeakBytes)} GiB`;
}

/** `Llama-3.2-1B on NVIDIA GeForce RTX 4090 (24 GiB): does not fit`. */
function headline(run: ReportRun, t: Translate): string {
  const model = run.model?.name ?? t("unknown model");
  const { name, memoryBytes, count } = run.devices;
  const verdict = verdictWord(run.verdict, t);
  if (name === null || memoryBytes === null) return `${model}: ${verdict}`;
  const device = `${count > 1 ? `${count} × ` : ""}${name} (${capacity(memoryBytes)} GiB)`;
  return t("{0} on {1}: {2}", model, device, verdict);
}

function verdictWord(verdict: ReportRun["verdict"], t: Translate): string {
  switch (verdict) {
    case "fits":
      return t("fits");
    case "tight":
      return t("tight");
    case "does-not-fit":
      return t("does not fit");
    case "unknown":
      return t("not estimated");
  }
}
