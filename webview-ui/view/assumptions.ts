/** What the estimate had to suppose, each with a field that settles it. */
import type { ReportAssumption, ReportRun } from "../../src/core/report/schema";
import { h, type PageNode } from "../dom/node";
import { capital, fileName, gib } from "../model/format";
import { parseAnswer, settleField } from "../model/settle";
import type { View } from "./context";
import { rich } from "./rich";
import { traceView } from "./trace";

export function assumptionsView(view: View, run: ReportRun, assumptions: readonly ReportAssumption[]): PageNode {
  const { t } = view;
  const releases = releasesView(view, run);
  const trace = run.model === null ? null : traceView(view, run);
  if (assumptions.length === 0 && trace === null)
    return releases ?? h("p.quiet", { key: "none" }, t("assumptions.none"));
  return h("div", { key: "assumed" }, listView(view, run, assumptions), trace, releases);
}

/** Releases that no file states: the newest known ones are taken. */
function releasesView({ t }: View, run: ReportRun): PageNode | null {
  const taken = (run.releases ?? []).filter(({ stated }) => !stated);
  if (taken.length === 0) return null;
  const list = taken.map(({ library, version }) => `${library} ${version}`).join(", ");
  return h("p.quiet", { key: "releases" }, t("assumptions.releases", { list }));
}

function listView(view: View, run: ReportRun, assumptions: readonly ReportAssumption[]): PageNode {
  return h(
    "ul.assumptions",
    { key: "assumptions", attrs: { role: "list" } },
    assumptions.map((assumption, index) => assumptionView(view, run, assumption, index)),
  );
}

function assumptionView(view: View, run: ReportRun, assumption: ReportAssumption, index: number): PageNode {
  const { t } = view;
  return h(
    "li",
    { key: `${assumption.settleWith} ${assumption.what}` },
    h(
      "p",
      null,
      rich(capital(assumption.what)),
      assumption.effectBytes === 0
        ? null
        : h(
            "span.quiet",
            null,
            ` · ${t("assumptions.effect", { size: `±${gib(Math.abs(assumption.effectBytes), t.locale)}` })}`,
          ),
    ),
    answerView(view, run, assumption, index),
  );
}

function answerView(
  view: View,
  run: ReportRun,
  { settleWith, what }: ReportAssumption,
  index: number,
): PageNode | null {
  if (settleWith === "") return null;
  if (settleField(settleWith).kind !== "config") return settleView(view, settleWith, `settle-${index}`);
  return configKeyView(view, run, settleWith, what);
}

/** A key that only the config can state: a way to its place when the config has it, its name where the sentence lacks it. */
function configKeyView({ t, send }: View, run: ReportRun, key: string, what: string): PageNode | null {
  const place = run.settings.find((setting) => setting.key === key && setting.range !== undefined);
  const { uri, range } = place ?? {};
  if (uri === undefined || range === undefined) {
    if (what.includes(`\`${key}`)) return null;
    return h("span.quiet", { key: "config", attrs: { title: t("assumptions.config") } }, h("code", null, key));
  }
  const label = t("breakdown.reveal", { key, file: fileName(uri), line: range.start.line + 1 });
  return h(
    "button.link",
    {
      key: "config",
      attrs: { type: "button", title: label, "aria-label": label },
      on: { click: () => send({ type: "reveal", uri, range }) },
    },
    h("code", null, key),
  );
}

/** The field for one key; also the way out of an unknown model. */
export function settleView({ t, send, act }: View, key: string, id: string): PageNode {
  const field = settleField(key);
  if (field.kind === "device") {
    return h(
      "button.secondary",
      { attrs: { type: "button" }, on: { click: () => send({ type: "pickDevice" }) } },
      t("top.chooseDevice"),
    );
  }
  const label = t("assumptions.answer", { key });
  const onSubmit = (event: Event) => {
    event.preventDefault();
    const input = (event.currentTarget as HTMLFormElement).elements.namedItem("answer");
    const text = (input as HTMLInputElement | HTMLSelectElement | null)?.value ?? "";
    const answer = parseAnswer(field, text);
    if (answer !== undefined) send({ type: "settle", key, value: answer });
    else {
      if (field.kind === "number" && text.trim() !== "") {
        act({ type: "notice", text: t("assumptions.invalid", { key }), ok: false });
      }
      (input as HTMLElement | null)?.focus();
    }
  };
  return h(
    "form.settle",
    { attrs: { id }, on: { submit: onSubmit } },
    h("label", { attrs: { for: `${id}-answer` } }, h("code", null, key)),
    field.kind === "word"
      ? h(
          "select",
          { attrs: { id: `${id}-answer`, name: "answer", "aria-label": label } },
          h("option", { attrs: { value: "" } }, t("assumptions.choose")),
          field.options.map((option) => h("option", { key: option, attrs: { value: option } }, option)),
        )
      : h("input", {
          attrs: {
            id: `${id}-answer`,
            name: "answer",
            type: "text",
            inputmode: field.kind === "number" ? "numeric" : "text",
            autocomplete: "off",
            spellcheck: "false",
            "aria-label": label,
          },
        }),
    h("button.secondary", { attrs: { type: "submit", title: t("assumptions.hint") } }, t("assumptions.settle")),
  );
}
