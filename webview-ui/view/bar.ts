/** The stacked bar of the peak against the card, and the same figures as a list. */
import type { ReportRun } from "../../src/core/report/schema";
import { secondsSaid } from "../../src/terms/seconds";
import { difference } from "../../src/terms/sizes";
import { h, type PageNode } from "../dom/node";
import { type BarLayout, layoutBar, usableBytes } from "../model/bar";
import { gib, gibUnit, percent } from "../model/format";
import { kindName, type View } from "./context";
import { breakable } from "./table";

/** Height of the bar in pixels; the marks reach below it. */
const BAR = 34;

const share = (part: number): string => `${(part * 100).toFixed(3)}%`;

/** `compare` is the peak of the file's own run while something else is tried. */
export function barView({ t }: View, run: ReportRun, compareBytes: number | null): PageNode | null {
  const layout = layoutBar(run, compareBytes === null ? [] : [compareBytes]);
  const device = run.perDevice;
  if (layout === null || device === null) return null;
  const text = layout.parts.map((part) => `${kindName(t, part.kind)} ${gibUnit(part.bytes, t.locale)}`).join(", ");
  return h(
    "figure.peak",
    { key: "bar" },
    h(
      "svg.bar",
      { attrs: { role: "img", "aria-label": t("bar.label", { parts: text }) } },
      h(
        "defs",
        null,
        h(
          "pattern",
          {
            attrs: { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
          },
          h("line.hatch-line", { attrs: { x1: 0, y1: 0, x2: 0, y2: 6 } }),
        ),
      ),
      h("rect.bar-track", { attrs: { x: 0, y: 0, width: share(Math.min(1, layout.cardAt ?? 1)), height: BAR } }),
      overflow(layout),
      layout.parts.map((part) =>
        h(
          `rect.part.fill-${part.kind}`,
          { key: part.kind, attrs: { x: share(part.start), y: 0, width: share(part.size), height: BAR } },
          h("title", null, `${kindName(t, part.kind)} ${gibUnit(part.bytes, t.locale)}`),
        ),
      ),
      h(
        "rect.band",
        {
          attrs: {
            x: share(layout.band.start),
            y: 0,
            width: share(layout.band.size),
            height: BAR,
            fill: "url(#hatch)",
          },
        },
        run.statement.claim === undefined ? null : h("title", null, run.statement.claim),
      ),
      compareBytes === null
        ? null
        : h("line.mark.mark-file", { key: "file", attrs: lineAt(compareBytes / layout.scaleBytes) }),
      layout.usableAt === null || layout.usableAt > 1
        ? null
        : h("line.mark.mark-usable", { key: "usable", attrs: lineAt(layout.usableAt) }),
    ),
    scaleView(layout, run, t, compareBytes),
    h(
      "figcaption",
      null,
      h(
        "ul.legend",
        { attrs: { "aria-label": t("bar.title") } },
        named(layout.parts).map(({ kind, bytes }) =>
          legendRow(kind, kind === REST ? t("bar.rest") : kindName(t, kind), gib(bytes, t.locale)),
        ),
      ),
      h(
        "p.facts",
        null,
        run.time === null ? null : h("span", null, timeLine(run.time, t)),
        run.time?.demands?.map((demand) => h("span", { key: demand.road }, demandLine(demand, t))) ?? null,
      ),
    ),
  );
}

/** Parts that round to nothing are one line of the legend; the table below has each. */
const REST = "rest";

function named(parts: BarLayout["parts"]): readonly { readonly kind: string; readonly bytes: number }[] {
  const small = parts.filter(({ bytes }) => gib(bytes).startsWith("<"));
  if (small.length < 2) return parts;
  const bytes = small.reduce((sum, part) => sum + part.bytes, 0);
  return [...parts.filter((part) => !small.includes(part)), { kind: REST, bytes }];
}

/** A colour, what it stands for, and how much of it there is. */
export function legendRow(fill: string, name: string, size: string): PageNode {
  return h(
    "li",
    { key: fill },
    h("span.swatch", { attrs: { "aria-hidden": "true" } }, swatch(fill)),
    h("span.legend-name", null, breakable(name)),
    h("span.number", null, size),
  );
}

function timeLine(time: NonNullable<ReportRun["time"]>, t: View["t"]): string {
  return t("time.line", {
    low: secondsSaid(time.stepSeconds.low),
    high: secondsSaid(time.stepSeconds.high),
    bound: t.named(`time.bound.${time.bound}`, time.bound),
  });
}

type Demand = NonNullable<NonNullable<ReportRun["time"]>["demands"]>[number];

/** Bandwidth that the step demands, against what the card has. */
function demandLine({ road, askedPerSecond, availablePerSecond }: Demand, t: View["t"]): string {
  const gigabytes = (value: number) => (value / 1e9).toLocaleString(t.locale, { maximumSignificantDigits: 2 });
  return t("time.demand", {
    asked: gigabytes(askedPerSecond),
    available: (availablePerSecond / 1e9).toLocaleString(t.locale, { maximumFractionDigits: 0 }),
    road: t.named(`time.road.${road}`, road),
    share: percent(askedPerSecond / availablePerSecond, t.locale),
  });
}

function lineAt(at: number) {
  return { x1: share(at), x2: share(at), y1: 0, y2: BAR + 5 };
}

/** What lies beyond the usable memory is underlined, so that "too much" is visible as an amount. */
function overflow(layout: BarLayout): PageNode | null {
  if (layout.usableAt === null || layout.usedAt <= layout.usableAt) return null;
  return h("rect.bar-over", {
    key: "over",
    attrs: { x: share(layout.usableAt), y: BAR + 2, width: share(layout.usedAt - layout.usableAt), height: 3 },
  });
}

/** A small square in the fill of a part. */
export function swatch(kind: string): PageNode {
  return h(
    "svg.swatch-box",
    { attrs: { viewBox: "0 0 10 10" } },
    h(`rect.fill-${kind}`, { attrs: { width: 10, height: 10 } }),
  );
}

/** The scale under the bar: zero, the marks, the end; marks that would collide are left to the text. */
function scaleView(layout: BarLayout, run: ReportRun, t: View["t"], compareBytes: number | null): PageNode {
  const usable = usableBytes(run);
  const marks: { key: string; at: number; text: string }[] = [];
  if (usable !== null && layout.usableAt !== null) {
    marks.push({ key: "usable", at: layout.usableAt, text: t("bar.usable", { size: gibUnit(usable, t.locale) }) });
  }
  const used = run.perDevice?.usedPeakBytes ?? 0;
  if (usable !== null && used > usable && layout.usedAt - (layout.usableAt ?? 0) > 0.3) {
    const over = t("bar.over", { size: gibUnit(difference(used, usable), t.locale) });
    marks.push({ key: "over", at: layout.usedAt, text: over });
  }
  if (compareBytes !== null) {
    const at = compareBytes / layout.scaleBytes;
    if (marks.every((mark) => Math.abs(mark.at - at) > 0.22)) {
      marks.push({ key: "file", at, text: t("bar.file", { size: gibUnit(compareBytes, t.locale) }) });
    }
  }
  return h(
    "div.scale",
    { attrs: { "aria-hidden": "true" } },
    marks.map((mark) =>
      h(
        `span.scale-mark.scale-${mark.key}${mark.at > 0.82 ? ".at-end" : mark.at < 0.12 ? ".at-start" : ""}`,
        { key: mark.key, style: { "--at": share(mark.at) } },
        mark.text,
      ),
    ),
  );
}

/** One horizontal meter with its figure, for host memory and the table of cards. */
export function meter(fraction: number, tone: string): PageNode {
  return h(
    "svg.meter",
    { attrs: { "aria-hidden": "true" } },
    h("rect.bar-track", { attrs: { x: 0, y: 0, width: "100%", height: "100%" } }),
    h(`rect.meter-${tone}`, { attrs: { x: 0, y: 0, width: share(Math.min(1, fraction)), height: "100%" } }),
  );
}
