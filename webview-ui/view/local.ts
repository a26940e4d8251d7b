/** The cards of this machine beside the estimate: asked for by a click, never by itself. */
import type { ReportRun } from "../../src/core/report/schema";
import type { LocalCard } from "../../src/terms/local-card";
import { h, type PageNode } from "../dom/node";
import { gib, shortDevice } from "../model/format";
import { meter } from "./bar";
import type { View } from "./context";
import { icon } from "./icons";

/** null where the editor runs in a browser, which no tool can be asked from. */
export function localView({ t, state, act, send }: View, run: ReportRun): PageNode | null {
  if (state.page.kind !== "report" || !state.page.message.localCards || run.perDevice === null) return null;
  const { local } = state;
  const waiting = local !== null && local.cards === null;
  const ask = () => {
    if (waiting) return;
    act({ type: "askedLocal" });
    send({ type: "localCards" });
  };
  const used = run.perDevice.usedPeakBytes;
  return h(
    "div.local",
    { key: "local" },
    h(
      "div",
      { attrs: { role: "status" } },
      local?.cards?.length === 0 ? h("p", null, t("local.none")) : null,
      (local?.cards?.length ?? 0) === 0
        ? null
        : h(
            "ul.local-cards",
            { attrs: { role: "list", "aria-label": t("local.title") } },
            (local?.cards ?? []).map((card, index) => cardView(t, card, used, String(index))),
          ),
    ),
    h(
      "button.link",
      {
        key: "ask",
        attrs: { type: "button", title: t("local.hint"), "aria-disabled": waiting ? "true" : undefined },
        on: { click: ask },
      },
      t(waiting ? "local.busy" : local === null ? "local.ask" : "local.again"),
    ),
  );
}

function cardView(t: View["t"], { name, totalBytes, usedBytes }: LocalCard, needed: number, key: string): PageNode {
  const free = totalBytes - usedBytes;
  const tone = needed <= free ? "good" : "bad";
  const values = { used: gib(usedBytes, t.locale), total: gib(totalBytes, t.locale), free: gib(free, t.locale) };
  return h(
    "li",
    { key },
    h("span.local-name", null, t("local.name", { name: shortDevice(name) })),
    h("span.host-meter", null, meter(usedBytes / totalBytes, "local")),
    h("span.number", null, t("local.use", values)),
    h(`span.fit.${tone}`, null, icon(tone), t(`local.${tone}`)),
  );
}
