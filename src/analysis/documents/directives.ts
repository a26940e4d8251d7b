/**
 * Comments that speak to us: `# vramlens: gpu=A100-80GB sequence_length=2048` states what no key says, and
 * `# vramlens-disable-next-line does-not-fit`, `# vramlens-disable tight` silence findings.
 */

import { DIRECTIVE_ALIASES } from "../../formats/pins";
import type { Span } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";

export interface DirectiveSetting extends Span {
  readonly name: SettingName;
  /** As written. */
  readonly key: string;
  readonly value: string | number | boolean;
}

export interface Directives {
  readonly settings: readonly DirectiveSetting[];
  /** Codes silenced in the whole document; `*` is all. */
  readonly disabled: ReadonlySet<string>;
  /** Codes silenced on a zero-based line. */
  readonly disabledLines: ReadonlyMap<number, ReadonlySet<string>>;
  /** Names that mean nothing to us. */
  readonly unknown: readonly (Span & { readonly key: string })[];
}

const NONE: Directives = { settings: [], disabled: new Set(), disabledLines: new Map(), unknown: [] };
const COMMENT =
  /(?:^|[\s,{[])(?:#|\/\/|\/\*)\s{0,20}vramlens(-disable-next-line|-disable-line|-disable)?\s{0,20}(:|\s|$)(.*)/;
const PAIR = /(?<![\w.-])([A-Za-z_][\w.-]*)\s{0,20}=\s{0,20}("[^"]*"?|'[^']*'?|[^\s,"']+)/g;

/** A line of a notebook's cell as JSON writes it: a string, with the line break inside. */
const CELL_LINE = /^([ \t]*)"(.*?)((?:\\n)?",?[ \t\r]*)$/gm;

/**
 * Reads the directive comments of a text; the same in YAML, JSON with comments, TOML, Python and shell.
 * @param notebook the text is a notebook: its lines of Python are JSON strings
 */
export function readDirectives(whole: string, notebook = false): Directives {
  if (!whole.includes("vramlens")) return NONE;
  const text = notebook
    ? whole.replace(
        CELL_LINE,
        (_, indent: string, code: string, end: string) => `${indent} ${code}${" ".repeat(end.length)}`,
      )
    : whole;
  const settings: DirectiveSetting[] = [];
  const disabled = new Set<string>();
  const disabledLines = new Map<number, Set<string>>();
  const unknown: (Span & { key: string })[] = [];
  let start = 0;
  for (const [line, content] of text.split("\n").entries()) {
    const match = content.includes("vramlens") ? COMMENT.exec(content.replace(/\r$/, "")) : null;
    if (match !== null) {
      const rest = match[3] ?? "";
      const restStart = start + match.index + match[0].length - rest.length;
      if (match[1] === undefined) {
        if (match[2] === ":") readPairs(rest, restStart, settings, unknown);
      } else {
        const codes = rest.split(/[\s,]+/).filter((code) => /^[a-z][a-z0-9-]*$/.test(code));
        const list = codes.length === 0 ? ["*"] : codes;
        if (match[1] === "-disable") for (const code of list) disabled.add(code);
        else {
          const target = match[1] === "-disable-line" ? line : line + 1;
          const known = disabledLines.get(target) ?? new Set<string>();
          for (const code of list) known.add(code);
          disabledLines.set(target, known);
        }
      }
    }
    start += content.length + 1;
  }
  return { settings, disabled, disabledLines, unknown };
}

function readPairs(
  text: string,
  start: number,
  settings: DirectiveSetting[],
  unknown: (Span & { key: string })[],
): void {
  for (const match of text.matchAll(PAIR)) {
    const key = match[1] ?? "";
    const span = { start: start + match.index, end: start + match.index + match[0].length };
    const name = DIRECTIVE_ALIASES[key];
    if (name === undefined) unknown.push({ ...span, key });
    else settings.push({ ...span, key, name, value: directiveValue(match[2] ?? "") });
  }
}

function directiveValue(text: string): string | number | boolean {
  const plain = text.replace(/^["']|["']$/g, "");
  if (plain === "true" || plain === "false") return plain === "true";
  return /^\d+(?:\.\d+)?$/.test(plain) ? Number(plain) : plain;
}
