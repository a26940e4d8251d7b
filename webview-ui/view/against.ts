/** Two runs side by side: what each needs, part by part, and the settings that differ. */
import type { ReportRun } from "../../src/core/report/schema";
import { h, type PageNode } from "../dom/node";
import { partsOf } from "../model/bar";
import { deltaGib, gib } from "../model/format";
import type { View } from "./context";

/** The way to choose what to compare with, or the comparison. */
export function againstView(view: View, run: ReportRun): PageNode | null {
  const { state, t, send, act } = view;
  const against = state.against?.runId === run.id ? state.against : null;
  const choose = h(
    "button.link",
    { key: "choose", attrs: { type: "button" }, on: { click: () => send({ type: "against", runId: run.id }) } },
    t(against === null ? "against.ask" : "against.other"),
  );
  if (against === null) return run.perDevice === null ? null : h("p", { key: "ask" }, choose);
  return h(
    "div",
    { key: "against" },
    tableView(view, run, against.label, against.run),
    h(
      "p.plans-foot",
      null,
      choose,
      h(
        "button.link",
        { key: "alone", attrs: { type: "button" }, on: { click: () => act({ type: "alone" }) } },
        t("against.close"),
      ),
    ),
  );
}

function tableView({ t }: View, run: ReportRun, label: string, other: ReportRun): PageNode {
  const sizes = (one: ReportRun) => new Map(partsOf(one).map(({ kind, bytes }) => [kind, bytes]));
  const [here, there] = [sizes(run), sizes(other)];
  const kinds = [...new Set([...here.keys(), ...there.keys()])];
  const row = (name: string, mine: string, theirs: string, change: string) =>
    h(
      "tr",
      { key: name },
      h("th", { attrs: { scope: "row" } }, name),
      h("td.number", null, mine),
      h("td.number", null, theirs),
      h("td.number", null, change),
    );
  const used = [run.perDevice?.usedPeakBytes ?? 0, other.perDevice?.usedPeakBytes ?? 0] as const;
  return h(
    "div.wide",
    { key: "table", attrs: { tabindex: "0", role: "group", "aria-label": t("against.title") } },
    h(
      "table.devices.against",
      null,
      h("caption.unseen", null, t("against.title")),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { attrs: { scope: "col" } }, t("breakdown.part")),
          h("th.number", { attrs: { scope: "col" } }, t("against.this")),
          h("th.number", { attrs: { scope: "col" } }, label),
          h("th.number", { attrs: { scope: "col" } }, t("against.change")),
        ),
      ),
      h(
        "tbody",
        null,
        row(t("devices.verdict"), run.statement.verdict, other.statement.verdict, ""),
        row(
          t("breakdown.total"),
          gib(used[0], t.locale),
          gib(used[1], t.locale),
          deltaGib(used[1] - used[0], t.locale),
        ),
        kinds.map((kind) => {
          const [mine, theirs] = [here.get(kind) ?? 0, there.get(kind) ?? 0];
          const change = deltaGib(theirs - mine, t.locale);
          return row(t.named(`kind.${kind}`, kind), gib(mine, t.locale), gib(theirs, t.locale), change);
        }),
        differing(run, other).map(([key, mine, theirs]) => row(key, mine, theirs, "")),
      ),
    ),
  );
}

/** Settings with another value: key, here, there. */
function differing(run: ReportRun, other: ReportRun): readonly (readonly [string, string, string])[] {
  const statedIn = (one: ReportRun, name: string) => one.settings.find((setting) => setting.name === name);
  const names = [...new Set([...run.settings, ...other.settings].map(({ name }) => name))];
  return names.flatMap((name) => {
    const [mine, theirs] = [statedIn(run, name), statedIn(other, name)];
    const [here, there] = [String(mine?.value ?? "–"), String(theirs?.value ?? "–")];
    return here === there ? [] : [[mine?.key ?? theirs?.key ?? name, here, there] as const];
  });
}
