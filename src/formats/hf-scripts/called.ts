/** Settings that calls say, placed where they say it. */
import type { Entry, LocatedNode, PythonCall, PythonModule, Span } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";
import type { LocatedSetting } from "../types";

type Value = LocatedSetting["value"];

function scalar(value: string | number | boolean, at: Span): LocatedNode {
  return { kind: "scalar", value, raw: String(value), start: at.start, end: at.end };
}

export function at(name: SettingName, call: PythonCall, value: Value, node?: LocatedNode): LocatedSetting {
  const { calleeSpan: keySpan, callee: key } = call;
  const said = node ?? scalar(typeof value === "object" ? "" : value, keySpan);
  return { name, key, value, node: said, keySpan, valueSpan: { start: said.start, end: said.end } };
}

export function keyword({ keywords }: PythonCall, name: string): Entry | undefined {
  return keywords.entries.find(({ key }) => key === name);
}

export function plain(node: LocatedNode | undefined): string | number | boolean | null | undefined {
  return node?.kind === "scalar" ? node.value : undefined;
}

/** A dotted name with what its first part is imported as (`nn.Linear` for `torch.nn.Linear`); as it is where nothing binds it. */
export function qualified(name: string, { bound }: PythonModule): string {
  const [head = ""] = name.split(".", 1);
  const whole = bound.get(head);
  return whole === undefined ? name : whole + name.slice(head.length);
}
