/** Parts that the page's tables share. */
import { h, type PageNode } from "../dom/node";

/** A heading of a column; `kind` are its classes: `.number`. */
export type Column = string | readonly [text: string, kind: string];

/** The caption for screen readers and the row of headings. */
export function tableHead(title: string, columns: readonly Column[]): readonly PageNode[] {
  return [
    h("caption.unseen", { key: "caption" }, title),
    h(
      "thead",
      { key: "head" },
      h(
        "tr",
        null,
        columns.map((column, place) => {
          const [text, kind] = typeof column === "string" ? [column, ""] : column;
          return h(`th${kind}`, { key: String(place), attrs: { scope: "col" } }, breakable(text));
        }),
      ),
    ),
  ];
}

/** A table that may be wider than its column: it scrolls by itself, also with the keys. */
export function wideTable(key: string, title: string, table: PageNode): PageNode {
  return h("div.wide", { key, attrs: { tabindex: "0", role: "group", "aria-label": title } }, table);
}

/** A key or a path that may break after its underscores, dots, dashes and slashes, and nowhere else. */
export function breakable(key: string): readonly (string | PageNode)[] {
  return key
    .split(/(?<=[_./-])/)
    .flatMap((part, index) => (index === 0 ? [part] : [h("wbr", { key: String(index) }), part]));
}
