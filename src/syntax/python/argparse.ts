/** What argparse adds to a namespace. */
import type { Entry, PythonCall } from "../tree";

/** Defaults that `parser.add_argument("--name", default=…)` calls give, keyed by the attribute argparse sets. */
export function argparseDefaults(calls: readonly PythonCall[]): Entry[] {
  const entries: Entry[] = [];
  for (const call of calls) {
    if (!/(?:^|\.)add_argument$/.test(call.callee)) continue;
    const options = call.positional.filter(
      (node) => node.kind === "scalar" && typeof node.value === "string" && node.value.startsWith("-"),
    );
    const long = options.find((node) => node.kind === "scalar" && String(node.value).startsWith("--")) ?? options[0];
    if (long?.kind !== "scalar") continue;
    const action = call.keywords.entries.find((entry) => entry.key === "action")?.value;
    const stated = call.keywords.entries.find((entry) => entry.key === "default")?.value;
    const dest = call.keywords.entries.find((entry) => entry.key === "dest")?.value;
    const key =
      dest?.kind === "scalar" && typeof dest.value === "string"
        ? dest.value
        : String(long.value).replace(/^-+/, "").replaceAll("-", "_");
    const flag = action?.kind === "scalar" && (action.value === "store_true" || action.value === "store_false");
    const value =
      stated ??
      (flag
        ? ({ kind: "scalar", value: action.value === "store_false", raw: "", start: call.end, end: call.end } as const)
        : undefined);
    if (value !== undefined) entries.push({ key, keySpan: { start: long.start, end: long.end }, value });
  }
  return entries;
}
