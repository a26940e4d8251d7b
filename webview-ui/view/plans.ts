/** Plans as cards: what each frees and costs, what it changes, and the two things to do with it. */
import type { ReportRun } from "../../src/core/report/schema";
import { h, type PageNode } from "../dom/node";
import { capital, fileName, gibUnit, percent } from "../model/format";
import { bareTitle, FIRST_PLANS, type PlanCard, plansOf } from "../model/plans";
import { changeButtons } from "./actions";
import type { View } from "./context";
import { icon } from "./icons";
import { rich } from "./rich";

/** Plans of the files' run (not of what is tried: their edits change the files). */
export function plansView(view: View, run: ReportRun): PageNode {
  const { t, state, act } = view;
  const cards = plansOf(run);
  if (cards.length === 0) {
    const reason = run.verdict === "does-not-fit" || run.verdict === "tight" ? "plans.noneFits" : "plans.none";
    return h("p.quiet", { key: "none" }, t(reason));
  }
  const shown = state.arrangement.allPlans ? cards : cards.slice(0, FIRST_PLANS);
  const reserve = state.page.kind === "report" ? state.page.message.reserve : 0;
  return h(
    "div.plans",
    { key: "plans" },
    h(
      "ol.cards",
      { attrs: { role: "list" } },
      shown.map((card, place) => cardView(view, run, card, place === 0)),
    ),
    h(
      "p.plans-foot",
      null,
      reserve > 0 ? h("span.quiet", null, t("plans.reserve", { share: percent(reserve, t.locale) })) : null,
      cards.length > FIRST_PLANS
        ? h(
            "button.link",
            {
              attrs: { type: "button", "aria-expanded": state.arrangement.allPlans ? "true" : "false" },
              on: { click: () => act({ type: "arrange", change: { allPlans: !state.arrangement.allPlans } }) },
            },
            state.arrangement.allPlans ? t("plans.fewer") : t("plans.all", { count: cards.length }),
          )
        : null,
    ),
  );
}

function cardView(view: View, run: ReportRun, card: PlanCard, first: boolean): PageNode {
  const { t, send } = view;
  const { plan } = card;
  const target = { runId: run.id, planIndex: card.index, title: plan.title };
  const title = bareTitle(plan.title);
  const why = plan.why ?? "";
  return h(
    `li.card${first && card.fits ? ".first" : ""}`,
    { key: `${plan.levers.join("+")} ${title}` },
    h("h3", null, title),
    h(
      "div.card-numbers",
      null,
      h("span.big", null, gibUnit(plan.usedPeakBytes, t.locale)),
      h(
        `span.fit.${card.fits ? "good" : "bad"}`,
        null,
        icon(card.fits ? "good" : "bad"),
        t(card.fits ? "plans.fits" : "plans.notYet"),
      ),
    ),
    h(
      "ul.tags",
      { attrs: { role: "list" } },
      plan.says
        .split(" · ")
        .map((said, place) => h(place === 2 ? `li.changes-${plan.changes ?? "nothing"}` : "li", { key: said }, said)),
      plan.needs === undefined || plan.needs.length === 0
        ? null
        : h("li", null, t("stages.needs", { list: plan.needs.join(", ") })),
      h("li", null, editsText(t, card)),
    ),
    why === "" ? null : h("p.why", null, rich(capital(why))),
    h(
      "div.card-actions",
      null,
      changeButtons(view, {
        title,
        primary: first && card.fits,
        apply: () => send({ type: "applyPlan", ...target }),
        preview: () => send({ type: "previewPlan", ...target }),
      }),
    ),
  );
}

function editsText(t: View["t"], card: PlanCard): string {
  const count = card.plan.edits.length;
  const [file = ""] = card.files;
  if (card.files.length > 1) return t("plans.editsFiles", { count, files: card.files.length });
  return count === 1 ? t("plans.oneEdit", { file: fileName(file) }) : t("plans.edits", { count, file: fileName(file) });
}
