/** Parts of the page without a browser: what a view describes, says and does when it is pressed. */
import type { PageToHost } from "../../src/server/panelProtocol";
import type { PageNode } from "../../webview-ui/dom/node";
import { translator } from "../../webview-ui/messages";
import { type Action, initialState, reduce, type State } from "../../webview-ui/state";
import type { View } from "../../webview-ui/view/context";

/** The view after actions; what it sends to the host and does to the state is collected. */
export function viewOf(...actions: readonly Action[]): { view: View; sent: PageToHost[]; acted: Action[] } {
  const state: State = actions.reduce(reduce, initialState(undefined, "en"));
  const sent: PageToHost[] = [];
  const acted: Action[] = [];
  const view: View = {
    state,
    t: translator(state.locale),
    send: (message) => void sent.push(message),
    act: (action) => void acted.push(action),
  };
  return { view, sent, acted };
}

/** Everything that is written in a part. */
export function textOf(node: PageNode | string | null): string {
  if (node === null) return "";
  if (typeof node === "string") return node.replaceAll("\u00a0", " ");
  // Where a word may break it is one word all the same.
  const joint = node.children.some((child) => typeof child !== "string" && child.tag === "wbr") ? "" : " ";
  return node.children.map(textOf).join(joint);
}

export function buttons(node: PageNode | string | null): PageNode[] {
  if (node === null || typeof node === "string") return [];
  return [...(node.tag === "button" ? [node] : []), ...node.children.flatMap(buttons)];
}

export const press = (node: PageNode | undefined) => node?.on?.["click"]?.(undefined as unknown as Event);
