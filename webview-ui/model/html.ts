/** The run as one page to save and send: the picture, what takes the memory, plans and assumptions. No script, no address. */
import type { ReportRun } from "../../src/core/report/schema";
import { inMarkup } from "../../src/words/printable";
import type { Translate } from "../messages";
import { breakdownOf, nameOf } from "./breakdown";
import { gib, gibUnit, percent } from "./format";
import { headlineOf } from "./headline";
import { type Palette, pictureOf } from "./picture";
import { bareTitle, plansOf } from "./plans";

/** A sentence whose backquotes are code. */
function sentence(text: string): string {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 0 ? inMarkup(part) : `<code>${inMarkup(part)}</code>`))
    .join("");
}

function section(title: string, items: readonly string[]): string {
  return items.length === 0
    ? ""
    : `<h2>${inMarkup(title)}</h2>\n<ul>\n${items.map((item) => `<li>${item}</li>`).join("\n")}\n</ul>\n`;
}

function row(tag: "th" | "td", cells: readonly string[]): string {
  return `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
}

/** What takes the memory, by part. */
function breakdownTable(run: ReportRun, t: Translate): string {
  if (run.perDevice === null) return "";
  const head = (["breakdown.part", "breakdown.size", "breakdown.share", "breakdown.setBy"] as const).map((id) => t(id));
  const rows = breakdownOf(run).map(({ kind, bytes, share, origins }) =>
    row("td", [
      inMarkup(t.named(`kind.${kind}`, kind)),
      gib(bytes, t.locale),
      percent(share, t.locale),
      origins.map((origin) => `<code>${inMarkup(nameOf(origin))}</code>`).join(", "),
    ]),
  );
  const total = `<strong>${gib(run.perDevice.usedPeakBytes, t.locale)}</strong>`;
  const last = row("td", [`<strong>${inMarkup(t("breakdown.total"))}</strong>`, total, "", ""]);
  return `<table>\n${[row("th", head.map(inMarkup)), ...rows, last].join("\n")}\n</table>\n`;
}

const style = ({ background, text, grid }: Palette): string =>
  `body{background:${background};color:${text};font:14px system-ui,sans-serif;max-width:960px;margin:auto;padding:16px}` +
  // The picture begins with the heading's words; the heading is for who hears the page.
  `h1{position:absolute;clip-path:inset(50%)}svg{width:100%;height:auto}h2{font-size:16px}table{border-collapse:collapse}` +
  `td,th{padding:4px 12px;border-bottom:1px solid ${grid};text-align:left}td:nth-child(2),td:nth-child(3){text-align:right}`;

export function htmlOf(run: ReportRun, label: string, t: Translate, palette: Palette): string {
  const { verdict, detail } = headlineOf(run, t);
  const plans = plansOf(run).map(({ plan, fits }) => {
    const facts = [gibUnit(plan.usedPeakBytes, t.locale), t(fits ? "plans.fits" : "plans.notYet"), plan.says];
    return `${sentence(bareTitle(plan.title))}: ${facts.map(inMarkup).join(", ")}`;
  });
  const assumptions = run.assumptions.map(
    ({ what, settleWith }) => `${sentence(what)}${settleWith === "" ? "" : ` (<code>${inMarkup(settleWith)}</code>)`}`,
  );
  return (
    `<!doctype html>\n<html lang="${t.locale}">\n<meta charset="utf-8">\n<title>${inMarkup(label)} · VRAM Lens</title>\n` +
    `<style>${style(palette)}</style>\n<main>\n` +
    `<h1>${inMarkup([label, verdict, detail].join(" "))}</h1>\n${pictureOf(run, label, t, palette).svg.replace("<svg", '<svg aria-hidden="true"')}\n` +
    `${breakdownTable(run, t)}${section(t("plans.title"), plans)}${section(t("assumptions.title"), assumptions)}</main>\n</html>\n`
  );
}
