/** What calls are given, and settings that a script's code says, placed where it says them. */
import type { Entry, ListNode, LocatedNode, PythonCall, PythonModule, ScalarNode, Span } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";
import type { LocatedSetting } from "../types";

type Value = LocatedSetting["value"];

/** A value that is written nowhere, at the place that says it. */
export function scalar(value: string | number | boolean, { start, end }: Span): ScalarNode {
  return { kind: "scalar", value, raw: String(value), start, end };
}

/** A setting of a key whose value stands in another place than the key. */
export function placed(name: SettingName, key: string, keySpan: Span, node: LocatedNode, value: Value): LocatedSetting {
  return { name, key, value, node, keySpan, valueSpan: { start: node.start, end: node.end } };
}

/** A setting that a call says by being made. */
export function at(
  name: SettingName,
  { calleeSpan, callee }: Pick<PythonCall, "callee" | "calleeSpan">,
  value: Value,
  node?: LocatedNode,
): LocatedSetting {
  const said = node ?? scalar(value === null || typeof value === "object" ? "" : value, calleeSpan);
  return placed(name, callee, calleeSpan, said, value);
}

/** Something that changes memory and that nothing is computed from. */
export function uncounted(key: string, keySpan: Span, node: LocatedNode | Span): LocatedSetting {
  const { start, end } = node;
  const told =
    "kind" in node
      ? node
      : { kind: "unknown" as const, raw: key, reason: { id: "open.expression" as const, args: {} }, start, end };
  return { name: null, key, value: null, uncounted: true, node: told, keySpan, valueSpan: { start, end } };
}

/** A setting that an argument or an assignment says. */
export function said(name: SettingName, { key, keySpan, value: node }: Entry, value = plain(node) ?? null) {
  return placed(name, key, keySpan, node, value);
}

/** A setting of several texts, each with its place; none where there are no texts. */
export function listed(
  name: SettingName,
  key: string,
  texts: readonly { readonly at: Span; readonly text: string }[],
  keySpan = texts[0]?.at,
  { start, end } = texts[0]?.at ?? { start: 0, end: 0 },
): LocatedSetting[] {
  if (keySpan === undefined || texts.length === 0) return [];
  const node: ListNode = { kind: "list", items: texts.map(({ at, text }) => scalar(text, at)), start, end };
  return [placed(name, key, { start: keySpan.start, end: keySpan.end }, node, null)];
}

/** The argument that a call is given by one of these names. */
export function keyword(call: PythonCall | undefined, ...names: readonly string[]): Entry | undefined {
  return call?.keywords.entries.find(({ key }) => names.includes(key));
}

/** The value of such an argument. */
export function given(call: PythonCall | undefined, ...names: readonly string[]): LocatedNode | undefined {
  return keyword(call, ...names)?.value;
}

export function plain(node: LocatedNode | undefined): string | number | boolean | null | undefined {
  return node?.kind === "scalar" ? node.value : undefined;
}

/** Last part of a dotted name. */
export function lastName(dotted: string): string {
  return dotted.slice(dotted.lastIndexOf(".") + 1);
}

/** Whether something stands inside of a class, or a function. */
export function isInside({ start, end }: Span, around: Span | undefined): boolean {
  return around !== undefined && start >= around.start && end <= around.end;
}

/** A dotted name with what its first part is imported as (`nn.Linear` for `torch.nn.Linear`); as it is where nothing binds it. */
export function qualified(name: string, { bound }: PythonModule): string {
  const [head = ""] = name.split(".", 1);
  const whole = bound.get(head);
  return whole === undefined ? name : whole + name.slice(head.length);
}
