/** The run on other cards, on slices of its own and on several of it, once it was asked for. */
import type { ReportCompared, ReportRun } from "../../src/core/report/schema";
import { difference } from "../../src/terms/sizes";
import { h, type PageNode } from "../dom/node";
import { deltaGib, gib, integer, shortDevice } from "../model/format";
import { TONES } from "../model/headline";
import type { View } from "./context";
import { deviceButton, devicesView, VERDICT_WORDS } from "./devices";
import { icon } from "./icons";
import { tableHead, wideTable } from "./table";

const KINDS = ["card", "slice", "several"] as const;

/** The short table of the report with a way to ask for more, or the answer to that. */
export function cardsView(view: View, shown: ReportRun, base: ReportRun): PageNode | null {
  const { t, state, act, send } = view;
  const { compared } = state;
  if (base.perDevice === null) return devicesView(view, shown);
  if (compared !== null && compared.runId === base.id && compared.lines !== null && compared.lines.length > 0)
    return comparedTable(view, base, compared.lines);
  const waiting = compared !== null && compared.runId === base.id && compared.lines === null;
  return h(
    "div",
    { key: "cards" },
    devicesView(view, shown),
    h(
      "p.plans-foot",
      null,
      h(
        "button.link",
        {
          key: "compare",
          attrs: { type: "button", "aria-disabled": waiting ? "true" : undefined },
          on: {
            click: () => {
              if (waiting) return;
              act({ type: "asked", question: "compare", runId: base.id });
              send({ type: "compare", runId: base.id });
            },
          },
        },
        t(waiting ? "compare.busy" : "compare.ask"),
      ),
    ),
  );
}

function comparedTable(view: View, run: ReportRun, lines: readonly ReportCompared[]): PageNode {
  const { t } = view;
  return wideTable(
    "compared",
    t("devices.title"),
    h(
      "table.devices.compared",
      null,
      tableHead(t("devices.title"), [
        t("devices.name"),
        [t("devices.memory"), ".number"],
        [t("devices.left"), ".number"],
        [t("compare.batch"), ".number"],
        [t("compare.speed"), ".number"],
        t("devices.verdict"),
      ]),
      KINDS.filter((kind) => lines.some((line) => line.kind === kind)).map((kind) =>
        h(
          "tbody",
          { key: kind },
          lines.filter((line) => line.kind === kind).map((line) => comparedRow(view, run, line)),
        ),
      ),
    ),
  );
}

function comparedRow(view: View, run: ReportRun, line: ReportCompared): PageNode {
  const { t } = view;
  const verdict = line.verdict ?? (line.fits ? "fits" : "does-not-fit");
  const tone = TONES[verdict];
  const name = shortDevice(line.name);
  const current = line.kind === "card" && line.name === run.devices.name;
  return h(
    `tr${current ? ".current" : ""}`,
    { key: `${line.kind} ${line.count} ${line.name}` },
    h(
      "th",
      { attrs: { scope: "row" } },
      current
        ? [name, h("span.badge", null, t("devices.current"))]
        : deviceButton(
            view,
            line.count > 1 ? t("compare.several", { count: line.count, name }) : name,
            line.count > 1 ? `${line.count}x${line.name}` : line.name,
          ),
    ),
    h("td.number", null, gib(line.memoryBytes, t.locale)),
    h("td.number", null, deltaGib(difference(line.usableBytes, line.usedPeakBytes), t.locale)),
    h("td.number", null, line.largestBatch === null ? "–" : integer(line.largestBatch, t.locale)),
    h(
      "td.number",
      null,
      line.relativeSpeed === null ? "–" : t("compare.factor", { factor: speed(line.relativeSpeed, t.locale) }),
    ),
    h(`td.fit.${tone}`, null, icon(tone), h("span.verdict-word", null, t(VERDICT_WORDS[verdict]))),
  );
}

/** Two digits; the model is not worth more. */
function speed(factor: number, locale: string): string {
  return new Intl.NumberFormat(locale, { maximumSignificantDigits: 2 }).format(factor);
}
