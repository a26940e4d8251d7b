/** Completions of keys and values, each with what it does to memory here. */
import { DEEPSPEED_KEYS } from "../../formats/deepspeed/keys";
import { tableOf } from "../../formats/table";
import type { KeySpec } from "../../formats/types";
import { type EditDialect, spell } from "../../syntax/spell";
import type { CompletionContent } from "../analyzer";
import { isRemoved } from "../defaults";
import { ALIASES, CURVES } from "../hover/curves";
import { gib, t } from "../messages";
import { effectOf } from "../messages/effects";
import type { RunAnalysis } from "../run-analysis";
import type { LoadedDocument } from "../store";
import { jsonContext, type TypingContext, yamlContext } from "./context";

/** What may be typed at an offset of a run's own document, or of its DeepSpeed file. */
export function completionsAt(analysis: RunAnalysis, document: LoadedDocument, offset: number): CompletionContent[] {
  const syntax = document.config?.languageId;
  if (syntax !== "yaml" && syntax !== "json") return [];
  const context = syntax === "yaml" ? yamlContext(document.text, offset) : jsonContext(document.text, offset);
  const keys = keysOf(analysis, document);
  if (context === undefined || keys === undefined) return [];
  return context.kind === "key"
    ? keyCompletions(analysis, document, context, keys, syntax)
    : valueCompletions(analysis, document, context, keys, syntax);
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

function keyCompletions(
  analysis: RunAnalysis,
  document: LoadedDocument,
  context: TypingContext,
  keys: readonly KeySpec[],
  syntax: "yaml" | "json",
): CompletionContent[] {
  const table = tableOf(keys);
  const parent = knownParent(context.path, table.children);
  if (parent === undefined) return [];
  const { libraries } = analysis.base.resolution;
  const stated = new Set(document.read.settings.map((setting) => setting.key));
  const prefix = context.path.length === 0 ? "" : `${context.path.join(".")}.`;
  return keys.flatMap((spec): CompletionContent[] => {
    const cut = spec.key.lastIndexOf(".");
    const name = spec.key.slice(cut + 1);
    if (
      (cut < 0 ? "" : spec.key.slice(0, cut)) !== parent ||
      isRemoved(spec, libraries) ||
      stated.has(`${prefix}${name}`)
    )
      return [];
    const colon = document.text.slice(context.word.end).trimStart().startsWith(":") ? "" : ": ";
    return [
      {
        kind: "key",
        label: name,
        insertText: `${syntax === "json" ? JSON.stringify(name) : name}${colon}`,
        detail: t(analysis.locale, spec.memory ? "complete.memory" : "complete.no-memory"),
        documentation: effectOf(spec, analysis.locale),
        range: document.lines.range(context.word),
        sortText: `${spec.memory ? "0" : "1"}${name}`,
      },
    ];
  });
}

function valueCompletions(
  analysis: RunAnalysis,
  document: LoadedDocument,
  context: TypingContext,
  keys: readonly KeySpec[],
  syntax: "yaml" | "json",
): CompletionContent[] {
  const byPath = tableOf(keys).byPath;
  const path = knownParent(context.path, byPath);
  const spec = path === undefined || path === "" ? undefined : byPath.get(path);
  if (spec === undefined) return [];
  const curve = spec.name === null ? undefined : CURVES[ALIASES[spec.name] ?? spec.name];
  const listed = spec.type === "boolean" ? ["true", "false"] : (spec.values ?? []);
  const tried =
    curve === undefined || spec.type === "boolean" || spec.type === "map" ? [] : curve.values(analysis.base);
  const values = [...new Set([...tried, ...listed, ...(spec.auto === true ? ["auto"] : [])])];
  const dialect: EditDialect = syntax === "yaml" ? "pyyaml" : "json";
  return values.map((value, index) => ({
    kind: "value",
    label: value,
    insertText: spell(typed(value, spec), dialect),
    detail: curve === undefined || value === "auto" ? "" : peakOf(analysis, curve.override, overrideOf(spec, value)),
    documentation: effectOf(spec, analysis.locale),
    range: document.lines.range(context.word),
    sortText: String(index).padStart(3, "0"),
  }));
}

/** A value of the list as the key's type. */
function typed(value: string, spec: KeySpec): string | number | boolean {
  if (value === "true" || value === "false") return value === "true";
  return (spec.type === "integer" || spec.type === "number") && Number.isFinite(Number(value)) ? Number(value) : value;
}

/** The override a switch means: `bf16: true` is `compute_dtype=bf16`. */
function overrideOf(spec: KeySpec, value: string): string {
  if (spec.name === "bf16" || spec.name === "fp16") return value === "true" ? spec.name : "fp32";
  if (spec.name === "load_in_4bit") return value === "true" ? "nf4" : "none";
  if (spec.name === "load_in_8bit") return value === "true" ? "int8" : "none";
  return value;
}

function peakOf(analysis: RunAnalysis, override: string, value: string): string {
  if (analysis.base.estimate === undefined) return "";
  const { estimate, verdict } = analysis.vary({ [override]: value }, "peaks");
  if (estimate === undefined) return "";
  const fits = verdict === "does-not-fit" ? " ✗" : "";
  return `${gib(estimate.usedPeakBytes)} GiB${fits}`;
}
