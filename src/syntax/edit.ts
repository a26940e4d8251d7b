/**
 * Minimal text edits: a scalar, one key more, one key less. Nothing is re-serialised; comments, order, quoting,
 * indentation and line ends stay. What cannot be done safely is refused with the reason.
 */
import { type Message, say } from "../words/message";
import { type EditDialect, spell, type Value } from "./spell";
import type { Entry, LocatedNode, MapNode, Span, SpanEdit } from "./tree";

export type { EditDialect, Value } from "./spell";

export type EditOutcome = { readonly edits: readonly SpanEdit[] } | { readonly refused: Message };

/** Applies edits to a text; for previews and tests. Edits must not overlap; insertions at one place keep their order. */
export function applyEdits(text: string, edits: readonly SpanEdit[]): string {
  const ordered = edits.toReversed().sort((a, b) => b.start - a.start || b.end - a.end);
  return ordered.reduce((result, edit) => result.slice(0, edit.start) + edit.newText + result.slice(edit.end), text);
}

/** One edit. */
export function one(start: number, end: number, newText: string): EditOutcome {
  return { edits: [{ start, end, newText }] };
}

/** Replaces a scalar's text by another value. Edits the place the value is really written at. */
export function setScalar(text: string, node: LocatedNode, value: Value, dialect: EditDialect): EditOutcome {
  if (node.kind === "unknown") return { refused: say("refused.unknown", { reason: node.reason }) };
  if (node.kind !== "scalar") return { refused: say("refused.not-single") };
  const at: Span = node.source ?? node;
  const old = text.slice(at.start, at.end);
  if (old === "") return setEmpty(text, node, value, dialect);
  if (/^[|>]/.test(old) && (dialect === "pyyaml" || dialect === "omegaconf"))
    return { refused: say("refused.text-block") };
  if (dialect === "shell" && node.source === undefined && /[$`]/.test(old))
    return { refused: say("refused.variables") };
  if (/^["']?\$\{.*\}["']?$/.test(old) && dialect !== "shell") return { refused: say("refused.interpolation") };
  if (dialect === "toml" && value === null) return { refused: say("refused.toml-null") };
  if (
    (dialect === "python" || dialect === "notebook") &&
    /^[A-Za-z_][\w.]*$/.test(old) &&
    !/^(?:True|False|None)$/.test(old)
  ) {
    const dtype = /^torch\./.test(old) && typeof value === "string" && /^(?:b?float|int|uint)\d+$/.test(value);
    return dtype ? one(at.start, at.end, `torch.${value}`) : { refused: say("refused.name") };
  }
  const inside = dialect === "shell" && node.source !== undefined;
  return one(
    at.start,
    at.end,
    inside ? spell(value, dialect, old).replace(/^"(.*)"$/, "$1") : spell(value, dialect, old),
  );
}

/** A key without a value: `a:` in YAML, a bare flag in a command. */
function setEmpty(text: string, node: LocatedNode, value: Value, dialect: EditDialect): EditOutcome {
  if (dialect === "shell")
    return value === true ? { edits: [] } : one(node.start, node.start, ` ${spell(value, dialect)}`);
  const before = text.slice(0, node.start);
  if ((dialect === "pyyaml" || dialect === "omegaconf") && /:[ \t]*$/.test(before)) {
    return one(node.start, node.start, (/:$/.test(before) ? " " : "") + spell(value, dialect));
  }
  return { refused: say("refused.no-value") };
}

/** A key that is added: where, and as what. */
interface Insertion {
  readonly text: string;
  readonly parent: MapNode;
  readonly path: readonly string[];
  readonly value: Value;
  readonly dialect: EditDialect;
  readonly near: Entry | undefined;
}

/**
 * Adds a nested key, next to `near` (or the last key) and in the layout of its neighbours, creating the maps on the way
 * that are missing.
 * @param path keys from `parent` down; at least one
 */
export function insertPath(
  text: string,
  parent: MapNode,
  path: readonly string[],
  value: Value,
  dialect: EditDialect,
  near?: Entry,
): EditOutcome {
  const [key, ...rest] = dialect === "shell" && path.length > 1 ? [path.join(".")] : path;
  if (key === undefined) return { refused: say("refused.no-key") };
  const existing = parent.entries.findLast((entry) => entry.key === key);
  if (existing !== undefined) {
    if (rest.length === 0) return setScalar(text, existing.value, value, dialect);
    if (existing.value.kind === "map") return insertPath(text, existing.value, rest, value, dialect, near);
    return { refused: say("refused.other-kind", { key }) };
  }
  const insertion = { text, parent, path, value, dialect, near };
  switch (dialect) {
    case "json":
    case "python":
    case "notebook":
      return insertBracketed(insertion);
    case "pyyaml":
    case "omegaconf":
      return text.charAt(parent.start) === "{" && text.charAt(parent.end - 1) === "}"
        ? insertBracketed(insertion)
        : insertYaml(insertion);
    case "toml":
      return insertToml(insertion);
    case "shell":
      return insertFlag(insertion, key);
  }
}

/** Entries written inside the map itself (not spread or merged into it), in text order. */
export function ownEntries(parent: MapNode): Entry[] {
  return parent.entries
    .filter(
      (entry) =>
        entry.keySpan.start >= parent.start &&
        entry.keySpan.end <= parent.end &&
        entry.value.start >= entry.keySpan.end,
    )
    .sort((a, b) => a.keySpan.start - b.keySpan.start);
}

function sibling(parent: MapNode, near: Entry | undefined): Entry | undefined {
  const own = ownEntries(parent);
  return near !== undefined && own.includes(near) ? near : own[own.length - 1];
}

/** The line end that a text uses. */
export function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** Start of the line that an offset is in. */
export function lineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

/** End of the line's content, before CR LF. */
export function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  if (end < 0) return text.length;
  return end > 0 && text.charAt(end - 1) === "\r" ? end - 1 : end;
}

/** White space that a line begins with, up to an offset. */
export function indentOf(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, at), at))?.[0] ?? "";
}

/** JSON objects, YAML flow maps, Python calls and dicts: comma-separated between brackets. */
function insertBracketed({ text, parent, path, value, dialect, near }: Insertion): EditOutcome {
  const after = sibling(parent, near);
  const call = text.charAt(parent.start) === "(";
  const member = spellMember(path, value, dialect, call, after, text);
  if (after === undefined) {
    const close = parent.end - 1;
    if (!/[})]/.test(text.charAt(close))) return { refused: say("refused.open-map") };
    const inside = text.slice(parent.start + 1, close);
    if (call && inside.replace(/#.*$/gm, "").trim() !== "") {
      const comma = /,\s*$/.test(inside) ? " " : ", ";
      const end = parent.start + 1 + inside.trimEnd().length;
      return one(end, end, comma + member);
    }
    return one(close, close, member);
  }
  const end = after.value.end;
  if (dialect === "notebook") return one(end, end, `, ${member}`);
  const first = ownEntries(parent)[0] as Entry;
  const ownLine =
    text.slice(lineStart(text, after.keySpan.start), after.keySpan.start).trim() === "" ||
    text.slice(parent.start, first.keySpan.start).includes("\n");
  const raw = text.slice(after.value.start, end);
  const runsToLineEnd =
    dialect === "json" && after.value.kind === "scalar" && typeof after.value.value === "string" && !/^["']/.test(raw);
  if (!ownLine) return one(end, end, `, ${member}`);
  const separator = runsToLineEnd ? "" : ",";
  return one(end, end, `${separator}${eolOf(text)}${indentOf(text, after.keySpan.start)}${member}`);
}

function spellMember(
  path: readonly string[],
  value: Value,
  dialect: EditDialect,
  call: boolean,
  near: Entry | undefined,
  text: string,
): string {
  const [key = "", ...rest] = path;
  const python = dialect === "python" || dialect === "notebook";
  let inner: string;
  if (rest.length === 0) inner = spell(value, dialect);
  else inner = `{${spellMember(rest, value, dialect, false, undefined, text)}}`;
  if (python && call) {
    const spaced = near !== undefined && /=\s/.test(text.slice(near.keySpan.end, near.value.start));
    return `${key}${spaced ? " = " : "="}${inner}`;
  }
  if (dialect === "json") {
    const colon =
      near === undefined ? ": " : text.slice(near.keySpan.end, near.value.start).replace(/[\r\n]/g, "") || ": ";
    return `${JSON.stringify(key)}${/^\s*:\s*$/.test(colon) ? colon : ": "}${inner}`;
  }
  if (python) return `${spell(key, dialect)}: ${inner}`;
  // Flow maps written like JSON stay so.
  const quoted = near !== undefined && text.slice(near.keySpan.start, near.keySpan.end).startsWith('"');
  if (!quoted) return `${key}: ${inner}`;
  return `"${key}": ${typeof value === "string" && rest.length === 0 ? JSON.stringify(value) : inner}`;
}

function insertYaml({ text, parent, path, value, dialect, near }: Insertion): EditOutcome {
  const eol = eolOf(text);
  const after = sibling(parent, near);
  if (after === undefined) {
    if (text.trim() !== "" && parent.entries.length > 0) return { refused: say("refused.merge") };
    const glue = text === "" || text.endsWith("\n") ? "" : eol;
    return one(text.length, text.length, `${glue}${yamlLines(path, value, "", dialect, eol)}${eol}`);
  }
  const start = lineStart(text, after.keySpan.start);
  const column = text.slice(start, after.keySpan.start);
  if (/[^\s-]/.test(column)) return { refused: say("refused.neighbour") };
  const indent = column.replaceAll("-", " ");
  const end = lineEnd(text, Math.max(after.value.end, after.keySpan.end));
  return one(end, end, `${eol}${yamlLines(path, value, indent, dialect, eol)}`);
}

function yamlLines(path: readonly string[], value: Value, indent: string, dialect: EditDialect, eol: string): string {
  return path
    .map((key, depth) => {
      const line = `${indent}${"  ".repeat(depth)}${key}:`;
      return depth === path.length - 1 ? `${line} ${spell(value, dialect)}` : line;
    })
    .join(eol);
}

function insertToml({ text, parent, path, value, near }: Insertion): EditOutcome {
  if (value === null) return { refused: say("refused.toml-null") };
  const eol = eolOf(text);
  if (text.charAt(parent.start) === "{") {
    const after = sibling(parent, near);
    const member = `${path.join(".")} = ${spell(value, "toml")}`;
    return after === undefined
      ? one(parent.start + 1, parent.start + 1, ` ${member} `)
      : one(after.value.end, after.value.end, `, ${member}`);
  }
  if (path.length > 1) {
    const glue = text.endsWith("\n") || text === "" ? "" : eol;
    return one(
      text.length,
      text.length,
      `${glue}${eol}[${path.slice(0, -1).join(".")}]${eol}${path[path.length - 1]} = ${spell(value, "toml")}${eol}`,
    );
  }
  const line = (indent: string): string => `${indent}${path[0]} = ${spell(value, "toml")}`;
  const members = ownEntries(parent).filter(
    (entry) =>
      /^[ \t"']*$/.test(text.slice(lineStart(text, entry.keySpan.start), entry.keySpan.start)) &&
      /^[ \t"']*=/.test(text.slice(entry.keySpan.end, entry.value.start)),
  );
  const after = near !== undefined && members.includes(near) ? near : members[members.length - 1];
  if (after !== undefined) {
    const end = lineEnd(text, after.value.end);
    return one(end, end, eol + line(indentOf(text, after.keySpan.start)));
  }
  if (text.charAt(parent.start) === "[") {
    const end = lineEnd(text, parent.start);
    return one(end, end, eol + line(""));
  }
  return one(0, 0, line("") + eol);
}

/** Whether most options of a command have dashes between their words (Megatron's): plain argparse takes no other spelling. */
function dashed(text: string, parent: MapNode): boolean {
  const flags = parent.entries.map(({ keySpan }) => text.slice(keySpan.start, keySpan.end));
  const among = (pattern: RegExp): number => flags.filter((flag) => pattern.test(flag)).length;
  return among(/^--\w+-\w/) > among(/^--\w*_/);
}

/** Adds a flag in front of its neighbour's line, or behind it on the same line. */
function insertFlag({ text, parent, value, near }: Insertion, key: string): EditOutcome {
  // Nested options stand beside nested ones: a launcher's own flags have no dots.
  const alike = (entry: Entry) => !key.includes(".") || entry.key.includes(".");
  const after =
    near !== undefined && alike(near)
      ? near
      : parent.entries.findLast(
          (entry) => alike(entry) && /^[-\w+~]/.test(text.slice(entry.keySpan.start, entry.keySpan.end)),
        );
  if (after === undefined)
    return {
      refused: key.includes(".") ? say("refused.nested-option") : say("refused.no-option"),
    };
  const neighbour = text.slice(after.keySpan.start, after.keySpan.end);
  const flag = neighbour.startsWith("-");
  const equals = text.charAt(after.keySpan.end) === "=";
  const spelled = spell(value, "shell");
  const option = dashed(text, parent) ? key.replaceAll("_", "-") : key;
  const member = !flag
    ? `${key}=${spelled}`
    : value === true && !/=|\s(?:True|true)/.test(text.slice(after.keySpan.end, after.value.end))
      ? `--${option}`
      : `--${option}${equals ? "=" : " "}${spelled}`;
  const before = text.slice(lineStart(text, after.keySpan.start), after.keySpan.start);
  if (before.trim() !== "") {
    const end = Math.max(after.keySpan.end, after.value.end);
    const sameLine = lineEnd(text, after.keySpan.start) >= end && after.value.start >= after.keySpan.end;
    return sameLine ? one(end, end, ` ${member}`) : one(after.keySpan.start, after.keySpan.start, `${member} `);
  }
  const previousLine = text.slice(
    lineStart(text, lineStart(text, after.keySpan.start) - 1),
    lineStart(text, after.keySpan.start),
  );
  const thisLine = text.slice(after.keySpan.start, lineEnd(text, after.keySpan.start));
  const continued = /\\\r?\n$/.test(previousLine) || /\\$/.test(thisLine);
  return one(after.keySpan.start, after.keySpan.start, `${member}${continued ? " \\" : ""}${eolOf(text)}${before}`);
}
