/** Numbers in every numeric key of every format: a key is written by the project's own edits, so that each carrier is reached. */
import { FORMATS } from "../../src/formats";
import { dialectOf } from "../../src/formats/edit";
import { parseDocument } from "../../src/formats/parse";
import type { Format, KeySpec } from "../../src/formats/types";
import { applyEdits, insertPath } from "../../src/syntax/edit";
import type { MapNode, Span } from "../../src/syntax/tree";
import { uri } from "../analysis/memory-runtime";
import { replaced } from "./mutations";
import type { Seed } from "./seeds";

/** Numbers no library takes, the largest that are taken somewhere, and what is no number. */
export const HOSTILE_NUMBERS: readonly string[] = [
  "0",
  "-1",
  "0.5",
  "1e9",
  "100000",
  "2147483648",
  "9007199254740993",
  "1e308",
  "1e999",
  "1e-9",
  "9".repeat(400),
  ".nan",
  ".inf",
  "NaN",
  "twelve",
  // What stands where a number belongs, in the spelling that YAML, JSON and Python share.
  "[64]",
  '{"a": 64}',
];

/** Keys of a format that a number may stand for. */
export function numericKeys(format: Format): readonly KeySpec[] {
  return format.keys.filter(({ type }) => type === "integer" || type === "number" || type === "any");
}

/** The formats a document is read as, the most certain first. */
export function formatsOf(uri: string, text: string): readonly Format[] {
  const document = parseDocument(uri, text);
  if (document === undefined) return [];
  return FORMATS.map((format) => ({ format, ...format.recognise(document) }))
    .filter(({ confidence }) => confidence > 0.3)
    .sort((a, b) => b.confidence - a.confidence)
    .map(({ format }) => format);
}

/** The map that keys of a format stand in: a file's own, or the keywords of a call or flags of a command that it reads. */
function mapsOf(
  uri: string,
  text: string,
  format: Format,
): readonly { readonly map: MapNode; readonly prefix: string }[] {
  const document = parseDocument(uri, text);
  if (document === undefined) return [];
  const { parsed } = document;
  if (parsed.shell) return parsed.shell.commands.map(({ flags }) => ({ map: flags, prefix: "" }));
  if (parsed.python)
    return parsed.python.calls.flatMap((call) => {
      const prefix = format.callPath?.(call.callee);
      return prefix === undefined ? [] : [{ map: call.keywords, prefix }];
    });
  return parsed.root?.kind === "map" ? [{ map: parsed.root, prefix: "" }] : [];
}

/** The text with `key` set to `value`; undefined where it cannot stand there. */
export function withKey(uri: string, text: string, format: Format, key: string, value: string): string | undefined {
  const document = parseDocument(uri, text);
  if (document === undefined) return undefined;
  for (const { map, prefix } of mapsOf(uri, text, format)) {
    if (prefix !== "" && !key.startsWith(`${prefix}.`)) continue;
    const path = (prefix === "" ? key : key.slice(prefix.length + 1)).split(".");
    const outcome = insertPath(text, map, path, MARK, dialectOf(document, format.carrier));
    if ("refused" in outcome) continue;
    const edited = applyEdits(text, outcome.edits);
    const spelled = document.parsed.syntax === "json" || document.parsed.syntax === "python" ? quoted(value) : value;
    return edited.replace(new RegExp(`["']?${MARK}["']?`), () => spelled);
  }
  return undefined;
}

const MARK = "attacked";

/** What is no number in JSON or Python stands in quotes. */
function quoted(value: string): string {
  return /^(?:-?\d|[[{])/.test(value) ? value : JSON.stringify(value);
}

/** A run's files with a number in the place of one key. */
export interface Numbered {
  readonly what: string;
  readonly value: string;
  readonly files: Seed["files"];
}

/** Places of the numbers that a document states, in keys that no edit of ours writes (in a list of processes, say). */
function stated(uri: string, text: string): readonly (Span & { readonly key: string })[] {
  const document = parseDocument(uri, text);
  if (document === undefined) return [];
  return formatsOf(uri, text).flatMap((format) =>
    format
      .read(document)
      .settings.flatMap(({ key, node }) =>
        node.kind === "scalar" && node.source === undefined && typeof node.value === "number" && node.end > node.start
          ? [{ key: `${key} at ${node.start}`, start: node.start, end: node.end }]
          : [],
      ),
  );
}

/** Every number in every numeric key of a run's documents; `takes` says of each place whether it is wanted. */
export function* numbersIn({ files }: Seed, takes: () => boolean): Generator<Numbered> {
  for (const [path, text] of Object.entries(files)) {
    const tried = new Set<string>();
    const isData = /\.(?:json|py|ipynb)$/.test(path);
    for (const { key, start, end } of stated(uri(path), text)) {
      if (tried.has(key)) continue;
      tried.add(key);
      for (const value of HOSTILE_NUMBERS) {
        if (!takes()) continue;
        const changed = replaced(text, { start, end }, isData ? quoted(value) : value);
        yield { what: `${path} ${key} = ${value}`, value, files: { ...files, [path]: changed } };
      }
    }
    for (const format of formatsOf(uri(path), text))
      for (const { key } of numericKeys(format)) {
        if (tried.has(key)) continue;
        tried.add(key);
        for (const value of HOSTILE_NUMBERS) {
          if (!takes()) continue;
          const changed = withKey(uri(path), text, format, key, value);
          if (changed !== undefined)
            yield { what: `${path} ${key} = ${value}`, value, files: { ...files, [path]: changed } };
        }
      }
  }
}
