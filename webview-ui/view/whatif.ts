/** Controls that try other values: every option says what it would do before it is chosen. */
import type { ReportRun } from "../../src/core/report/schema";
import type { ControlGroup } from "../../src/terms/setting-row";
import { difference } from "../../src/terms/sizes";
import { h, type PageNode } from "../dom/node";
import { type Control, change, controlsOf, parseCount, setKey, type WhatIfSet } from "../model/controls";
import { deltaGib, gib, integer } from "../model/format";
import { toneOf } from "../model/headline";
import { baseRun, isTrying, refusalOf, type State, shownRun } from "../state";
import { changeButtons } from "./actions";
import type { View } from "./context";
import { icon } from "./icons";
import { rich } from "./rich";

/** Differences below this round to nothing; bytes. */
const NOTICED = 0.05 * 2 ** 30;

/** Used peak of `set` where it is known; undefined while it is not; null where it cannot be applied. */
function knownPeak(state: State, base: ReportRun, set: WhatIfSet): number | null | undefined {
  if (Object.keys(set).length === 0) return base.perDevice?.usedPeakBytes ?? null;
  const answer = state.asker.answers.get(setKey(set));
  return answer === undefined ? undefined : (answer?.perDevice?.usedPeakBytes ?? null);
}

export function whatIfView(view: View): PageNode | null {
  const { state, t } = view;
  const base = baseRun(state);
  if (base === null || base.perDevice === null) return null;
  return h(
    "div.what-if",
    { key: "what-if" },
    stateView(view, base),
    h(
      "div.groups",
      { key: "groups" },
      controlsOf(base, state.set).map(({ group, controls }) =>
        h(
          "div.group",
          { key: group },
          h("h3", null, t(`group.${group}`)),
          controls.map((control) => controlView(view, base, group, control)),
        ),
      ),
    ),
  );
}

/** The total of what is tried; it stays in sight while the controls scroll. */
function stateView(view: View, base: ReportRun): PageNode {
  const { state, t, act, send } = view;
  const run = shownRun(state) ?? base;
  const used = run.perDevice?.usedPeakBytes ?? 0;
  const delta = difference(used, base.perDevice?.usedPeakBytes ?? 0);
  const count = Object.keys(state.set).length;
  const tone = toneOf(run);
  const target = { runId: base.id, set: state.set };
  return h(
    "div.what-if-state",
    { key: "state" },
    h(
      `p.what-if-total.${tone}`,
      null,
      icon(tone),
      h("strong", null, t("whatIf.total", { size: gib(used, t.locale) })),
      isTrying(state) && run !== base ? h("span.quiet", { key: "delta" }, deltaGib(delta, t.locale)) : null,
    ),
    state.refused !== null
      ? h("p.refused", { key: "refused" }, t("whatIf.refused"), " ", rich(state.refused))
      : count === 0
        ? h("p.quiet", { key: "note" }, t("whatIf.intro"))
        : null,
    count === 0
      ? null
      : h(
          "div.what-if-actions",
          { key: "actions" },
          changeButtons(view, {
            words: t("whatIf.apply"),
            primary: true,
            disabled: state.refused !== null,
            apply: () => send({ type: "applyWhatIf", ...target }),
            preview: () => send({ type: "previewWhatIf", ...target }),
          }),
          h(
            "button.secondary",
            { key: "reset", attrs: { type: "button" }, on: { click: () => act({ type: "try", set: {} }) } },
            t("whatIf.reset"),
          ),
        ),
  );
}

/** What a value is called on the page. */
function valueName(t: View["t"], group: ControlGroup, control: Control, value: string): string {
  const specific = group === "offload" ? `value.offload.${value}` : `value.${control.name}.${value}`;
  if (control.kind === "number") return integer(Number(value), t.locale);
  return t.named(specific, t.named(`value.${value}`, value));
}

function controlView({ state, t, act }: View, base: ReportRun, group: ControlGroup, control: Control): PageNode {
  const now = knownPeak(state, base, state.set);
  const name = t.named(`setting.${control.name}`, control.name);
  const choose = (value: string, typed = false) => act({ type: "try", set: change(state.set, control, value), typed });
  const point = () => act({ type: "point", control: control.name });
  const custom = control.value !== null && !control.options.includes(control.value);
  return h(
    "fieldset.control",
    { key: control.name, on: { pointerenter: point, focusin: point } },
    h(
      // Not twice one below the other: the optimizer is the only control of a group of its name.
      name === t(`group.${group}`) && control.value !== null ? "legend.unseen" : "legend",
      null,
      name,
      control.value === null ? h("span.quiet", null, ` ${t("whatIf.unstated")}`) : null,
    ),
    h(
      "div.options",
      null,
      control.options.map((option) => {
        const chosen = option === control.value;
        const peak = chosen ? undefined : knownPeak(state, base, change(state.set, control, option));
        const effect = typeof peak === "number" && typeof now === "number" ? difference(peak, now) : null;
        const tone = effect === null ? "" : effect < -NOTICED ? ".less" : effect > NOTICED ? ".more" : "";
        const why =
          peak === null ? refusalOf(state.asker.answers.get(setKey(change(state.set, control, option))) ?? null) : "";
        const title = why !== "" ? why : option === control.base ? t("whatIf.fileValue") : undefined;
        return h(
          `label.option${chosen ? ".chosen" : ""}${option === control.base ? ".base" : ""}`,
          { key: option, attrs: { title } },
          h("input", {
            attrs: { type: "radio", name: `what-if-${control.name}`, value: option, disabled: peak === null },
            set: { checked: chosen },
            on: { change: () => choose(option) },
          }),
          h("span.value", null, valueName(t, group, control, option)),
          h(
            `span.delta${tone}`,
            null,
            chosen
              ? t("whatIf.now")
              : peak === null
                ? t("whatIf.noEstimate")
                : effect === null
                  ? "\u00a0"
                  : deltaGib(effect, t.locale),
          ),
        );
      }),
      control.kind === "number"
        ? h("input.other", {
            key: "other",
            attrs: {
              type: "text",
              inputmode: "numeric",
              autocomplete: "off",
              spellcheck: "false",
              placeholder: t("whatIf.otherShort"),
              "aria-label": t("whatIf.other", { setting: name }),
              "aria-invalid": "false",
            },
            set: { value: custom ? (control.value ?? "") : "" },
            on: {
              input: (event) => {
                const field = event.currentTarget as HTMLInputElement;
                const value = parseCount(field.value);
                field.setAttribute("aria-invalid", field.value.trim() !== "" && value === undefined ? "true" : "false");
                if (value !== undefined) choose(value, true);
              },
            },
          })
        : null,
    ),
  );
}
