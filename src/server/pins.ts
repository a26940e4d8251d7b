/**
 * Writing a pin: the edit of `.vramlens.yaml` that states what no training config says.
 *
 * The nearest existing file up the tree is edited; with none, one is created beside the document. Edits are text
 * insertions and replacements, so comments and layout stay.
 */
import { isMap, isScalar, isSeq, type Pair, parseDocument, type YAMLMap } from "yaml";
import type { FileAccess } from "../analysis/runtime";
import type { Range, ReportEdit } from "../core/report/schema";
import { PINS_FILE, pinPathOf } from "../formats/pins";
import { matchesGlob } from "../formats/pins/glob";
import type { EditsResult, SettleParams } from "./protocol";
import { type Locale, text } from "./text";

/** Keys a pin may have, as docs of `.vramlens.yaml` list them. */
const PIN_KEYS =
  /^(model|task|sequence_length|target_length|image_size|dtype|attention|device|(adapter|quantization|device|libraries)\.[a-z_]+)$/;

export interface SettleContext {
  readonly files: FileAccess;
  /** URIs; the search for a pins file stops at the folder that contains the document. */
  readonly workspaceFolders: readonly string[];
  readonly locale: Locale;
}

/** The edits that pin `params.key` to `params.value` for the document, or why there are none. */
export async function settleEdits(params: SettleParams, context: SettleContext): Promise<EditsResult> {
  const { locale } = context;
  const key = pinPathOf(params.key) ?? params.key;
  if (!PIN_KEYS.test(key)) return { ok: false, message: text(locale, "settleUnknown", params.key) };
  const candidates = pinsCandidates(params.uri, context.workspaceFolders);
  const beside = candidates[0];
  if (beside === undefined) return { ok: false, message: text(locale, "settleUnreadable", PINS_FILE) };
  let target = beside;
  let existing: string | undefined;
  for (const candidate of candidates) {
    existing = await context.files.readText(candidate);
    if (existing !== undefined) {
      target = candidate;
      break;
    }
  }
  const edit = pinEdit(existing ?? "", relativeTo(target, params.uri), key, params.value);
  if (edit === undefined) return { ok: false, message: text(locale, "settleUnreadable", PINS_FILE) };
  return {
    ok: true,
    title: text(locale, "settleTitle", key),
    create: existing === undefined ? [target] : [],
    edits: [{ uri: target, ...edit }],
    versions: {},
  };
}

/** Pins files that could apply to a document, nearest first, up to its workspace folder. */
export function pinsCandidates(uri: string, workspaceFolders: readonly string[]): readonly string[] {
  const folder = workspaceFolders
    .map((root) => root.replace(/\/$/, ""))
    .filter((root) => uri.startsWith(`${root}/`))
    .sort((a, b) => b.length - a.length)[0];
  const found: string[] = [];
  for (let end = uri.lastIndexOf("/"); end > 0; end = uri.lastIndexOf("/", end - 1)) {
    const directory = uri.slice(0, end);
    if (!/^[a-z][a-z0-9+.-]*:[:/]*[^:/]/i.test(directory)) break;
    found.push(`${directory}/${PINS_FILE}`);
    if (folder === undefined || directory === folder) break;
  }
  return found;
}

function relativeTo(pins: string, uri: string): string {
  return decodeURIComponent(uri.slice(pins.length - PINS_FILE.length));
}

/**
 * The edit of a pins file's text.
 *
 * @param path the document, relative to the file's folder
 * @returns undefined when the text is not a pins file that can be edited
 */
export function pinEdit(
  source: string,
  path: string,
  key: string,
  value: string,
): Pick<ReportEdit, "range" | "newText"> | undefined {
  const [head = "", ...rest] = key.split(".");
  const sub = rest.join(".");
  const written = scalar(value);
  const fresh = sub === "" ? `${head}: ${written}` : `${head}: { ${sub}: ${written} }`;
  const entry = `  - match: ${scalar(path)}\n    ${fresh}\n`;
  if (source.trim() === "") return at(source, source.length, source.length, `${newline(source)}runs:\n${entry}`);

  const document = parseDocument(source);
  const root = document.contents;
  if (document.errors.length > 0) return undefined;
  if (root === null) return at(source, source.length, source.length, `${newline(source)}runs:\n${entry}`);
  if (!isMap(root) || root.flow === true) return undefined;
  const runs = root.get("runs", true);
  if (runs === undefined) return at(source, source.length, source.length, `${newline(source)}runs:\n${entry}`);
  if (!isSeq(runs) || runs.flow === true || runs.range == null) return undefined;

  const entries = runs.items.filter((item) => isMap(item));
  const matching = entries.find((item) => patternsOf(item).includes(path));
  if (matching === undefined) {
    const first = entries[0];
    const indent = first?.range == null ? 2 : Math.max(0, columnOf(source, first.range[0]) - 2);
    const shifted = entry.replace(/^ {2}/gm, " ".repeat(indent));
    // Of several entries that match, the first wins: the exact one goes before a pattern that would hide it.
    const hiding = entries.find((item) => patternsOf(item).some((pattern) => matchesGlob(pattern, path)));
    if (hiding?.range != null) {
      const line = source.lastIndexOf("\n", hiding.range[0] - 1) + 1;
      return at(source, line, line, shifted);
    }
    const end = contentEnd(source, runs.range[1]);
    return at(source, end, end, `${source[end - 1] === "\n" ? "" : "\n"}${shifted}`);
  }
  const pair = matching.items.find((item) => keyOf(item) === head);
  if (pair === undefined) return insertInto(source, matching, fresh);
  if (sub === "" || !isMap(pair.value))
    return replaceValue(source, pair, sub === "" ? written : `{ ${sub}: ${written} }`);
  const inner = pair.value.items.find((item) => keyOf(item) === sub);
  return inner === undefined
    ? insertInto(source, pair.value, `${sub}: ${written}`)
    : replaceValue(source, inner, written);
}

/** Patterns of an entry's `match`; without one it matches everything. */
function patternsOf(entry: YAMLMap): readonly string[] {
  const match: unknown = entry.has("match") ? entry.toJSON()["match"] : "**";
  return [match].flat().filter((pattern) => typeof pattern === "string");
}

function keyOf(pair: Pair): unknown {
  return isScalar(pair.key) ? pair.key.value : undefined;
}

function insertInto(source: string, map: YAMLMap, line: string): Pick<ReportEdit, "range" | "newText"> | undefined {
  if (map.range == null) return undefined;
  const last = map.items.at(-1);
  const lastNode = last?.value ?? last?.key;
  const end = isRanged(lastNode) ? lastNode.range[1] : map.range[0] + 1;
  if (map.flow === true) return at(source, end, end, map.items.length === 0 ? ` ${line} ` : `, ${line}`);
  const close = contentEnd(source, end);
  const lead = source[close - 1] === "\n" ? "" : "\n";
  return at(source, close, close, `${lead}${" ".repeat(columnOf(source, map.range[0]))}${line}\n`);
}

function replaceValue(source: string, pair: Pair, written: string): Pick<ReportEdit, "range" | "newText"> | undefined {
  if (isRanged(pair.value)) {
    const [start, end] = pair.value.range;
    return at(source, start, end, start === end ? ` ${written}` : written);
  }
  return undefined;
}

function isRanged(node: unknown): node is { readonly range: readonly [number, number, number] } {
  return typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range);
}

/** End of the line that holds the last character before `offset` that is no white space, its line break included. */
function contentEnd(source: string, offset: number): number {
  let end = offset;
  while (end > 0 && /\s/.test(source[end - 1] ?? "")) end -= 1;
  const breakAt = source.indexOf("\n", end);
  return breakAt === -1 ? source.length : breakAt + 1;
}

function columnOf(source: string, offset: number): number {
  return offset - (source.lastIndexOf("\n", offset - 1) + 1);
}

function newline(source: string): string {
  return source === "" || source.endsWith("\n") ? "" : "\n";
}

/** A YAML scalar: numbers and booleans as they are, words plain, everything else quoted. */
function scalar(value: string): string {
  if (/^(-?\d+(\.\d+)?|true|false)$/.test(value)) return value;
  return /^[A-Za-z_./][\w./-]*$/.test(value) && !/^(yes|no|on|off|null|y|n)$/i.test(value)
    ? value
    : JSON.stringify(value);
}

function at(source: string, start: number, end: number, newText: string): { range: Range; newText: string } {
  return { range: { start: positionOf(source, start), end: positionOf(source, end) }, newText };
}

function positionOf(source: string, offset: number): { line: number; character: number } {
  const before = source.slice(0, offset).split("\n");
  return { line: before.length - 1, character: before.at(-1)?.length ?? 0 };
}
