/**
 * What the command that starts a run says over its config: Hydra's and OmegaConf's `a.b=1`, `+a=1`, `~a`, `group=option`,
 * and options that are keys of the config (`--per_device_train_batch_size 4`). The command wins, as in the libraries:
 * `hydra/_internal/config_loader_impl.py`, `trl/scripts/utils.py` (TrlParser), `axolotl/cli/utils/load.py`.
 */
import { LAUNCHER_OPTIONS } from "../../formats/launchers/options";
import { tableOf } from "../../formats/table";
import type { Format } from "../../formats/types";
import { NOWHERE, shifted } from "../../syntax/graft";
import { emptyMap } from "../../syntax/text";
import type { Entry, LocatedNode, MapNode, ShellCommand, Span } from "../../syntax/tree";
import type { LoadedDocument } from "../documents/store";

/** A command and the script it is in. */
export interface CommandLine {
  readonly script: LoadedDocument;
  readonly command: ShellCommand;
}

/** One override, places in the script. */
export interface Override {
  /** Path without its mark. */
  readonly key: string;
  readonly kind: "set" | "add" | "remove";
  readonly keySpan: Span;
  readonly value: LocatedNode;
}

/** The `key=value` arguments of a command in order. */
export function overridesOf({ script, command }: CommandLine): Override[] {
  const set = command.overrides.entries.map((entry): Override => {
    const mark = /^["']?([+~]*)/.exec(script.text.slice(entry.keySpan.start, entry.keySpan.start + 3))?.[1] ?? "";
    const kind = mark === "~" ? "remove" : mark === "+" ? "add" : "set";
    return { key: entry.key, kind, keySpan: entry.keySpan, value: entry.value };
  });
  const removed = command.positional.flatMap(({ node, text }): Override[] =>
    /^~[A-Za-z_][\w.@/-]*$/.test(text) ? [{ key: text.slice(1), kind: "remove", keySpan: node, value: node }] : [],
  );
  return [...set, ...removed];
}

/** Option of a group that an override chooses; undefined when it sets a value. */
export function groupOption({ key, value }: Override): string | undefined {
  if (key.includes(".") || value.kind !== "scalar" || value.value === null) return undefined;
  const option = String(value.value);
  return /^[\w./-]+$/.test(option) ? option : undefined;
}

/** Options of the command that the config's format knows as keys. */
function optionsOf({ command }: CommandLine, format: Format): Override[] {
  const { byPath } = tableOf(format.keys);
  return command.flags.entries.flatMap(({ key, keySpan, value }): Override[] => {
    const name = key.replaceAll("-", "_");
    return byPath.has(name) && !LAUNCHER_OPTIONS.has(name) ? [{ key: name, kind: "set", keySpan, value }] : [];
  });
}

/**
 * The config's map with what the command says in it.
 * @param used keys of overrides that chose a group's option
 * @param start of the script in the joined text
 * @returns undefined when the command says nothing
 */
export function overridden(
  root: MapNode,
  line: CommandLine,
  format: Format,
  used: ReadonlySet<string>,
  start: () => number,
): MapNode | undefined {
  const said = [...optionsOf(line, format), ...overridesOf(line).filter(({ key }) => !used.has(key))];
  return said.length === 0
    ? undefined
    : said.reduce(
        (map, override) => applied(map, override.key.split("@")[0]?.split(".") ?? [], override, start()),
        root,
      );
}

function applied(map: MapNode, [step = "", ...rest]: readonly string[], override: Override, start: number): MapNode {
  const old = map.entries.findLast((entry) => entry.key === step);
  const others = map.entries.filter((entry) => entry.key !== step);
  if (rest.length === 0) {
    if (override.kind === "remove") return { ...map, entries: others };
    const { keySpan } = override;
    const at = { start: keySpan.start + start, end: keySpan.end + start };
    return { ...map, entries: [...others, { key: step, keySpan: at, value: shifted(override.value, start) }] };
  }
  if (old === undefined && override.kind === "remove") return map;
  const inner = old?.value.kind === "map" ? old.value : emptyMap({ start: map.end, end: map.end });
  const value = applied(inner, rest, override, start);
  const entry: Entry = { key: step, keySpan: old?.keySpan ?? NOWHERE, value };
  return { ...map, entries: [...others, entry] };
}
