/**
 * Descriptions of page elements. Views return these; `patch` brings the document in line with them, so an element that
 * stays keeps its focus, its scroll position and what a person typed into it.
 */

import { printableLines } from "../../src/words/printable";

export type Attribute = string | number | boolean | undefined;

export interface Props {
  /** Tells siblings apart when their order or number changes. */
  readonly key?: string | undefined;
  /** Attributes; `false` and `undefined` remove one, `true` sets it empty. */
  readonly attrs?: Readonly<Record<string, Attribute>> | undefined;
  /** DOM properties that attributes do not reach once a person has interacted (`checked`, `value`). */
  readonly set?: Readonly<Record<string, string | boolean>> | undefined;
  /** Set through the CSSOM, which a content security policy without `unsafe-inline` allows. */
  readonly style?: Readonly<Record<string, string>> | undefined;
  readonly on?: Readonly<Record<string, (event: Event) => void>> | undefined;
}

export interface PageNode extends Props {
  readonly tag: string;
  readonly children: readonly (PageNode | string)[];
}

export type Child = PageNode | string | null | undefined | false | readonly Child[];

/** Attributes that people read. */
const READ = /^(?:title|alt|placeholder|aria-.*)$/;

/** Values come out of files: nothing in them moves a cursor or turns the direction of what stands beside them. */
function shown(attrs: Props["attrs"]): Props["attrs"] {
  if (attrs === undefined) return attrs;
  const entries = Object.entries(attrs).map(([name, value]): [string, Attribute] => [
    name,
    typeof value === "string" && READ.test(name) ? printableLines(value) : value,
  ]);
  return Object.fromEntries(entries);
}

function flatten(children: readonly Child[], into: (PageNode | string)[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false || child === "") continue;
    if (Array.isArray(child)) flatten(child as readonly Child[], into);
    else into.push(typeof child === "string" ? printableLines(child) : (child as PageNode));
  }
}

/**
 * Describes one element.
 *
 * @param selector tag with classes, `div.card.plan`
 */
export function h(selector: string, props: Props | null, ...children: readonly Child[]): PageNode {
  const [tag = "div", ...classes] = selector.split(".");
  const flat: (PageNode | string)[] = [];
  flatten(children, flat);
  const attrs = classes.length === 0 ? props?.attrs : { class: classes.join(" "), ...props?.attrs };
  return { ...props, tag, attrs: shown(attrs), children: flat };
}
