/**
 * Writing settings back by a format's table: replace the scalar where it is stated, insert a key beside its relatives
 * where it is not. How text changes is `src/syntax/edit.ts`'s business.
 */

import { applyEdits, type EditDialect, insertPath, type Value } from "../syntax/edit";
import { setValue } from "../syntax/edit-list";
import { removeEntry } from "../syntax/removing";
import { nodeAt } from "../syntax/text";
import type { Entry, LocatedNode, MapNode, SpanEdit, SyntaxId } from "../syntax/tree";
import { say } from "../words/message";
import { parseDocument } from "./parse";
import type {
  CarrierId,
  ConfigDocument,
  EditResult,
  KeySpec,
  LocatedSetting,
  ReadResult,
  SettingChange,
} from "./types";

/** Where new keys go: the map of arguments and its dotted path in the document. */
export interface Target {
  readonly map: MapNode;
  readonly path: string;
  /** Prefix of the table's keys that the map's own names lack. */
  readonly strip?: string;
}

/** Where a key would be written; without one, where keys of the document stand. */
export type Place = (key?: KeySpec) => Target | undefined;

const DIALECTS: Readonly<Record<SyntaxId, EditDialect>> = {
  json: "json",
  yaml: "pyyaml",
  toml: "toml",
  python: "python",
  shell: "shell",
  notebook: "notebook",
};

/** How values are spelled in a document; a notebook's commands are a shell's. */
export function dialectOf(document: ConfigDocument, carrier?: CarrierId): EditDialect {
  if (carrier === "shell") return "shell";
  return DIALECTS[document.parsed.syntax ?? "yaml"];
}

/** Edits of a notebook's command as its JSON text takes them: on one line, plain words only. */
export function inNotebook(result: EditResult): EditResult {
  if ("refused" in result) return result;
  const edits = result.edits.map((edit) => ({
    ...edit,
    newText: edit.newText.replace(/\\\r?\n/g, " ").replace(/[ \t]+/g, " "),
  }));
  return edits.every(({ newText }) => /^[\w.,:+=/ -]*$/.test(newText)) ? { edits } : { refused: say("refused.quotes") };
}

/** Names whose keys stand together in configs: a new key goes after the last of its group that is there. */
const NEIGHBOURS: readonly (readonly string[])[] = [
  ["micro_batch_size", "eval_batch_size", "gradient_accumulation_steps", "gradient_checkpointing", "use_reentrant"],
  ["bf16", "fp16", "tf32", "optimizer", "max_grad_norm", "fused_loss"],
  ["model", "load_dtype", "attention"],
  ["zero_stage", "offload_optimizer", "offload_param", "overlap_comm", "reduce_bucket_size"],
];

/** Edits that make the document state the changes; refused when one of them has no key here. */
export function editByTable(
  document: ConfigDocument,
  keys: readonly KeySpec[],
  read: ReadResult,
  changes: readonly SettingChange[],
  target: Target | Place | undefined,
  carrier?: CarrierId,
): EditResult {
  const edits: SpanEdit[] = [];
  const dialect = dialectOf(document, carrier);
  const place: Place = typeof target === "function" ? target : () => target;
  /** Keys of one map that is not there yet, by what would make it. */
  const inside = new Map<string, Insertion[]>();
  for (const change of changes) {
    const found = intoMissing(keys, read, change, place);
    if (found !== null) {
      const id = `${found.target.path} ${found.missing}`;
      inside.set(id, [...(inside.get(id) ?? []), found]);
      continue;
    }
    const outcome = editOne(document, keys, read, change, place, dialect);
    if ("refused" in outcome) return outcome;
    edits.push(...outcome.edits);
  }
  for (const insertions of inside.values()) {
    const outcome = insertTogether(document, read, insertions, dialect);
    if ("refused" in outcome) return outcome;
    edits.push(...outcome.edits);
  }
  return { edits: deepestFirst(edits) };
}

/** A key that goes into a map which is not there yet. */
interface Insertion {
  readonly name: string;
  readonly target: Target;
  /** The key from the target's map down. */
  readonly path: readonly string[];
  readonly value: Value;
  /** Dotted path of the map that is missing. */
  readonly missing: string;
}

function intoMissing(
  keys: readonly KeySpec[],
  read: ReadResult,
  { name, value }: SettingChange,
  place: Place,
): Insertion | null {
  if (value === null || read.settings.some((setting) => setting.name === name)) return null;
  const spec = keys.find((key) => key.name === name && key.removedIn === undefined && key.unwritten !== true);
  const target = spec === undefined ? undefined : place(spec);
  if (spec === undefined || target === undefined) return null;
  const path = spec.key.slice(target.strip?.length ?? 0).split(".");
  let map = target.map;
  for (let depth = 0; depth < path.length - 1; depth++) {
    const entry = map.entries.findLast(({ key }) => key === path[depth]);
    if (entry === undefined) return { name, target, path, value, missing: path.slice(0, depth + 1).join(".") };
    if (entry.value.kind !== "map") return null;
    map = entry.value;
  }
  return null;
}

/** Writes keys one after the other, each into the text that the one before has left: a map that one makes is there for the next. */
function insertTogether(
  document: ConfigDocument,
  read: ReadResult,
  [first, ...others]: readonly Insertion[],
  dialect: EditDialect,
): EditResult {
  if (first === undefined) return { edits: [] };
  const { text } = document;
  const near = neighbour(first.name, read, first.target);
  const outcome = insertPath(text, first.target.map, first.path, first.value, dialect, near);
  if ("refused" in outcome || others.length === 0) return outcome;
  const [edit, ...more] = outcome.edits;
  if (edit === undefined || more.length > 0) return { refused: say("refused.other-kind", { key: first.missing }) };
  let now = applyEdits(text, [edit]);
  for (const { path, value, target, missing } of others) {
    const root = parseDocument(document.uri, now)?.parsed.root;
    const map = target.path === "" ? root : nodeAt(root, target.path);
    const next = map?.kind === "map" ? insertPath(now, map, path, value, dialect) : null;
    if (next === null || "refused" in next) return { refused: say("refused.other-kind", { key: missing }) };
    now = applyEdits(now, next.edits);
  }
  const [before, after] = [text.slice(0, edit.start), text.slice(edit.end)];
  if (!now.startsWith(before) || !now.endsWith(after))
    return { refused: say("refused.other-kind", { key: first.missing }) };
  return { edits: [{ ...edit, newText: now.slice(before.length, now.length - after.length) }] };
}

/** Lines inserted at one place: a block's own come before those of the blocks around it, which would end it. */
function deepestFirst(edits: readonly SpanEdit[]): readonly SpanEdit[] {
  const depth = ({ newText }: SpanEdit) => /^\r?\n([ \t]*)/.exec(newText)?.[1]?.length ?? 0;
  const ordered = [...edits];
  for (const start of new Set(edits.map((edit) => edit.start))) {
    const places = [...edits.keys()].filter((index) => edits[index]?.start === start && edits[index].end === start);
    const sorted = places.map((index) => edits[index]!).sort((a, b) => depth(b) - depth(a));
    for (const [rank, index] of places.entries()) ordered[index] = sorted[rank]!;
  }
  return ordered;
}

function editOne(
  document: ConfigDocument,
  keys: readonly KeySpec[],
  read: ReadResult,
  change: SettingChange,
  place: Place,
  dialect: EditDialect,
): EditResult {
  const stated: LocatedSetting | undefined = read.settings.findLast((setting) => setting.name === change.name);
  const spec = keys.find((key) => key.name === change.name && key.removedIn === undefined && key.unwritten !== true);
  if (change.value === null) return stated === undefined ? { edits: [] } : remove(document, stated, place(), dialect);
  const value: Value = change.value;
  if (stated?.node.kind === "scalar" || stated?.node.kind === "list")
    return setValue(document.text, stated.node, value, dialect);
  if (stated !== undefined && stated.node.kind !== "map") return { refused: say("refused.not-single") };
  const target = spec === undefined ? undefined : place(spec);
  if (spec === undefined || target === undefined) return { refused: say("refused.no-such-key") };
  return insertPath(
    document.text,
    target.map,
    spec.key.slice(target.strip?.length ?? 0).split("."),
    value,
    dialect,
    neighbour(change.name, read, target),
  );
}

/** The entry of the target map to insert after. */
function neighbour(name: string, read: ReadResult, target: Target): Entry | undefined {
  const group = NEIGHBOURS.find((names) => names.includes(name)) ?? [];
  const near = read.settings.filter((setting) => setting.name !== null && group.includes(setting.name));
  return target.map.entries.findLast((entry) => near.some((setting) => setting.keySpan.start === entry.keySpan.start));
}

function remove(
  document: ConfigDocument,
  stated: LocatedSetting,
  target: Target | undefined,
  dialect: EditDialect,
): EditResult {
  const found = target === undefined ? undefined : parentOf(target.map, stated.keySpan.start);
  if (found === undefined) return { refused: say("refused.elsewhere") };
  return removeEntry(document.text, found.parent, found.entry, dialect);
}

/** The map and entry whose key is written at an offset. */
export function parentOf(node: LocatedNode, at: number): { parent: MapNode; entry: Entry } | undefined {
  if (node.kind === "map") {
    for (const entry of node.entries) {
      if (entry.keySpan.start === at) return { parent: node, entry };
      const inner = parentOf(entry.value, at);
      if (inner !== undefined) return inner;
    }
  } else if (node.kind === "list") {
    for (const item of node.items) {
      const inner = parentOf(item, at);
      if (inner !== undefined) return inner;
    }
  }
  return undefined;
}

/** The entry of the same key before the one written at an offset; undefined when there is none. */
export function earlierTwin(document: ConfigDocument, at: number): Entry | undefined {
  const { root } = document.parsed;
  const found = root === null ? undefined : parentOf(root, at);
  return found?.parent.entries.find(({ key, keySpan }) => key === found.entry.key && keySpan.start < at);
}

/** Edits that remove the key written at an offset, with its value; none when it cannot be done safely. */
export function removeKeyAt(document: ConfigDocument, at: number): readonly SpanEdit[] {
  const { root } = document.parsed;
  const found = root === null ? undefined : parentOf(root, at);
  if (found === undefined) return [];
  const outcome = removeEntry(document.text, found.parent, found.entry, dialectOf(document));
  return "refused" in outcome ? [] : outcome.edits;
}
