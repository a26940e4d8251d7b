/** The two things to do with a change: write it, and where an editor stands beside the page, look at it first. */
import { h, type PageNode } from "../dom/node";
import { hasEditor } from "../state";
import type { View } from "./context";

export interface Change {
  readonly apply: () => void;
  readonly preview: () => void;
  /** What is applied, for who cannot see where the button stands. */
  readonly title?: string;
  readonly primary?: boolean;
  /** Words of the button in place of "Apply". */
  readonly words?: string;
  readonly disabled?: boolean;
}

export function changeButtons({ t, state }: View, change: Change): readonly PageNode[] {
  const { title, disabled = false } = change;
  const label = (key: "plans.applyLabel" | "plans.previewLabel") =>
    title === undefined ? undefined : t(key, { title });
  const button = (key: string, kind: string, text: string, name: string | undefined, click: () => void) =>
    h(`button.${kind}`, { key, attrs: { type: "button", disabled, "aria-label": name }, on: { click } }, text);
  const kind = change.primary === true ? "primary" : "secondary";
  return [
    button("apply", kind, change.words ?? t("plans.apply"), label("plans.applyLabel"), change.apply),
    ...(hasEditor(state)
      ? [button("preview", "secondary", t("plans.preview"), label("plans.previewLabel"), change.preview)]
      : []),
  ];
}
