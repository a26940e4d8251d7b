/** Two settings at once as a heat map: where the run fits, its frontier, and a way to try any of the places. */
import type { ReportRun, ReportSweep } from "../../src/core/report/schema";
import { h, type PageNode } from "../dom/node";
import { gib, integer } from "../model/format";
import { TONES, type Tone } from "../model/headline";
import type { View } from "./context";
import { tableHead, wideTable } from "./table";

/** null for runs without an estimate. */
export function sweepView(view: View, run: ReportRun): PageNode | null {
  const { t, state, act, send } = view;
  if (run.perDevice === null || !run.settings.some(({ name }) => name === "sequence_length")) return null;
  const swept = state.swept?.runId === run.id ? state.swept : null;
  if (swept?.sweep != null) return mapView(view, swept.sweep);
  const asked = swept?.asked === true;
  return h(
    "p",
    { key: "ask" },
    swept !== null && !asked
      ? h("span.quiet", null, t("sweep.none"))
      : h(
          "button.link",
          {
            attrs: { type: "button", "aria-disabled": asked ? "true" : undefined },
            on: {
              click: () => {
                if (asked) return;
                act({ type: "asked", question: "sweep", runId: run.id });
                send({ type: "sweep", runId: run.id });
              },
            },
          },
          t(asked ? "sweep.busy" : "sweep.ask"),
        ),
  );
}

function mapView({ t, state, act }: View, { columns, rows, cells }: ReportSweep): PageNode {
  const fitOf = (row: number, column: number): Tone | undefined => {
    const cell = cells[row]?.[column];
    return cell === undefined ? undefined : TONES[cell?.verdict ?? "unknown"];
  };
  const tried = { ...{ [columns.name]: columns.now, [rows.name]: rows.now }, ...state.set };
  const map = wideTable(
    "map",
    t("sweep.title"),
    h(
      "table.sweep",
      null,
      tableHead(t("sweep.title"), [
        t("sweep.corner"),
        ...columns.values.map((value) => [integer(Number(value), t.locale), ".number"] as const),
      ]),
      h(
        "tbody",
        null,
        rows.values.map((row, y) =>
          h(
            "tr",
            { key: row },
            h("th.number", { attrs: { scope: "row" } }, integer(Number(row), t.locale)),
            columns.values.map((column, x) => {
              const fit = fitOf(y, x) ?? "none";
              const bytes = cells[y]?.[x]?.usedPeakBytes ?? null;
              const stays = fit === "good" || fit === "warn";
              const right = stays && fitOf(y, x + 1) === "bad" ? ".edge-right" : "";
              const below = stays && fitOf(y + 1, x) === "bad" ? ".edge-below" : "";
              const chosen = tried[columns.name] === column && tried[rows.name] === row;
              const size = bytes === null ? "–" : gib(bytes, t.locale);
              const values = { batch: column, length: row, size };
              const label = t(fit === "bad" ? "sweep.over" : "sweep.cell", values);
              const set = Object.fromEntries(
                [[columns.name, column, columns.now] as const, [rows.name, row, rows.now] as const].flatMap(
                  ([name, value, now]) => (value === now ? [] : [[name, value]]),
                ),
              );
              return h(
                `td.cell.${fit}${right}${below}${chosen ? ".chosen" : ""}`,
                { key: column },
                h(
                  "button",
                  {
                    attrs: {
                      type: "button",
                      disabled: bytes === null,
                      "aria-label": label,
                      "aria-pressed": chosen ? "true" : "false",
                    },
                    on: { click: () => act({ type: "try", set }) },
                  },
                  fit === "bad" ? `${size} \u2717` : size,
                ),
              );
            }),
          ),
        ),
      ),
    ),
  );
  return h("div", { key: "swept" }, map, h("p.quiet", null, t("sweep.hint")));
}
