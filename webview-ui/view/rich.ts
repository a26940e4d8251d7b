/** Messages of the analysis name keys in backticks; on the page they read as code. */
import { h, type PageNode } from "../dom/node";

export function rich(text: string): readonly (PageNode | string)[] {
  return text
    .split(/`([^`]+)`/)
    .map((part, index) => (index % 2 === 1 ? h("code", { key: String(index) }, part) : part));
}
