/** Completions of keys and values, each with what it does to memory here. */

import type { ReportEdit } from "../../core/report/schema";
import { DEEPSPEED_KEYS } from "../../formats/deepspeed/keys";
import { tableOf } from "../../formats/table";
import type { KeySpec } from "../../formats/types";
import { notebookCode } from "../../syntax/notebook";
import { type EditDialect, spell } from "../../syntax/spell";
import { contains } from "../../syntax/text";
import type { SyntaxId } from "../../syntax/tree";
import type { CompletionContent } from "../analyzer";
import type { LoadedDocument } from "../documents/store";
import type { RunAnalysis } from "../estimate/run-analysis";
import { isRemoved } from "../frameworks/defaults";
import { CURVES } from "../hover/curves";
import { FIT_SIGNS, fitOf } from "../hover/picture";
import { gib, t } from "../messages";
import { effectOf } from "../messages/effects";
import { type CallContext, pythonContext, shellContext, tomlContext } from "./code-context";
import { jsonContext, type TypingContext, yamlContext } from "./context";

/** How a language writes what is completed. */
interface Style {
  /** A key's text, up to where its value begins. */
  readonly key: (name: string, behind: string) => string;
  readonly dialect: EditDialect;
  /** Keys are flat: a dotted key is written whole. */
  readonly flat?: true;
}

const unless = (mark: RegExp, behind: string, text: string): string => (mark.test(behind) ? "" : text);

const STYLES: Readonly<Record<SyntaxId, Style>> = {
  yaml: { key: (name, behind) => `${name}${unless(/^\s*:/, behind, ": ")}`, dialect: "pyyaml" },
  json: { key: (name, behind) => `${JSON.stringify(name)}${unless(/^\s*:/, behind, ": ")}`, dialect: "json" },
  toml: { key: (name, behind) => `${name}${unless(/^\s*=/, behind, " = ")}`, dialect: "toml" },
  python: { key: (name, behind) => `${name}${unless(/^\s*=/, behind, "=")}`, dialect: "python" },
  notebook: { key: (name, behind) => `${name}${unless(/^\s*=/, behind, "=")}`, dialect: "notebook" },
  shell: {
    key: (name, behind) => `${name}${unless(/^[ =]/, behind, name.startsWith("-") ? " " : "=")}`,
    dialect: "shell",
    flat: true,
  },
};

/** What may be typed at an offset of a run's own document, or of its DeepSpeed file. */
export async function completionsAt(
  analysis: RunAnalysis,
  document: LoadedDocument,
  offset: number,
): Promise<readonly CompletionContent[]> {
  const syntax = document.config?.parsed.syntax;
  const keys = keysOf(analysis, document);
  const context = syntax === undefined ? undefined : contextAt(analysis, document, offset, syntax);
  if (syntax === undefined || context === undefined || keys === undefined) return [];
  const { writer } = document;
  // Around the part that is written its text is blank, and what Python makes of a mapping has no text to be typed.
  if (writer !== undefined && (writer.spelled === undefined || !contains(writer.span, offset))) return [];
  const place: Place = { analysis, document, context, keys, style: STYLES[syntax] };
  const found = context.kind === "key" ? keyCompletions(place) : await valueCompletions(place);
  return found.map((item) => ({ ...item, insertText: writer?.spelled?.(item.insertText) ?? item.insertText }));
}

/** Where something is typed, and what may stand there. */
interface Place {
  readonly analysis: RunAnalysis;
  readonly document: LoadedDocument;
  readonly context: Context;
  readonly keys: readonly KeySpec[];
  readonly style: Style;
}

interface Context extends TypingContext {
  /** Before an option of a command. */
  readonly dashes?: string;
}

function contextAt(
  analysis: RunAnalysis,
  { text }: LoadedDocument,
  offset: number,
  syntax: SyntaxId,
): Context | undefined {
  const called = (found: CallContext | undefined): Context | undefined => {
    const path = found === undefined ? undefined : analysis.inputs.format.callPath?.(found.callee);
    if (found === undefined || path === undefined) return undefined;
    return { ...found, path: [...(path === "" ? [] : [path]), ...found.path] };
  };
  switch (syntax) {
    case "yaml":
      return yamlContext(text, offset);
    case "json":
      return jsonContext(text, offset);
    case "toml":
      return tomlContext(text, offset);
    case "shell":
      return shellContext(text, offset);
    case "python":
      return called(pythonContext(text, offset));
    case "notebook": {
      const code = notebookCode(text, offset);
      const found = code === undefined ? undefined : called(pythonContext(code.text, code.offset));
      if (code === undefined || found === undefined) return undefined;
      return { ...found, word: { start: offset - (found.word.end - found.word.start), end: offset } };
    }
  }
}

function keysOf(analysis: RunAnalysis, document: LoadedDocument): readonly KeySpec[] | undefined {
  if (document.uri === analysis.inputs.main.uri) return analysis.inputs.format.keys;
  return document.uri === analysis.inputs.deepspeed?.uri ? DEEPSPEED_KEYS : undefined;
}

/** The longest tail of a path that the table knows as a parent: a config may nest its arguments under any key. */
function knownParent(path: readonly string[], parents: { has(key: string): boolean }): string | undefined {
  for (let from = 0; from <= path.length; from++) {
    const tail = path.slice(from).join(".");
    if (parents.has(tail)) return tail;
  }
  return undefined;
}

function keyCompletions({ analysis, document, context, keys, style }: Place): CompletionContent[] {
  const table = tableOf(keys);
  const parent = style.flat === true ? "" : knownParent(context.path, table.children);
  if (parent === undefined) return [];
  const { libraries } = analysis.base.resolution;
  const others = document.read.settings.filter(({ keySpan }) => keySpan.start !== context.word.start);
  const stated = new Set(others.map((setting) => setting.key));
  const prefix = context.path.length === 0 ? "" : `${context.path.join(".")}.`;
  const behind = document.text.slice(context.word.end, context.word.end + 200);
  // A script that spells its options with dashes goes on doing so.
  const dashed =
    style.flat === true && /\s--[a-z]+-[a-z]/.test(document.text) && !/\s--[a-z]+_[a-z]/.test(document.text);
  const dotted = context.dashes === "" || /\s--\w+\.\w/.test(document.text);
  return keys.flatMap((spec): CompletionContent[] => {
    const cut = style.flat === true ? -1 : spec.key.lastIndexOf(".");
    const name = spec.key.slice(cut + 1);
    const below = cut < 0 ? "" : spec.key.slice(0, cut);
    if (below !== parent || isRemoved(spec.removedIn, libraries) || stated.has(`${prefix}${name}`)) return [];
    // An override is a dotted path: a bare word may be anything. An option is one where others of the script are.
    if (style.flat === true && (spec.type === "map" || name.includes(".") !== dotted)) return [];
    const label = `${context.dashes ?? ""}${dashed ? name.replaceAll("_", "-") : name}`;
    return [
      {
        kind: "key",
        label,
        insertText: style.key(label, behind),
        detail: t(analysis.locale, spec.memory ? "complete.memory" : "complete.no-memory"),
        documentation: effectOf(spec, analysis.locale),
        range: document.lines.range(context.word),
        sortText: `${spec.memory ? "0" : "1"}${name}`,
      },
    ];
  });
}

async function valueCompletions(place: Place): Promise<readonly CompletionContent[]> {
  const { analysis, document, context, keys, style } = place;
  const byPath = tableOf(keys).byPath;
  const path = knownParent(context.path, byPath);
  const spec = path === undefined || path === "" ? undefined : byPath.get(path);
  if (spec === undefined) return [];
  const curve = CURVES[spec.name ?? ""];
  const words = Object.keys(spec.means ?? {}).filter((word) => word !== "null" && word !== "");
  const listed = spec.type === "boolean" ? ["true", "false"] : (spec.values ?? words);
  // The curve's values are canonical: a format with words of its own is offered those.
  const own = spec.type === "boolean" || spec.type === "map" || words.length > 0;
  const tried = curve === undefined || own ? [] : curve.values(analysis.base);
  const values = [...new Set([...tried, ...listed, ...(spec.auto === true ? ["auto"] : [])])];
  const range = document.lines.range(context.word);
  const found: CompletionContent[] = [];
  for (const [index, value] of values.entries()) {
    const insertText = spell(typed(value, spec), style.dialect);
    found.push({
      kind: "value",
      label: value,
      insertText,
      detail:
        curve === undefined || value === "auto"
          ? ""
          : await peakOf(analysis, document.edit({ ...context.word, newText: insertText })),
      documentation: effectOf(spec, analysis.locale),
      range,
      sortText: String(index).padStart(3, "0"),
    });
  }
  return found;
}

/** A value of the list as the key's type. */
function typed(value: string, spec: KeySpec): string | number | boolean {
  if (value === "true" || value === "false") return value === "true";
  return (spec.type === "integer" || spec.type === "number") && Number.isFinite(Number(value)) ? Number(value) : value;
}

/** The peak of the run with the value typed in: a half-typed one may leave it without an estimate, each offered has its own. */
async function peakOf(analysis: RunAnalysis, typedIn: ReportEdit): Promise<string> {
  if (analysis.inputs.graphs === undefined) return "";
  const again = await analysis.reread([typedIn]);
  const { estimate } = again?.base ?? {};
  if (again === undefined || estimate === undefined) return "";
  analysis.spend(again);
  return `${gib(estimate.usedPeakBytes)} GiB${FIT_SIGNS[fitOf(again.base)]}`;
}
