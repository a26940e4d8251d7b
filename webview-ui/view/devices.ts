/** The table of cards the run fits or does not fit, and host memory where a run needs any. */
import type { ReportRun } from "../../src/core/report/schema";
import { h, type PageNode } from "../dom/node";
import { devicesOf } from "../model/devices";
import { deltaGib, gib, gibUnit, percent, shortDevice } from "../model/format";
import { TONES } from "../model/headline";
import { meter } from "./bar";
import type { View } from "./context";
import { icon } from "./icons";
import { tableHead } from "./table";

/** A card's name that chooses it; the editor asks where to keep the choice. */
export function deviceButton({ t, send }: View, label: string, device: string): PageNode {
  return h(
    "button.link.choose",
    {
      attrs: { type: "button", title: t("devices.choose", { name: label }) },
      on: { click: () => send({ type: "pickDevice", device }) },
    },
    label,
  );
}

/** How a verdict on a card is said. */
export const VERDICT_WORDS = {
  fits: "devices.fits",
  tight: "devices.tight",
  "does-not-fit": "devices.doesNotFit",
} as const;

/** null when the report compares no cards. */
export function devicesView(view: View, run: ReportRun): PageNode | null {
  const { t } = view;
  const rows = devicesOf(run);
  if (rows.length === 0) return null;
  return h(
    "table.devices",
    { key: "devices" },
    tableHead(t("devices.title"), [
      t("devices.name"),
      [t("devices.memory"), ".number"],
      [t("devices.left"), ".number"],
      [t("devices.fill"), ".number.share"],
      t("devices.verdict"),
    ]),
    h(
      "tbody",
      null,
      rows.map((row) =>
        h(
          `tr${row.current ? ".current" : ""}`,
          { key: row.name },
          h(
            "th",
            { attrs: { scope: "row" } },
            row.current
              ? [shortDevice(row.name), h("span.badge", null, t("devices.current"))]
              : deviceButton(view, shortDevice(row.name), row.name),
          ),
          h("td.number", null, gib(row.memoryBytes, t.locale)),
          h("td.number", null, deltaGib(row.headroomBytes, t.locale)),
          h("td.number.share", null, meter(row.fill, TONES[row.verdict]), h("span", null, percent(row.fill, t.locale))),
          h(`td.fit.${TONES[row.verdict]}`, null, icon(TONES[row.verdict]), t(VERDICT_WORDS[row.verdict])),
        ),
      ),
    ),
  );
}

/** null when nothing of the run lives in host memory. */
export function hostView({ t }: View, run: ReportRun): PageNode | null {
  const parts = [
    ["pinned", run.host.pinnedBytes],
    ["pageable", run.host.pageableBytes],
    ["nvme", run.host.nvmeBytes],
  ] as const;
  const largest = Math.max(...parts.map(([, bytes]) => bytes));
  if (largest <= 0) return null;
  const { limitBytes, pinnedBytes, pageableBytes } = run.host;
  const whole = Math.max(largest, limitBytes ?? 0);
  const bars = h(
    "dl.host",
    { key: "host" },
    parts
      .filter(([, bytes]) => bytes > 0)
      .map(([name, bytes]) =>
        h(
          "div",
          { key: name },
          h("dt", null, t(`host.${name}`)),
          h("dd.number", null, gibUnit(bytes, t.locale)),
          h("dd.host-meter", null, meter(bytes / whole, `host-${name}`)),
        ),
      ),
  );
  if (limitBytes === undefined) return bars;
  const used = pinnedBytes + pageableBytes;
  const tone = used <= limitBytes ? "good" : "bad";
  const said = t("host.room", { used: gib(used, t.locale), room: gib(limitBytes, t.locale) });
  return h("div", { key: "host-room" }, bars, h("p", null, h(`span.fit.${tone}`, null, icon(tone), said)));
}
