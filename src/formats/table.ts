/**
 * Reading a config by its table of keys: which keys are ours, whether their values have the type the library wants,
 * and where each was written. A format is a table plus the few rules a table cannot hold.
 */
import type { Entry, LocatedNode, MapNode, Span } from "../syntax/tree";
import type { Message, MessageId } from "../words/message";
import { renaming, replacing, setting } from "./fix";
import { nearest } from "./suggest";
import type { FormatProblem, KeySpec, LocatedSetting, ProblemFix, Severity } from "./types";

/** A table prepared for look-ups: every spelling of every key. */
export interface KeyTable {
  readonly byPath: ReadonlyMap<string, KeySpec>;
  /** Spellings directly below each parent path (`""` is the root), for suggestions. */
  readonly children: ReadonlyMap<string, readonly string[]>;
}

/** Options that say how the library treats what the table does not cover. */
export interface ReadPolicy {
  /** Parent paths whose unknown keys make the library stop (`""` is the root). */
  readonly forbidsUnknown: (parent: string) => boolean;
  /** Keys the library knows and that have no memory effect; not reported as unknown. */
  readonly otherKeys: ReadonlySet<string>;
  /** Text that looks like a number is converted (argparse does; a plain dataclass does not). */
  readonly convertsText: (path: string) => boolean;
  /** Parents whose content is free (`model_init_kwargs`, `dataset_kwargs`). */
  readonly free: (parent: string) => boolean;
  /** A list may stand for a single value, to be tried one after the other (DeepSpeed's autotuning). */
  readonly tuned?: boolean;
  /** Severity of a near miss of a known key where unknown keys are ignored. */
  readonly nearMiss: Severity;
}

interface Sink {
  readonly settings: LocatedSetting[];
  readonly problems: FormatProblem[];
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

const TEMPLATE = /^\$\w+$|^<[^<>]+>$|^\?{2,}$|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+,?$/;

/** Whether one mark stands somewhere after another. */
function encloses(text: string, open: string, close: string): boolean {
  const from = text.indexOf(open);
  return from >= 0 && text.includes(close, from + open.length);
}

/** Whether a text stands for a value somebody fills in later. */
export function isTemplate(text: string): boolean {
  return encloses(text, "{{", "}}") || encloses(text, "${", "}") || TEMPLATE.test(text.trim());
}

/** What a script or an environment fills in, whatever the key takes. */
const FILLED_IN = /^\s*(?:\$\{[A-Z][A-Z0-9_]*\}|\{\{.*\}\})\s*$/;

/** A word in capitals where a number belongs is filled in by a script (`GBSIZE`). */
const PLACEHOLDER = /^(?!(?:TRUE|FALSE|NONE|NULL|NAN|INF|YES|OFF|AUTO)\b)[A-Z][A-Z0-9_]{2,},?$/;

function isCounted(spec: KeySpec): boolean {
  return spec.type === "integer" || spec.type === "number" || spec.type === "boolean";
}

/** Reads the settings of `map` (found at `prefix`) by the table. */
export function readByTable(map: MapNode, table: KeyTable, policy: ReadPolicy, prefix = ""): Sink {
  const sink: Sink = { settings: [], problems: [] };
  readMap(map, table, policy, prefix, sink, 0);
  return sink;
}

function readMap(map: MapNode, table: KeyTable, policy: ReadPolicy, prefix: string, sink: Sink, depth: number): void {
  if (depth > 24) return;
  for (const entry of lastEntries(map)) {
    const path = prefix === "" ? entry.key : `${prefix}.${entry.key}`;
    const spec = table.byPath.get(path);
    if (spec === undefined) {
      unknownKey(entry, prefix, path, table, policy, sink);
      continue;
    }
    const read = readValue(spec, entry.value, policy.convertsText(path), policy.tuned === true);
    if (read.problem) sink.problems.push(read.problem);
    if (!read.invalid) {
      sink.settings.push({
        name: spec.name,
        key: path,
        value: read.value,
        ...(read.unknown === true ? { unknown: true } : {}),
        ...(isUncounted(spec, table, path, entry.value, read.value) ? { uncounted: true } : {}),
        node: entry.value,
        keySpan: entry.keySpan,
        valueSpan: { start: entry.value.start, end: entry.value.end },
      });
    }
    if (entry.value.kind === "map" && (spec.type === "map" || spec.type === "any")) {
      readMap(entry.value, table, policy, path, sink, depth + 1);
    }
  }
}

function unknownKey(entry: Entry, parent: string, path: string, table: KeyTable, policy: ReadPolicy, sink: Sink): void {
  if (policy.otherKeys.has(path) || policy.free(parent)) return;
  const siblings = table.children.get(parent) ?? [];
  const near = nearest(entry.key, [...siblings, ...(parent === "" ? policy.otherKeys : [])]);
  if (policy.forbidsUnknown(parent)) {
    // Without a near miss it may be a key of a release newer than the table.
    const [severity, id] =
      near === undefined
        ? (["warning", "unknown-key.rejected"] as const)
        : (["error", "unknown-key.rejected-near"] as const);
    sink.problems.push(
      problem(
        "unknown-key",
        severity,
        entry.keySpan,
        id,
        { key: entry.key, parent, near: near ?? "" },
        near === undefined ? [] : [renaming(entry.keySpan, near)],
      ),
    );
  } else if (near !== undefined && siblings.includes(near)) {
    sink.problems.push(
      problem("unknown-key", policy.nearMiss, entry.keySpan, "unknown-key.ignored-near", { key: entry.key, near }, [
        renaming(entry.keySpan, near),
      ]),
    );
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
  let largest = args.micro - 1;
  while (largest > 1 && args.total % largest !== 0) largest--;
  return largest < 1 ? [] : [setting(micro.key, { name: "micro_batch_size", value: largest }, true)];
}

/** Values that leave a key's effect out, beside the library's default. */
const IDLE: ReadonlySet<string> = new Set(["", "0", "1", "false", "none", "no", "off", "null", "[object Object]"]);

/** Whether a key that changes memory and stands for no setting asks for its effect; blocks leave that to their keys. */
export function isUncounted(
  spec: KeySpec,
  table: KeyTable,
  path: string,
  node: LocatedNode,
  value: LocatedSetting["value"],
): boolean {
  if (spec.name !== null || !spec.memory || spec.also !== undefined || table.children.has(path)) return false;
  if (node.kind === "list") return node.items.length > 0;
  if (node.kind === "map") return node.entries.length > 0;
  return value !== spec.default && !IDLE.has(String(value ?? "").toLowerCase());
}

interface ReadValue {
  readonly value: LocatedSetting["value"];
  readonly problem?: FormatProblem;
  readonly unknown?: true;
  /** The library cannot use the value: the setting is left out, so that no number is built on it. */
  readonly invalid?: true;
}

/** The value as the library would take it, or what is wrong with it. */
export function readValue(spec: KeySpec, node: LocatedNode, convertsText: boolean, tuned = false): ReadValue {
  const key = spec.key;
  const bad = (id: MessageId, args: Message["args"] = {}, fixes: readonly ProblemFix[] = []): ReadValue => ({
    value: null,
    invalid: true,
    problem: problem("invalid-value", "error", node, id, { key, value: shown(node), ...args }, fixes),
  });
  if (node.kind === "unknown") return { value: null, unknown: true, problem: unresolved(node, key) };
  if (node.kind === "scalar") {
    if (typeof node.value === "string") {
      if (node.value.trim().toLowerCase() === "auto" && spec.auto === true) return { value: { auto: true } };
      const template = isTemplate(node.value) && (spec.type !== "any" || FILLED_IN.test(node.value));
      if (template || (isCounted(spec) && PLACEHOLDER.test(node.value)))
        return { value: null, unknown: true, problem: unresolved(node, key) };
    }
    if (node.value === null) {
      // A count without a value is half typed, or fails in the library; a default would be a silent guess.
      if (spec.type !== "integer" || spec.nullable === true) return { value: null };
      return {
        value: null,
        unknown: true,
        problem: problem("invalid-value", "warning", node, "invalid-value.empty", { key }),
      };
    }
  }
  switch (spec.type) {
    case "map":
      return node.kind === "map" || (node.kind === "scalar" && typeof node.value === "string")
        ? { value: node.kind === "scalar" ? node.value : null }
        : bad("invalid-value.not-a-map");
    case "list":
      if (node.kind === "scalar") return { value: node.value };
      return node.kind === "list" ? { value: null } : bad("invalid-value.not-a-list");
    case "any":
      return { value: node.kind === "scalar" ? node.value : null };
    default:
      if (node.kind === "list" && tuned) return { value: null, unknown: true, problem: unresolved(node, key) };
      if (node.kind !== "scalar") return bad("invalid-value.not-a-scalar");
      return readScalar(spec, node.value, node, convertsText, bad);
  }
}

function unresolved(node: LocatedNode, key: string): FormatProblem {
  return problem("unresolved-template", "information", node, "unresolved-template", { key, value: shown(node) });
}

function readScalar(
  spec: KeySpec,
  value: string | number | boolean | null,
  node: LocatedNode,
  convertsText: boolean,
  bad: (id: MessageId, args?: Message["args"], fixes?: readonly ProblemFix[]) => ReadValue,
): ReadValue {
  const instead = (text: string, safe: boolean) => [replacing({ key: spec.key, valueSpan: node }, text, safe)];
  switch (spec.type) {
    case "integer":
    case "number": {
      let number = value;
      if (typeof number === "string") {
        const converted = number.trim() === "" ? Number.NaN : Number(number.replaceAll("_", ""));
        if (Number.isNaN(converted)) return bad("invalid-value.not-a-number");
        // PyTorch converts a clipping norm or a rate by itself; a count stays a text and fails later.
        if (!convertsText && spec.type === "integer")
          return bad("invalid-value.text-number", {}, instead(String(converted), true));
        number = converted;
      }
      if (typeof number !== "number" || !Number.isFinite(number)) return bad("invalid-value.not-a-number");
      if (spec.type === "integer" && !Number.isInteger(number)) return bad("invalid-value.not-an-integer");
      if (spec.min !== undefined && number < spec.min) return bad("invalid-value.too-small", { min: spec.min });
      if (spec.max !== undefined && number > spec.max) return bad("invalid-value.too-large", { max: spec.max });
      return { value: number };
    }
    case "boolean": {
      if (typeof value === "boolean") return { value };
      if (value === 0 || value === 1) return { value: value === 1 };
      const word = String(value).trim().toLowerCase();
      const known = ["true", "yes", "1", "false", "no", "0"].indexOf(word);
      if (known < 0) return bad("invalid-value.not-a-boolean");
      if (convertsText) return { value: known < 3 };
      // A non-empty text is true for Python, whatever it says.
      return {
        value: true,
        problem: problem(
          "invalid-value",
          "warning",
          node,
          "invalid-value.text-boolean",
          { key: spec.key, value: shown(node) },
          instead(String(known < 3), false),
        ),
      };
    }
    case "enum": {
      const text = String(value);
      if (spec.values === undefined || spec.values.includes(text)) return { value: text };
      const near = nearest(text, spec.values);
      return {
        value: text,
        problem: problem(
          "invalid-value",
          "warning",
          node,
          near === undefined ? "invalid-value.unknown-choice" : "invalid-value.unknown-choice-near",
          { key: spec.key, value: text, near: near ?? "" },
          near === undefined ? [] : instead(JSON.stringify(near), false),
        ),
      };
    }
    default:
      return { value: typeof value === "string" ? value : value === null ? null : String(value) };
  }
}

function shown(node: LocatedNode): string {
  if (node.kind !== "scalar" && node.kind !== "unknown") return node.kind;
  return node.raw.length > 60 ? `${node.raw.slice(0, 57)}…` : node.raw;
}
