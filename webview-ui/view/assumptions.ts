/** What the estimate had to suppose, each with a field that settles it. */
import type { ReportAssumption } from "../../src/core/report/schema";
import { h, type PageNode } from "../dom/node";
import { gib } from "../model/format";
import { parseAnswer, settleField } from "../model/settle";
import type { View } from "./context";
import { rich } from "./rich";

export function assumptionsView(view: View, assumptions: readonly ReportAssumption[]): PageNode {
  const { t } = view;
  if (assumptions.length === 0) return h("p.quiet", { key: "none" }, t("assumptions.none"));
  return h(
    "ul.assumptions",
    { key: "assumptions", attrs: { role: "list" } },
    assumptions.map((assumption, index) => assumptionView(view, assumption, index)),
  );
}

function assumptionView(view: View, assumption: ReportAssumption, index: number): PageNode {
  const { t } = view;
  return h(
    "li",
    { key: `${assumption.settleWith} ${assumption.what}` },
    h(
      "p",
      null,
      rich(assumption.what),
      assumption.effectBytes === 0
        ? null
        : h(
            "span.quiet",
            null,
            ` ${t("assumptions.effect", { size: `±${gib(Math.abs(assumption.effectBytes), t.locale)}` })}`,
          ),
    ),
    assumption.settleWith === "" ? null : settleView(view, assumption.settleWith, `settle-${index}`),
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
