/** The few pictograms of the page, drawn on a 16 × 16 grid in the colour of the text around them. */
import { h, type PageNode } from "../dom/node";

const PATHS = {
  good: "M8 1.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 0 1 0-13zM4.9 8.2l2.2 2.2l4-4.4",
  warn: "M8 2L14.6 13.8H1.4zM8 6.4v3.4M8 11.6v.5",
  bad: "M8 1.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 0 1 0-13zM5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8",
  none: "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14",
  info: "M8 1.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 0 1 0-13zM8 7.2v4M8 4.7v.4",
  open: "M6 4l4 4l-4 4",
  down: "M4 6l4 4l4-4",
  close: "M4 4l8 8M12 4l-8 8",
} as const;

export type IconName = keyof typeof PATHS;

/** Decorative: the word beside it says the same. */
export function icon(name: IconName): PageNode {
  return h(
    `svg.icon.icon-${name}`,
    { key: name, attrs: { viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" } },
    h("path", { attrs: { d: PATHS[name] } }),
  );
}
