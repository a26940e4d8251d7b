/** A format's keys prepared for look-ups, and what everything that reads by them shares. */
import type { Entry, LocatedNode, MapNode, Span } from "../syntax/tree";
import { divisorAtMost } from "../terms/divisors";
import type { Message, MessageId } from "../words/message";
import { setting } from "./fix";
import type { FormatProblem, KeySpec, LocatedSetting, ProblemFix, Severity } from "./types";

/** A table prepared for look-ups: every spelling of every key. */
export interface KeyTable {
  readonly byPath: ReadonlyMap<string, KeySpec>;
  /** Spellings directly below each parent path (`""` is the root), for suggestions. */
  readonly children: ReadonlyMap<string, readonly string[]>;
}

/** A key with another spelling of it, as the library accepts it. */
export function tableOf(keys: readonly KeySpec[]): KeyTable {
  const byPath = new Map<string, KeySpec>();
  const children = new Map<string, string[]>();
  for (const spec of keys) {
    for (const path of [spec.key, ...(spec.aliases ?? [])]) {
      byPath.set(path, spec);
      const cut = path.lastIndexOf(".");
      const parent = cut < 0 ? "" : path.slice(0, cut);
      const list = children.get(parent);
      if (list) list.push(path.slice(cut + 1));
      else children.set(parent, [path.slice(cut + 1)]);
    }
  }
  return { byPath, children };
}

export function problem(
  code: string,
  severity: Severity,
  span: Span,
  id: MessageId,
  args: Message["args"] = {},
  fixes: readonly ProblemFix[] = [],
): FormatProblem {
  const { start, end } = span;
  return { code, severity, message: { id, args }, start, end, ...(fixes.length === 0 ? {} : { fixes }) };
}

/** Entries of a map with duplicates resolved as YAML and JSON readers do: the last wins. */
export function lastEntries(map: MapNode): Entry[] {
  const last = new Map<string, Entry>();
  for (const entry of map.entries) last.set(entry.key, entry);
  return [...last.values()];
}

/** Plain value of a node; unknown parts become null. */
export function plainValue(node: LocatedNode): unknown {
  switch (node.kind) {
    case "scalar":
      return node.value;
    case "list":
      return node.items.map(plainValue);
    case "map":
      return Object.fromEntries(lastEntries(node).map((entry) => [entry.key, plainValue(entry.value)]));
    case "unknown":
      return null;
  }
}

/** The global batch is no multiple of the micro-batch: whatever the number of GPUs, no accumulation fits. */
export function batchMultiple(settings: readonly LocatedSetting[]): FormatProblem[] {
  const number = (name: string) =>
    settings.findLast((setting) => setting.name === name && typeof setting.value === "number");
  const total = number("global_batch_size");
  const micro = number("micro_batch_size");
  if (total === undefined || micro === undefined || Number(total.value) % Number(micro.value) === 0) return [];
  const args = { total: Number(total.value), micro: Number(micro.value) };
  return [problem("batch-multiple", "error", total.valueSpan, "batch-multiple", args, divisor(micro, args))];
}

/** The largest micro-batch below the stated one that the global batch is a multiple of. */
function divisor(micro: LocatedSetting, args: { total: number; micro: number }): ProblemFix[] {
  const largest = divisorAtMost(args.total, args.micro - 1);
  return largest === null ? [] : [setting(micro.key, { name: "micro_batch_size", value: largest }, true)];
}
