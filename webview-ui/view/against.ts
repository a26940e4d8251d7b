/** Two runs side by side: what each needs, part by part, and the settings that differ. */
import type { ReportRun } from "../../src/core/report/schema";
import { difference } from "../../src/terms/sizes";
import { h, type PageNode } from "../dom/node";
import { partsOf } from "../model/bar";
import { nameOf } from "../model/breakdown";
import { deltaGib, gib, integer } from "../model/format";
import { deviceLabel } from "../model/headline";
import { hasEditor } from "../state";
import type { View } from "./context";
import { breakable, tableHead, wideTable } from "./table";

/** The way to choose what to compare with, or the comparison. */
export function againstView(view: View, run: ReportRun): PageNode | null {
  const { state, t, send, act } = view;
  const against = state.against?.runId === run.id ? state.against : null;
  const choose = h(
    "button.link",
    { key: "choose", attrs: { type: "button" }, on: { click: () => send({ type: "against", runId: run.id }) } },
    t(against === null ? "against.ask" : "against.other"),
  );
  if (against === null) return run.perDevice === null || !hasEditor(state) ? null : h("p", { key: "ask" }, choose);
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
  const kinds = merged([...here.keys()], [...there.keys()]);
  const cards = [deviceLabel(run) ?? "–", deviceLabel(other) ?? "–"] as const;
  const row = (name: string, mine: string, theirs: string, change: string, kind = "") =>
    h(
      "tr",
      { key: name },
      h(`th${kind}`, { attrs: { scope: "row" } }, breakable(name)),
      h("td.number", null, mine),
      h("td.number", null, theirs),
      h("td.number", null, change),
    );
  const used = [run.perDevice?.usedPeakBytes ?? 0, other.perDevice?.usedPeakBytes ?? 0] as const;
  return wideTable(
    "table",
    t("against.title"),
    h(
      "table.devices.against",
      null,
      tableHead(t("against.title"), [
        t("breakdown.part"),
        [t("against.this"), ".number"],
        [label, ".number.other"],
        [t("against.change"), ".number"],
      ]),
      h(
        "tbody",
        null,
        row(t("devices.verdict"), run.statement.verdict, other.statement.verdict, ""),
        cards[0] === cards[1] ? null : row(t("devices.name"), cards[0], cards[1], ""),
        row(
          t("breakdown.total"),
          gib(used[0], t.locale),
          gib(used[1], t.locale),
          deltaGib(difference(used[1], used[0]), t.locale),
        ),
        kinds.map((kind) => {
          const [mine, theirs] = [here.get(kind) ?? 0, there.get(kind) ?? 0];
          const change = deltaGib(difference(theirs, mine), t.locale);
          return row(t.named(`kind.${kind}`, kind), gib(mine, t.locale), gib(theirs, t.locale), change);
        }),
        differing(run, other, t).map(([key, mine, theirs]) => row(key, mine, theirs, "", ".key")),
      ),
    ),
  );
}

/** Both orders in one: what only the second has stands behind what it follows there. */
function merged<T>(first: readonly T[], second: readonly T[]): readonly T[] {
  const all = [...first];
  for (const [index, one] of second.entries()) {
    const before = second[index - 1];
    if (!all.includes(one)) all.splice(before === undefined ? 0 : all.indexOf(before) + 1, 0, one);
  }
  return all;
}

/** Settings with another value: what stands in the file, here, there. */
function differing(run: ReportRun, other: ReportRun, t: View["t"]): readonly (readonly [string, string, string])[] {
  const statedIn = (one: ReportRun, name: string) =>
    one.settings.find((setting) => setting.name === name && !OFF.has(String(setting.value)));
  const names = [...new Set([...run.settings, ...other.settings].map(({ name }) => name))].filter(
    (name) => !CARDS.has(name),
  );
  const origins = [run, other].flatMap(({ perDevice }) => perDevice?.components.flatMap((part) => part.origins) ?? []);
  const written = new Map(origins.map((origin) => [origin.key, nameOf(origin)]));
  return names.flatMap((name) => {
    const [mine, theirs] = [statedIn(run, name), statedIn(other, name)];
    const [here, there] = [shownValue(mine?.value, t), shownValue(theirs?.value, t)];
    const key = mine?.key ?? theirs?.key ?? name;
    return here === there ? [] : [[written.get(key) ?? key, here, there] as const];
  });
}

/** What the row of the GPUs says. */
const CARDS: ReadonlySet<string> = new Set(["device", "world_size"]);

/** What is switched off is nothing, like what is not stated. */
const OFF: ReadonlySet<string> = new Set(["none", "false", "null"]);

function shownValue(value: unknown, t: View["t"]): string {
  if (value === undefined || value === null) return "–";
  return Number.isInteger(value) ? integer(Number(value), t.locale) : String(value);
}
