/** Views of documents for the formats: data files, commands in scripts, calls in Python. */

import { hasInterpolation, interpolate } from "../syntax/interpolate";
import { emptyMap } from "../syntax/text";
import type { Entry, MapNode, PythonCall, PythonModule, ShellCommand, ShellScript, SyntaxId } from "../syntax/tree";
import type { SettingName } from "../terms/settings";
import { attributesSet } from "./attributes";
import type { View } from "./schema";
import type { ConfigDocument, LocatedSetting } from "./types";
import { launchCounts } from "./world-size";

/** Views are asked for by every format and depend on the document alone. */
function oncePerDocument<T>(make: (document: ConfigDocument) => T): (document: ConfigDocument) => T {
  const made = new WeakMap<ConfigDocument, T>();
  return (document) => {
    const known = made.get(document);
    if (known !== undefined) return known;
    const value = make(document);
    made.set(document, value);
    return value;
  };
}

const interpolated = oncePerDocument((document): MapNode | null => {
  const { root } = document.parsed;
  return root?.kind !== "map" ? null : hasInterpolation(document.text) ? interpolate(root) : root;
});

/** The root of a data file. */
export function dataView(document: ConfigDocument, syntaxes: readonly SyntaxId[], omegaConf = false): readonly View[] {
  const { root, syntax } = document.parsed;
  if (root?.kind !== "map" || syntax === undefined || !syntaxes.includes(syntax)) return [];
  const map = omegaConf ? (interpolated(document) ?? root) : root;
  return [{ map, target: root, words: [] }];
}

/** Programs that install, copy or build. */
const HOUSEKEEPING =
  /(?:^|\/)(?:pip3?|uv|conda|mamba|git|docker|podman|apt|apt-get|yum|wget|curl|cp|mv|rm|mkdir|cd|echo|export|set|source|sed|grep|tar|make|cmake|ninja)$/;

/** The commands of a script that have arguments, the largest first; flags in underscore spelling and overrides. */
export const shellViews = oncePerDocument((document): readonly View[] => {
  const { shell } = document.parsed;
  if (shell === undefined) return [];
  return shell.commands
    .filter((command) => command.words.length > 1 && !HOUSEKEEPING.test(command.words[0]?.text ?? ""))
    .map((command) => ({ command, size: command.flags.entries.length + command.overrides.entries.length }))
    .sort((a, b) => b.size - a.size)
    .slice(0, 40)
    .map(({ command }) => viewOf(command, shell));
});

function viewOf(command: ShellCommand, { directives, sealed }: ShellScript): View {
  const flags = command.flags.entries.map((entry): Entry => ({ ...entry, key: entry.key.replaceAll("-", "_") }));
  const entries = [...flags, ...command.overrides.entries];
  return {
    map: { kind: "map", entries, start: command.start, end: command.end },
    ...(sealed === true ? {} : { target: { kind: "map", entries, start: command.start, end: command.end } }),
    words: command.words.map((word) => word.text),
    extra: [...launchCounts(command, directives), ...environmentSettings(command)],
  };
}

/** Both names of the allocator's variable; the second is the newer one. */
const ALLOCATOR_VARIABLES = ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"];

/** What the allocator's environment variable may set, and how its value is read. */
const ALLOCATOR_OPTIONS: readonly (readonly [name: SettingName, option: RegExp])[] = [
  ["expandable_segments", /expandable_segments\s*:\s*(true|false)/i],
  ["max_split_size_mb", /max_split_size_mb\s*:\s*(\d+)/],
  // A list gives a number per size; the last one holds for every larger size.
  ["roundup_power2_divisions", /roundup_power2_divisions\s{0,9}:\s{0,9}(?:\[[^\]]{0,200}>\s{0,9}:\s{0,9})?(\d+)/],
];

/** What the allocator's environment variable sets for the command: `expandable_segments:True,max_split_size_mb:128`. */
function allocatorSettings(command: ShellCommand): LocatedSetting[] {
  const entry = flag(command.environment, ALLOCATOR_VARIABLES);
  const text = entry?.value.kind === "scalar" ? entry.value.value : undefined;
  if (entry === undefined || typeof text !== "string") return [];
  return ALLOCATOR_OPTIONS.flatMap(([name, option]) => {
    const stated = option.exec(text)?.[1]?.toLowerCase();
    if (stated === undefined) return [];
    return [
      {
        name,
        key: entry.key,
        value: /^\d+$/.test(stated) ? Number(stated) : stated === "true",
        node: entry.value,
        keySpan: entry.keySpan,
        valueSpan: { start: entry.value.start, end: entry.value.end },
      },
    ];
  });
}

/** What the command's environment variables say of memory. */
export function environmentSettings(command: ShellCommand): LocatedSetting[] {
  return [...allocatorSettings(command), ...workspaceSetting(command)];
}

/** The workspaces that cuBLAS's environment variable asks for. */
function workspaceSetting(command: ShellCommand): LocatedSetting[] {
  const entry = flag(command.environment, ["CUBLAS_WORKSPACE_CONFIG"]);
  if (entry?.value.kind !== "scalar" || typeof entry.value.value !== "string") return [];
  const { keySpan, key, value: node } = entry;
  const valueSpan = { start: node.start, end: node.end };
  return [{ name: "blas_workspace", key, value: entry.value.value, node, keySpan, valueSpan }];
}

function flag(map: MapNode, names: readonly string[]): Entry | undefined {
  return map.entries.findLast((entry) => names.includes(entry.key.replaceAll("-", "_")));
}

/** Classes that hold settings: their attributes are what their arguments are. */
const CONFIGURES = /(?:Config|Arguments)$/;

/**
 * Keyword arguments of the calls a format knows, put under a prefix each (`LoraConfig` → `lora.`).
 *
 * @param isRead whether a call says something of the run, where not all do
 * @param later what is said of an object of settings after the call that makes it
 */
export function pythonView(
  document: ConfigDocument,
  prefixes: readonly (readonly [RegExp, string])[],
  isRead: (call: PythonCall) => boolean = () => true,
  later: (call: PythonCall, python: PythonModule) => readonly Entry[] = attributesSet,
): readonly View[] {
  const { python } = document.parsed;
  if (python === undefined) return [];
  const entries: Entry[] = [];
  const words: string[] = [];
  const calls: { readonly prefix: string; readonly call: PythonCall }[] = [];
  let target: MapNode | undefined;
  for (const call of python.calls) {
    const prefix = prefixes.find(([pattern]) => pattern.test(call.callee))?.[1];
    if (prefix === undefined || !isRead(call)) continue;
    words.push(call.callee);
    calls.push({ prefix, call });
    if (prefix === "" && (target === undefined || call.keywords.entries.length > target.entries.length))
      target = call.keywords;
    const set = CONFIGURES.test(call.callee) ? later(call, python) : [];
    for (const entry of [...entriesOf(call), ...set]) entries.push({ ...entry, key: prefix + entry.key });
  }
  if (words.length === 0) return [];
  const map: MapNode = { ...emptyMap({ start: 0, end: document.text.length }), entries };
  return [{ map, ...(target === undefined ? {} : { target }), words: [...words, ...python.imports], calls }];
}

/** Keywords of a call, with the first positional argument as `0` and the call itself as `call`. */
function entriesOf(call: PythonCall): Entry[] {
  const first = call.positional[0];
  const called: Entry = {
    key: "call",
    keySpan: call.calleeSpan,
    value: { kind: "scalar", value: true, raw: "", start: call.calleeSpan.end, end: call.calleeSpan.end },
  };
  const positional = first === undefined ? [] : [{ key: "0", keySpan: call.calleeSpan, value: first }];
  return [called, ...positional, ...call.keywords.entries];
}

function atLineStart(text: string, at: number): boolean {
  return at === 0 || text.charAt(at - 1) === "\n";
}

/** The module-level names of a Python file, for formats written as plain assignments (`model = dict(…)`). */
export function assignmentView(document: ConfigDocument): readonly View[] {
  const { python } = document.parsed;
  if (python === undefined) return [];
  const entries = python.assignments.entries.filter((entry) => atLineStart(document.text, entry.keySpan.start));
  return [
    { map: { ...python.assignments, entries }, words: [...python.imports, ...python.calls.map((call) => call.callee)] },
  ];
}
