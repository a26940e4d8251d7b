/**
 * Writing settings back: minimal replacements of scalars, insertions beside their relatives. Comments, order,
 * quoting and line ends stay.
 */
import type { LocatedNode, MapNode, SpanEdit } from "../syntax/tree";
import type { ConfigDocument, EditResult, KeySpec, LocatedSetting, ReadResult, SettingChange } from "./types";

/** Where new keys go: the map of arguments and its dotted path in the document. */
export interface Target {
  readonly map: MapNode;
  readonly path: string;
}

/** The text of a value in a document's syntax. */
export function valueText(
  document: ConfigDocument,
  value: string | number | boolean | null,
  old?: LocatedNode,
): string {
  if (typeof value !== "string") return value === null ? "null" : String(value);
  const quote = old?.kind === "scalar" ? /^["']/.exec(old.raw)?.[0] : undefined;
  if (document.languageId === "json" || quote === '"') return JSON.stringify(value);
  if (quote === "'") return `'${value.replaceAll("'", "''")}'`;
  return /^[A-Za-z_][\w./-]*$/.test(value) && !/^(?:y|n|yes|no|on|off|true|false|null|~)$/i.test(value)
    ? value
    : JSON.stringify(value);
}

/** Edits that make the document state the changes, by the format's table of keys. */
export function editByTable(
  document: ConfigDocument,
  _keys: readonly KeySpec[],
  read: ReadResult,
  changes: readonly SettingChange[],
  _target: Target | undefined,
): EditResult {
  const edits: SpanEdit[] = [];
  for (const change of changes) {
    const stated = read.settings.filter((setting) => setting.name === change.name);
    const last: LocatedSetting | undefined = stated.at(-1);
    if (last !== undefined && last.node.kind === "scalar" && change.value !== null) {
      edits.push({
        start: last.valueSpan.start,
        end: last.valueSpan.end,
        newText: valueText(document, change.value, last.node),
      });
      continue;
    }
    return { refused: "not-written-here" };
  }
  return { edits };
}
