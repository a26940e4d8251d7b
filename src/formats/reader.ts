/**
 * Reading a config by its table of keys: which keys are ours, whether their values have the type the library wants,
 * and where each was written. A format is a table plus the few rules a table cannot hold.
 */

import type { Entry, LocatedNode, MapNode } from "../syntax/tree";
import { costsNothing } from "./costless";
import { directionOf } from "./directions";
import { renaming } from "./fix";
import { nearest } from "./suggest";
import { type KeyTable, lastEntries, problem } from "./table";
import type { FormatProblem, KeySpec, LocatedSetting, SettingName } from "./types";
import { readValue } from "./value";

/** How a library treats values, and keys that the table does not have. */
export interface ReadPolicy {
  /**
   * Whether the library checks types. Those that do not get templates with keys without a value and words in capitals
   * (`FULL_SHARD`) that are values; a wrong type is an error only where the number itself cannot be used.
   */
  readonly strict?: true;
  /** Text that looks like a number is converted (argparse does; a plain dataclass does not). */
  readonly convertsText: (path: string) => boolean;
  /** A list may stand for a single value, to be tried one after the other (DeepSpeed's autotuning). */
  readonly tuned?: boolean;
  readonly unknownKeys?: UnknownKeys;
  /** Paths that have no row and are read all the same, by code of their own. */
  readonly readsBeside?: (path: string) => boolean;
}

/** What the library does with keys it does not know; near misses of known ones are reported. */
export interface UnknownKeys {
  /** Whether the library has a key that changes no memory, by its name and dotted path. */
  readonly knows: (name: string, path: string) => boolean;
  /** Names a near miss may have meant that are no near misses of ours. */
  readonly others: (parent: string) => Iterable<string>;
  /** Blocks whose content is looked at; all when not said. */
  readonly looksAt?: (parent: string) => boolean;
  /** Blocks (`""` is the root) that make the library stop at any unknown key. */
  readonly rejectsIn?: (parent: string) => boolean;
  /** Name of the library when it stops at a key it does not know. */
  readonly stops?: string;
}

/** What was read of a map. */
export interface ByTable {
  readonly settings: LocatedSetting[];
  readonly problems: FormatProblem[];
}

/** Reads the settings of a map by a table. Keys are shown below `shownUnder` when the map is part of another config. */
export function readByTable(map: MapNode, table: KeyTable, policy: ReadPolicy, shownUnder = ""): ByTable {
  const read: ByTable = { settings: [], problems: [] };
  for (const { path, entry } of flatten(map)) {
    const spec = table.byPath.get(path);
    const place = { path, shown: shownUnder === "" ? path : `${shownUnder}.${path}`, entry };
    if (spec !== undefined) readKey(spec, place, table, policy, read);
    else {
      const problems = unknownKey(entry, path, table, policy.unknownKeys);
      read.problems.push(...problems);
      if (problems.length === 0 && isUnread(place, table, policy)) read.settings.push(unread(place));
    }
  }
  return read;
}

/** A key that no row has is not dropped in silence: nothing is known of what it does to memory. */
function unread({ shown, entry }: Place): LocatedSetting {
  const { keySpan, value: node } = entry;
  const value = node.kind === "scalar" ? node.value : null;
  const valueSpan = { start: node.start, end: node.end };
  return { name: null, key: shown, value, uncounted: true, node, keySpan, valueSpan };
}

/** Whether nothing reads a key that asks for something, and its name does not say that it costs no memory. */
function isUnread({ path, entry }: Place, table: KeyTable, policy: ReadPolicy): boolean {
  const { value: node } = entry;
  if (node.kind === "map" || !asksFor(node, node.kind === "scalar" ? node.value : null)) return false;
  return !costsNothing(path) && policy.readsBeside?.(path) !== true && !isReadWhole(path, table);
}

/** Whether a block around a path has a row and none for its keys, or one that takes no memory: it is read, or listed, as one. */
function isReadWhole(path: string, table: KeyTable): boolean {
  for (let cut = path.lastIndexOf("."); cut > 0; cut = path.lastIndexOf(".", cut - 1)) {
    const block = path.slice(0, cut);
    const spec = table.byPath.get(block);
    if (spec !== undefined) return !spec.memory || !table.children.has(block);
  }
  return false;
}

/** All entries below a map with their dotted paths, maps before their content; duplicates as their readers take them. */
export function* flatten(map: MapNode, prefix = "", depth = 0): Generator<{ path: string; entry: Entry }> {
  if (depth > 24) return;
  for (const entry of lastEntries(map)) {
    const path = prefix === "" ? entry.key : `${prefix}.${entry.key}`;
    yield { path, entry };
    if (entry.value.kind === "map") yield* flatten(entry.value, path, depth + 1);
  }
}

/** Where a key stands: its path in the table and as it is shown. */
interface Place {
  readonly path: string;
  readonly shown: string;
  readonly entry: Entry;
}

function readKey(spec: KeySpec, { path, shown, entry }: Place, table: KeyTable, policy: ReadPolicy, into: ByTable) {
  const key = policy.strict === true ? spec : asWritten(spec, entry.value);
  const read = readValue(key, entry.value, policy.convertsText(path), policy.tuned);
  if (read.problem !== undefined) {
    const found = policy.strict === true ? read.problem : graded(read.problem, spec.name);
    into.problems.push(read.invalid && spec.name !== null ? { ...found, leaves: spec.name } : found);
  }
  if (read.invalid) return;
  const base = {
    key: shown,
    node: entry.value,
    keySpan: entry.keySpan,
    valueSpan: { start: entry.value.start, end: entry.value.end },
    ...(read.unknown === true ? { unknown: true as const } : {}),
  };
  const direction = directionOf(spec.effect);
  const uncounted =
    policy.readsBeside?.(path) !== true && isUncounted(spec, table, path, entry.value, read.value)
      ? { uncounted: true as const, ...(direction === undefined ? {} : { direction }) }
      : {};
  into.settings.push({ ...base, ...uncounted, name: spec.name, value: meaning(read.value, spec.means) });
  for (const also of spec.also ?? []) {
    const text = textOf(read.value);
    if (also.only && (text === undefined || meant(also.means, text) === undefined)) continue;
    into.settings.push({ ...base, name: also.name, value: meaning(read.value, also.means) });
  }
}

/** The key as libraries without a check of types take it. */
function asWritten(key: KeySpec, node: LocatedNode): KeySpec {
  const word = node.kind === "scalar" && typeof node.value === "string" && /^[A-Z][A-Z0-9_]*$/.test(node.value);
  if (key.type === "string" && word) return { ...key, type: "any" };
  // Templates of these frameworks list many keys without a value: unset, not half typed.
  return COUNTS.has(key.name ?? "") ? key : { ...key, nullable: true };
}

/** Settings of which none or a negative number makes no run; elsewhere frameworks give such numbers a meaning. */
const COUNTS: ReadonlySet<string> = new Set(["micro_batch_size", "gradient_accumulation_steps", "sequence_length"]);

/** A wrong type is an error only where the number itself cannot be used; a mere choice we do not know is not. */
function graded(found: FormatProblem, name: SettingName | null): FormatProblem {
  const hard =
    /not-a-number|not-an-integer/.test(found.message.id) ||
    (found.message.id === "invalid-value.too-small" && COUNTS.has(name ?? ""));
  return found.severity === "error" && !hard ? { ...found, severity: "warning" } : found;
}

function textOf(value: LocatedSetting["value"]): string | undefined {
  return value === null ? "null" : typeof value === "object" ? undefined : String(value);
}

/** What a value of a file means: of the key's own words alone. */
function meant(means: KeySpec["means"], text: string): string | number | boolean | null | undefined {
  return means !== undefined && Object.hasOwn(means, text) ? means[text] : undefined;
}

function meaning(value: LocatedSetting["value"], means: KeySpec["means"]): LocatedSetting["value"] {
  const text = textOf(value);
  if (means === undefined || text === undefined) return value;
  const direct = meant(means, text) ?? meant(means, text.toLowerCase());
  return direct === undefined ? value : direct;
}

function unknownKey(entry: Entry, path: string, table: KeyTable, policy: UnknownKeys | undefined): FormatProblem[] {
  const cut = path.lastIndexOf(".");
  const parent = cut < 0 ? "" : path.slice(0, cut);
  const name = path.slice(cut + 1);
  if (policy === undefined || policy.looksAt?.(parent) === false || policy.knows(name, path)) return [];
  const rejected = policy.rejectsIn?.(parent) === true;
  const siblings = table.children.get(parent) ?? [];
  const near = nearest(name, [...siblings, ...policy.others(parent)]);
  const fixes = near === undefined ? [] : [renaming(entry.keySpan, near)];
  const said = (severity: "error" | "warning", id: UnknownKeyId) => [
    problem(
      "unknown-key",
      severity,
      entry.keySpan,
      id,
      { key: entry.key, parent, near: near ?? "", library: policy.stops ?? "" },
      fixes,
    ),
  ];
  // Without a near miss it may be a key of a release newer than the table.
  if (rejected)
    return near === undefined ? said("warning", "unknown-key.rejected") : said("error", "unknown-key.rejected-near");
  if (near === undefined || !siblings.includes(near)) return [];
  return said("warning", policy.stops === undefined ? "unknown-key.ignored-near" : "unknown-key.stops-near");
}

type UnknownKeyId =
  | "unknown-key.rejected"
  | "unknown-key.rejected-near"
  | "unknown-key.ignored-near"
  | "unknown-key.stops-near";

/** Values that leave a key's effect out, beside the library's default. */
const IDLE: ReadonlySet<string> = new Set([
  "",
  "0",
  "1",
  "-1",
  "false",
  "none",
  "no",
  "off",
  "null",
  "[object Object]",
]);

/** Whether a key that changes memory and stands for no setting asks for its effect; blocks leave that to their keys. */
function isUncounted(
  spec: KeySpec,
  table: KeyTable,
  path: string,
  node: LocatedNode,
  value: LocatedSetting["value"],
): boolean {
  if (spec.name !== null || !spec.memory || spec.also !== undefined || table.children.has(path)) return false;
  const counted = value === spec.default || spec.computed?.includes(String(value)) === true;
  return asksFor(node, value) && (node.kind !== "scalar" || !counted);
}

/** Whether a value is none of those that leave a key's effect out. */
function asksFor(node: LocatedNode, value: LocatedSetting["value"]): boolean {
  if (node.kind === "list") return node.items.length > 0;
  if (node.kind === "map") return node.entries.length > 0;
  return !IDLE.has(String(value ?? "").toLowerCase());
}
