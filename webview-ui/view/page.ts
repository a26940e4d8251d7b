/** The whole page for a state. */
import { difference } from "../../src/terms/sizes";
import { h, type PageNode } from "../dom/node";
import type { MessageKey } from "../messages";
import { deltaGib, gib } from "../model/format";
import { headlineOf } from "../model/headline";
import { baseRun, isTrying, reportOf, type State, shownRun } from "../state";
import { againstView } from "./against";
import { assumptionsView } from "./assumptions";
import { breakdownView } from "./breakdown";
import { cardsView } from "./compared";
import type { View } from "./context";
import { hostView } from "./devices";
import { emptyView, loadingView, noDeviceView, noEstimateView, noRunView } from "./empty";
import type { ExportKind } from "./exports";
import { errorsView, findingsView } from "./findings";
import { limitsView, stagesView } from "./guide";
import { headerView } from "./header";
import { icon } from "./icons";
import { measuredView } from "./measured";
import { plansView } from "./plans";
import { sweepView } from "./sweep";
import { timelineView } from "./timeline";
import { whatIfView } from "./whatif";

function section(name: string, title: string, ...content: readonly (PageNode | null)[]): PageNode | null {
  if (content.every((part) => part === null)) return null;
  return h(
    `section.panel.panel-${name}`,
    { key: name, attrs: { "aria-labelledby": `title-${name}` } },
    h("h2", { attrs: { id: `title-${name}` } }, title),
    content,
  );
}

/** Children of the page's root. */
export function pageView(view: View, onExport: (kind: ExportKind) => void): readonly PageNode[] {
  const nodes = [...contentView(view, onExport), liveView(view), noticeView(view)];
  return nodes.filter((node) => node !== null);
}

function contentView(view: View, onExport: (kind: ExportKind) => void): readonly (PageNode | null)[] {
  const { state } = view;
  if (state.page.kind === "loading") return [h("main", { key: "main" }, loadingView(view))];
  if (state.page.kind === "empty") return [h("main", { key: "main" }, emptyView(view))];
  const report = reportOf(state);
  const run = shownRun(state);
  const base = baseRun(state);
  if (report === null || run === null || base === null) {
    return [h("main", { key: "main" }, noRunView(view), report === null ? null : errorsView(view, report))];
  }
  return [headerView(view, onExport), mainView(view, state)];
}

function mainView(view: View, state: State): PageNode {
  const { t } = view;
  const run = shownRun(state)!;
  const base = baseRun(state)!;
  const report = reportOf(state)!;
  const estimated = run.perDevice !== null;
  const guide = state.guide?.runId === base.id ? state.guide.answer : null;
  const title = (key: MessageKey) => t(key);
  return h(
    `main${estimated ? ".grid" : ".plain"}`,
    { key: "main" },
    noEstimateView(view, run),
    noDeviceView(view, run),
    estimated && (base.plans.length > 0 || base.devices.memoryBytes !== null)
      ? section(
          "plans",
          title(base.verdict === "does-not-fit" ? "plans.titleFits" : "plans.title"),
          plansView(view, base),
        )
      : null,
    section("stages", title("stages.title"), stagesView(view, base, guide)),
    section("what-if", title("whatIf.title"), whatIfView(view)),
    estimated ? section("timeline", title("timeline.title"), timelineView(view, run)) : null,
    estimated ? section("breakdown", title("breakdown.title"), breakdownView(view, run)) : null,
    section("measured", title("measured.title"), measuredView(view, run)),
    section("limits", title("limits.title"), limitsView(view, base, guide)),
    section("sweep", title("sweep.title"), sweepView(view, base)),
    section("against", title("against.title"), againstView(view, base)),
    section("devices", title("devices.title"), cardsView(view, run, base)),
    section("host", title("host.title"), hostView(view, run)),
    estimated ? section("assumptions", title("assumptions.title"), assumptionsView(view, run, run.assumptions)) : null,
    section("findings", title("findings.title"), findingsView(view, base), errorsView(view, report)),
  );
}

/** Speaks the total when it changes, and only then. */
function liveView({ state, t }: View): PageNode {
  const run = shownRun(state);
  const base = baseRun(state);
  const used = run?.perDevice?.usedPeakBytes;
  const file = base?.perDevice?.usedPeakBytes;
  let text = "";
  if (run !== null && used !== undefined) {
    const values = { verdict: headlineOf(run, t).verdict, size: gib(used, t.locale) };
    text =
      isTrying(state) && file !== undefined
        ? t("live.delta", { ...values, delta: deltaGib(difference(used, file), t.locale) })
        : run.devices.memoryBytes === null
          ? values.verdict
          : t("live.total", values);
  }
  return h("div.unseen", { key: "live", attrs: { "aria-live": "polite", "aria-atomic": "true" } }, text);
}

/** Outcome of an action; stays until the next one or until dismissed. */
function noticeView({ state, act }: View): PageNode {
  const { notice } = state;
  return h(
    "div.notices",
    { key: "notices", attrs: { role: "status" } },
    notice === null
      ? null
      : h(
          `button.notice.${notice.ok ? "good" : "bad"}`,
          { key: String(notice.serial), attrs: { type: "button" }, on: { click: () => act({ type: "dismiss" }) } },
          icon(notice.ok ? "good" : "bad"),
          notice.text,
          icon("close"),
        ),
  );
}
