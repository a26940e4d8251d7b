/** A report as Markdown, for the clipboard: what a colleague or an issue needs to see. */
import type { Report, ReportPlan, ReportRun } from "../core/report/schema";
import { gib } from "../terms/sizes";
import type { Translate } from "../words/client";
import { partName } from "./statusText";

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
      t("ofThatReserved", gib(perDevice.reservedPeakBytes), gib(perDevice.allocatedPeakBytes)),
      [`| ${t("atThePeak")} | GiB |`, "|---|---:|", ...rows].join("\n"),
    );
  }
  const stated = run.settings.filter(({ from }) => from === "document" || from === "linked");
  if (stated.length > 0) {
    blocks.push(`${t("settings")}: ${stated.map(({ key, value }) => `\`${key}=${String(value)}\``).join(", ")}`);
  }
  if (run.assumptions.length > 0) {
    blocks.push([`${t("assumes")}:`, ...run.assumptions.map(({ what }) => `- ${what}`)].join("\n"));
  }
  if (run.plans.length > 0) {
    const plans = run.plans.map((plan) => `- ${planLine(plan)}`);
    blocks.push([`${t("plans")}:`, ...plans].join("\n"));
  }
  return blocks.join("\n\n");
}

/** A plan with its memory; titles often say it themselves. */
function planLine({ title, usedPeakBytes }: ReportPlan): string {
  return title.includes("GiB") ? title : `${title}: ${gib(usedPeakBytes)} GiB`;
}

/** `Llama-3.2-1B: Does not fit · 34.0 GiB (32.3–35.1) of 23.5 usable on RTX 4090, peak in backward`. */
function headline({ model, statement }: ReportRun, t: Translate): string {
  const said = [statement.verdict, statement.detail].filter((part) => part !== "").join(" · ");
  return `${model?.name ?? t("unknownModel")}: ${said}`;
}
