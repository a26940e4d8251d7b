/** The table of what is alive at the peak: components, modules below them, and the settings they come from. */
import type { ReportRun } from "../../src/core/report/schema";
import { h, type PageNode } from "../dom/node";
import { type BreakdownRow, breakdownOf } from "../model/breakdown";
import { fileName, gib, percent } from "../model/format";
import { meter, swatch } from "./bar";
import { kindName, type View } from "./context";
import { icon } from "./icons";

/** Modules shown under an open row; the rest is summed up. */
const MODULES = 24;

export function breakdownView(view: View, run: ReportRun): PageNode {
  const { t } = view;
  const rows = breakdownOf(run);
  return h(
    "table.breakdown",
    { key: "breakdown" },
    h("caption.unseen", null, t("breakdown.title")),
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", { attrs: { scope: "col" } }, t("breakdown.part")),
        h("th.number", { attrs: { scope: "col" } }, t("breakdown.size")),
        h("th.number", { attrs: { scope: "col" } }, t("breakdown.share")),
        h("th.set-by", { attrs: { scope: "col" } }, t("breakdown.setBy")),
      ),
    ),
    rows.map((row) => rowGroup(view, row)),
    h(
      "tfoot",
      null,
      h(
        "tr",
        null,
        h("th", { attrs: { scope: "row" } }, t("breakdown.total")),
        h("td.number", null, gib(run.perDevice?.usedPeakBytes ?? 0, t.locale)),
        h("td.number", null, percent(1, t.locale)),
        h("td.set-by", null),
      ),
    ),
  );
}

/** A key that may break after its underscores and dots, and nowhere else. */
function breakable(key: string): readonly (string | PageNode)[] {
  return key
    .split(/(?<=[_.])/)
    .flatMap((part, index) => (index === 0 ? [part] : [h("wbr", { key: String(index) }), part]));
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
    { key: row.kind, attrs: { id: `modules-${row.kind}` } },
    h(
      "tr.component",
      null,
      h(
        "th",
        { attrs: { scope: "row" } },
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
      h("td.number", null, gib(row.bytes, t.locale)),
      h(
        "td.number.share",
        null,
        meter(row.share, `part.fill-${row.kind}`),
        h("span", null, percent(row.share, t.locale)),
      ),
      h(
        "td.set-by",
        null,
        row.origins.map((origin) => {
          const place = { key: origin.key, file: fileName(origin.uri), line: origin.range.start.line + 1 };
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
            h("code", null, breakable(origin.key)),
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
              { key: module.module },
              h(
                "th",
                { attrs: { scope: "row" } },
                module.module === "" ? t("breakdown.noModule") : h("code", null, breakable(module.module)),
              ),
              h("td.number", null, gib(module.bytes, t.locale)),
              h(
                "td.number.share",
                null,
                meter(module.share, `part.fill-${row.kind}`),
                h("span", null, percent(module.share, t.locale)),
              ),
              h("td.set-by", null),
            ),
          )
      : null,
    open && rest.length > 0
      ? h(
          "tr.module",
          { key: "rest" },
          h("th", { attrs: { scope: "row" } }, t("breakdown.more", { count: rest.length })),
          h(
            "td.number",
            null,
            gib(
              rest.reduce((sum, module) => sum + module.bytes, 0),
              t.locale,
            ),
          ),
          h(
            "td.number.share",
            null,
            percent(
              rest.reduce((sum, module) => sum + module.share, 0),
              t.locale,
            ),
          ),
          h("td.set-by", null),
        )
      : null,
  );
}
