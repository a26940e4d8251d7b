/** The table of what is alive at the peak: components, modules below them, and the settings they come from. */
import type { ReportRun } from "../../src/core/report/schema";
import { h, type PageNode } from "../dom/node";
import { type BreakdownRow, breakdownOf, nameOf } from "../model/breakdown";
import { fileName, gib, percent } from "../model/format";
import { meter, swatch } from "./bar";
import { kindName, type View } from "./context";
import { icon } from "./icons";
import { breakable } from "./table";

/** Modules shown under an open row; the rest is summed up. */
const MODULES = 24;

const ROW = { attrs: { role: "row" } };
const CELL = { attrs: { role: "cell" } };

export function breakdownView(view: View, run: ReportRun): PageNode {
  const { t } = view;
  const rows = breakdownOf(run);
  return h(
    "table.breakdown",
    // The narrow layout turns rows into grids; the roles keep it a table for everyone.
    { key: "breakdown", attrs: { role: "table" } },
    h("caption.unseen", null, t("breakdown.title")),
    h(
      "thead",
      { attrs: { role: "rowgroup" } },
      h(
        "tr",
        ROW,
        h("th", { attrs: { scope: "col", role: "columnheader" } }, t("breakdown.part")),
        h("th.number", { attrs: { scope: "col", role: "columnheader" } }, t("breakdown.size")),
        h("th.number", { attrs: { scope: "col", role: "columnheader" } }, t("breakdown.share")),
        h("th.set-by", { attrs: { scope: "col", role: "columnheader" } }, t("breakdown.setBy")),
      ),
    ),
    rows.map((row) => rowGroup(view, row)),
    h(
      "tfoot",
      { attrs: { role: "rowgroup" } },
      h(
        "tr",
        ROW,
        h("th", { attrs: { scope: "row", role: "rowheader" } }, t("breakdown.total")),
        h("td.number", CELL, gib(run.perDevice?.usedPeakBytes ?? 0, t.locale)),
        h("td.number", CELL, percent(1, t.locale)),
        h("td.set-by", CELL),
      ),
    ),
  );
}

function rowGroup({ t, act, send, state }: View, row: BreakdownRow): PageNode {
  const { opened } = state.arrangement;
  const open = row.modules.length > 0 && opened.includes(row.kind);
  const name = kindName(t, row.kind);
  const toggle = () =>
    act({
      type: "arrange",
      change: { opened: open ? opened.filter((kind) => kind !== row.kind) : [...opened, row.kind] },
    });
  const label = [h("span.swatch", { attrs: { "aria-hidden": "true" } }, swatch(row.kind)), h("span", null, name)];
  const rest = row.modules.slice(MODULES);
  return h(
    "tbody",
    { key: row.kind, attrs: { id: `modules-${row.kind}`, role: "rowgroup" } },
    h(
      "tr.component",
      ROW,
      h(
        "th",
        { attrs: { scope: "row", role: "rowheader" } },
        row.modules.length === 0
          ? h("span.row-name", null, label)
          : h(
              "button.row-name",
              {
                attrs: {
                  type: "button",
                  "aria-expanded": open ? "true" : "false",
                  "aria-controls": `modules-${row.kind}`,
                },
                on: { click: toggle },
              },
              label,
              icon(open ? "down" : "open"),
            ),
      ),
      h("td.number", CELL, gib(row.bytes, t.locale)),
      h(
        "td.number.share",
        CELL,
        meter(row.share, `part.fill-${row.kind}`),
        h("span", null, percent(row.share, t.locale)),
      ),
      h(
        "td.set-by",
        CELL,
        row.origins.map((origin) => {
          const place = { key: nameOf(origin), file: fileName(origin.uri), line: origin.range.start.line + 1 };
          return h(
            "button.link",
            {
              key: `${origin.uri} ${origin.key} ${origin.range.start.line}`,
              attrs: {
                type: "button",
                title: t("breakdown.reveal", place),
                "aria-label": t("breakdown.reveal", place),
              },
              on: { click: () => send({ type: "reveal", uri: origin.uri, range: origin.range }) },
            },
            h("code", null, breakable(nameOf(origin))),
          );
        }),
      ),
    ),
    open
      ? row.modules
          .slice(0, MODULES)
          .map((module) =>
            h(
              "tr.module",
              { key: module.module, ...ROW },
              h(
                "th",
                { attrs: { scope: "row", role: "rowheader" } },
                module.module === "" ? t("breakdown.noModule") : h("code", null, breakable(module.module)),
              ),
              h("td.number", CELL, gib(module.bytes, t.locale)),
              h(
                "td.number.share",
                CELL,
                meter(module.share, `part.fill-${row.kind}`),
                h("span", null, percent(module.share, t.locale)),
              ),
              h("td.set-by", CELL),
            ),
          )
      : null,
    open && rest.length > 0
      ? h(
          "tr.module",
          { key: "rest", ...ROW },
          h("th", { attrs: { scope: "row", role: "rowheader" } }, t("breakdown.more", { count: rest.length })),
          h(
            "td.number",
            CELL,
            gib(
              rest.reduce((sum, module) => sum + module.bytes, 0),
              t.locale,
            ),
          ),
          h(
            "td.number.share",
            CELL,
            percent(
              rest.reduce((sum, module) => sum + module.share, 0),
              t.locale,
            ),
          ),
          h("td.set-by", CELL),
        )
      : null,
  );
}
