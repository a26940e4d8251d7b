/** Top of the page: what is shown, the verdict in one line, the bar, and what can be done with the whole. */
import type { ReportRun } from "../../src/core/report/schema";
import { difference } from "../../src/terms/sizes";
import { h, type PageNode } from "../dom/node";
import { deltaGib } from "../model/format";
import { describeRun, deviceLabel, headlineOf } from "../model/headline";
import { baseRun, isTrying, reportOf, shownRun } from "../state";
import { barView } from "./bar";
import type { View } from "./context";
import { EXPORTS, type ExportKind } from "./exports";
import { icon } from "./icons";
import { localView } from "./local";

export function headerView(view: View, onExport: (kind: ExportKind) => void): PageNode | null {
  const { state, t } = view;
  const run = shownRun(state);
  const base = baseRun(state);
  if (run === null || base === null) return null;
  const headline = headlineOf(run, t);
  const trying = isTrying(state);
  const used = run.perDevice?.usedPeakBytes;
  const fileUsed = base.perDevice?.usedPeakBytes;
  const change =
    trying && run !== base && used !== undefined && fileUsed !== undefined ? difference(used, fileUsed) : null;
  return h(
    "header.top",
    { key: "top", attrs: { "aria-busy": state.busy ? "true" : "false" } },
    toolbarView(view, base, onExport),
    state.broken === null
      ? null
      : h(
          "p.broken",
          { key: "broken", attrs: { role: "status" } },
          icon("warn"),
          t("top.broken", { because: state.broken }),
        ),
    h(
      `h1.verdict.${headline.tone}`,
      null,
      icon(headline.tone),
      h(
        "span.verdict-text",
        null,
        trying ? h("span.what-if-prefix", null, `${t("whatIf.prefix")} `) : null,
        h("strong", null, headline.verdict),
        h("span.detail", null, ` ${headline.detail}`),
        change === null
          ? null
          : h("span.difference", null, ` ${t("whatIf.compare", { delta: deltaGib(change, t.locale) })}`),
      ),
    ),
    h(
      "p.run",
      null,
      describeRun(run, t).map((words, index) => h("span", { key: String(index) }, words)),
    ),
    barView(view, run, change === null ? null : (fileUsed ?? null)),
    localView(view, run),
  );
}

function toolbarView({ state, t, send, act }: View, base: ReportRun, onExport: (kind: ExportKind) => void): PageNode {
  const message = state.page.kind === "report" ? state.page.message : null;
  const runs = reportOf(state)?.runs ?? [];
  return h(
    "div.toolbar",
    null,
    h("span.document", { attrs: { title: message?.because ?? "" } }, message?.label ?? ""),
    state.busy ? h("span.busy", { key: "busy" }, t("top.busy")) : null,
    runs.length > 1
      ? h(
          "select",
          {
            key: "run",
            attrs: { "aria-label": t("run.pick") },
            set: { value: base.id },
            on: {
              change: (event) => {
                const runId = (event.currentTarget as HTMLSelectElement).value;
                act({ type: "run", runId });
                send({ type: "selectRun", runId });
              },
            },
          },
          runs.map((run) => h("option", { key: run.id, attrs: { value: run.id } }, run.id)),
        )
      : null,
    h("span.spring", { key: "spring" }),
    message?.editor === false
      ? null
      : h(
          "label.check",
          { key: "follow", attrs: { title: t("top.followHint") } },
          h("input", {
            attrs: { type: "checkbox" },
            set: { checked: message?.follow ?? false },
            on: {
              change: (event) => {
                const follow = (event.currentTarget as HTMLInputElement).checked;
                act({ type: "follow", follow });
                send({ type: "follow", follow });
              },
            },
          }),
          t("top.follow"),
        ),
    h(
      "button.secondary.device",
      {
        key: "device",
        attrs: { type: "button", title: t("top.changeDevice") },
        on: { click: () => send({ type: "pickDevice" }) },
      },
      icon("none"),
      deviceLabel(base) ?? t("top.chooseDevice"),
    ),
    h(
      "button.secondary.export",
      { key: "export", attrs: { type: "button", popovertarget: "export-menu" } },
      t("top.export"),
      icon("down"),
    ),
    h(
      "div.menu",
      { key: "menu", attrs: { id: "export-menu", popover: "auto", role: "group", "aria-label": t("top.export") } },
      EXPORTS.map((kind) =>
        h(
          "button",
          {
            key: kind,
            attrs: { type: "button", popovertarget: "export-menu", popovertargetaction: "hide" },
            on: { click: () => onExport(kind) },
          },
          t(`export.${kind}`),
        ),
      ),
    ),
  );
}
