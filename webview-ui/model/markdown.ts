/** The run as text to paste or save: Markdown for people, CSV for sheets. */
import type { ReportRun } from "../../src/core/report/schema";
import { inCode, printable, sentenceInMarkdown } from "../../src/words/printable";
import type { Translate } from "../messages";
import { breakdownOf, nameOf } from "./breakdown";
import { gib, gibUnit, percent } from "./format";
import { describeRun, headlineOf } from "./headline";
import { bareTitle, plansOf } from "./plans";

/** Text on one line in which nothing is a cell, emphasis, a link, a picture or a tag. */
function cell(text: string): string {
  return sentenceInMarkdown(text.replace(/\s+/g, (blank) => (blank.includes("\n") ? " " : blank)));
}

/** A name in a span of code, which may stand in a cell. */
function code(name: string): string {
  return `\`${inCode(name).replaceAll("|", "\\|")}\``;
}

export function markdownOf(run: ReportRun, label: string, t: Translate): string {
  const headline = headlineOf(run, t);
  const lines = [
    `## ${cell(label)}`,
    "",
    `**${headline.verdict}** ${cell(headline.detail)}`,
    "",
    describeRun(run, t).map(cell).join(" · "),
    "",
  ];
  const device = run.perDevice;
  if (device !== null) {
    lines.push(
      `| ${t("breakdown.part")} | ${t("breakdown.size")} | ${t("breakdown.share")} | ${t("breakdown.setBy")} |`,
      "|---|--:|--:|---|",
    );
    for (const row of breakdownOf(run)) {
      const origins = row.origins.map((origin) => code(nameOf(origin))).join(", ");
      lines.push(
        `| ${cell(t.named(`kind.${row.kind}`, row.kind))} | ${gib(row.bytes, t.locale)} | ${percent(row.share, t.locale)} | ${origins} |`,
      );
    }
    lines.push(`| **${t("breakdown.total")}** | **${gib(device.usedPeakBytes, t.locale)}** | | |`, "");
  }
  const plans = plansOf(run);
  if (plans.length > 0) {
    lines.push(`### ${t("plans.title")}`, "");
    for (const { plan, fits } of plans) {
      const facts = [gibUnit(plan.usedPeakBytes, t.locale), t(fits ? "plans.fits" : "plans.notYet"), plan.says];
      lines.push(`- ${cell(bareTitle(plan.title))}: ${facts.join(", ")}`);
    }
    lines.push("");
  }
  if (run.assumptions.length > 0) {
    lines.push(`### ${t("assumptions.title")}`, "");
    for (const assumption of run.assumptions) {
      lines.push(
        `- ${cell(assumption.what)}${assumption.settleWith === "" ? "" : ` (${code(assumption.settleWith)})`}`,
      );
    }
    lines.push("");
  }
  return `${lines.join("\n").trimEnd()}\n`;
}

/** One CSV field: quoted where needed; a leading formula sign is defused for spreadsheets. */
function field(value: string | number): string {
  const shown = typeof value === "string" ? printable(value) : String(value);
  const text = typeof value === "string" && /^[=+\-@]/.test(shown) ? `'${shown}` : shown;
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Components and modules with their bytes, RFC 4180. */
export function csvOf(run: ReportRun): string {
  const rows: (readonly (string | number)[])[] = [["component", "module", "bytes", "keys"]];
  for (const row of breakdownOf(run)) {
    rows.push([row.kind, "", row.bytes, row.origins.map(nameOf).join(" ")]);
    for (const module of row.modules) rows.push([row.kind, module.module, module.bytes, ""]);
  }
  return `${rows.map((row) => row.map(field).join(",")).join("\r\n")}\r\n`;
}
