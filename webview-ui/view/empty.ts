/** What the page says when there is no estimate to show: why, and the one thing to do about it. */
import type { ReportRun } from "../../src/core/report/schema";
import { h, type PageNode } from "../dom/node";
import { hasEditor, refusalOf } from "../state";
import { settleView } from "./assumptions";
import type { View } from "./context";
import { icon } from "./icons";
import { rich } from "./rich";
import { traceView } from "./trace";

export function loadingView({ t }: View): PageNode {
  return h(
    "div.empty",
    { key: "loading", attrs: { "aria-busy": "true" } },
    h("h1", null, t("empty.loading")),
    h("div.skeleton.wide", { attrs: { "aria-hidden": "true" } }),
    h("div.skeleton", { attrs: { "aria-hidden": "true" } }),
    h("div.skeleton.short", { attrs: { "aria-hidden": "true" } }),
  );
}

/** No report at all. */
export function emptyView({ state, t, send }: View): PageNode | null {
  if (state.page.kind !== "empty") return null;
  const { reason, message, workspace } = state.page.message;
  return h(
    `div.empty.${reason}`,
    { key: "empty" },
    icon(reason === "failed" ? "bad" : "none"),
    h("h1", null, t(`empty.${reason}`)),
    h("p", null, message === "" || reason === "failed" ? t(`empty.${reason}.hint`) : message),
    reason === "failed" && message !== "" ? h("p.quiet.reason", null, message) : null,
    workspace === true && (reason === "no-document" || reason === "not-recognised")
      ? h(
          "button.primary",
          { key: "check-all", attrs: { type: "button" }, on: { click: () => send({ type: "checkAll" }) } },
          t("empty.checkAll"),
        )
      : null,
  );
}

/** A report without a run. */
export function noRunView({ t }: View): PageNode {
  return h(
    "div.empty",
    { key: "no-run" },
    icon("none"),
    h("h1", null, t("empty.noRun")),
    h("p", null, t("empty.noRun.hint")),
  );
}

/** A run without an estimate: the model is unknown, or something about it is not modelled. */
export function noEstimateView(view: View, run: ReportRun): PageNode | null {
  if (run.perDevice !== null) return null;
  const { t } = view;
  const unknown = run.model === null;
  const reason = refusalOf(run);
  return h(
    "section.callout",
    { key: "no-estimate", attrs: { "aria-labelledby": "no-estimate-title" } },
    h("h2", { attrs: { id: "no-estimate-title" } }, t(unknown ? "empty.unknownModel" : "empty.noEstimate")),
    unknown ? h("p", null, t("empty.unknownModel.hint")) : reason === "" ? null : h("p", null, rich(reason)),
    unknown ? settleView(view, "model", "settle-model") : null,
    unknown && hasEditor(view.state) ? modelLinks(view) : null,
    traceView(view, run),
  );
}

/** The editor's own ways to name the model. */
function modelLinks({ t, send }: View): PageNode {
  const link = (from: "folder" | "catalogue") =>
    h(
      "button.link",
      { key: from, attrs: { type: "button" }, on: { click: () => send({ type: "pickModel", from }) } },
      t(`empty.${from}`),
    );
  return h("p.plans-foot", { key: "model-links" }, link("catalogue"), link("folder"));
}

/** An estimate without a card to hold it against. */
export function noDeviceView({ t, send }: View, run: ReportRun): PageNode | null {
  if (run.perDevice === null || run.devices.memoryBytes !== null) return null;
  return h(
    "section.callout",
    { key: "no-device", attrs: { "aria-labelledby": "no-device-title" } },
    h("h2", { attrs: { id: "no-device-title" } }, t("empty.noDevice")),
    h("p", null, t("empty.noDevice.hint")),
    h(
      "button.primary",
      { attrs: { type: "button" }, on: { click: () => send({ type: "pickDevice" }) } },
      t("top.chooseDevice"),
    ),
  );
}
