/** `.vramlens.yaml` as it is typed: what its keys mean and which come next, without a run that uses it. */

import { COMMON_SIZES } from "../../core/hardware/devices";
import { PINNED_FIELDS, pinnedFieldEffect } from "../../formats/peft";
import { keysBelow, pinChoices, readPins } from "../../formats/pins";
import { contains } from "../../syntax/text";
import type { LocatedNode } from "../../syntax/tree";
import { table } from "../../terms/table";
import type { CompletionContent, DocumentAnalysis, HoverContent } from "../analyzer";
import { siblingKeys, yamlContext } from "../complete/context";
import type { LoadedDocument } from "../documents/store";
import { deviceLabel, type Locale, messageId, t, text } from "../messages";
import { effectText } from "../messages/effects";

/** What is typed with a key that lists or names stand below. */
const OPENED: Readonly<Partial<Record<string, string>>> = table({ runs: "runs:\n  - ", traces: "traces:\n  " });

/** Path inside a run of keys from the root down: `runs` itself is left out. */
function inner(path: readonly string[]): string {
  return path[0] === "runs" ? path.slice(1).join(".") : path.join(".");
}

/** What a key says; undefined where nobody wrote that down. */
function meaningOf(path: readonly string[], locale: Locale): string | undefined {
  const field = path.at(-1) ?? "";
  if (path.includes("adapter") && field !== "adapter" && Object.hasOwn(PINNED_FIELDS, field))
    return effectText(pinnedFieldEffect(field), locale);
  const named = path[0] === "traces" ? ["traces", ...path.slice(2)].join(".") : inner(path);
  const id = messageId(`pin.${path.length === 1 ? path[0] : named}`);
  return id === undefined ? undefined : t(locale, id);
}

/** Keys and values that may be typed at an offset. */
function pinCompletions(document: LoadedDocument, offset: number, locale: Locale): CompletionContent[] {
  const context = yamlContext(document.text, offset);
  if (context === undefined) return [];
  const range = document.lines.range(context.word);
  if (context.kind === "key") {
    const stated = siblingKeys(document.text, offset);
    const names = keysBelow(context.path).filter((name) => !stated.has(name));
    const behind = document.text.slice(context.word.end, context.word.end + 40);
    return names.map((name, index) => ({
      kind: "key",
      label: name,
      insertText: /^\s*:/.test(behind) ? name : (OPENED[name] ?? `${name}: `),
      detail: "",
      documentation: meaningOf([...context.path, name], locale) ?? "",
      range,
      sortText: String(index).padStart(3, "0"),
    }));
  }
  const path = inner(context.path);
  const devices = path === "device" || path === "device.name" ? COMMON_SIZES.map(({ name }) => name) : [];
  return [...pinChoices(path), ...devices].map((value, index) => ({
    kind: "value",
    label: devices.length > 0 ? deviceLabel(value, locale) : value,
    insertText: value,
    detail: "",
    documentation: meaningOf(context.path, locale) ?? "",
    range,
    sortText: String(index).padStart(3, "0"),
  }));
}

/** Keys from the root down to the one at an offset, and where it is written. */
function keyAt(node: LocatedNode | null, offset: number): { path: string[]; start: number; end: number } | undefined {
  if (node?.kind === "list") return node.items.map((item) => keyAt(item, offset)).find((found) => found !== undefined);
  if (node?.kind !== "map") return undefined;
  for (const { key, keySpan, value } of node.entries) {
    if (contains(keySpan, offset)) return { path: [key], ...keySpan };
    const below = keyAt(value, offset);
    if (below !== undefined) return { ...below, path: [key, ...below.path] };
  }
  return undefined;
}

/** What the key at an offset means, and the words it takes. */
function pinHover(document: LoadedDocument, offset: number, locale: Locale): HoverContent | null {
  const found = keyAt(document.config?.parsed.root ?? null, offset);
  const meaning = found && meaningOf(found.path, locale);
  if (found === undefined || meaning === undefined) return null;
  const choices = pinChoices(inner(found.path));
  const words = choices.length === 0 ? "" : ` \`${choices.join("` `")}\``;
  const next = `${meaning}${words}`;
  return {
    ...{ lead: "", picture: null, table: "", breakdown: "", below: "" },
    ...{ next, markdown: next, range: document.lines.range(found), runId: "" },
    ...{ needsPlan: false, saidByFinding: false },
  };
}

/** The analysis of a pins file with its own help; what is wrong in one that no run uses is said, too. */
export function withPinsHelp(analysis: DocumentAnalysis, document: LoadedDocument, locale: Locale): DocumentAnalysis {
  const at = (line: number, character: number) => document.lines.offset(line, character);
  const alone = analysis.runs.length === 0 && document.config !== undefined;
  const problems = alone && document.config !== undefined ? readPins(document.config).problems : [];
  const errors = problems.map(({ code, message, ...span }) => ({
    uri: document.uri,
    message: text(message, locale),
    range: document.lines.range(span),
    code,
  }));
  return Object.assign(Object.create(analysis) as DocumentAnalysis, {
    report: { ...analysis.report, errors: [...analysis.report.errors, ...errors] },
    hover: async (line: number, character: number) =>
      (await analysis.hover(line, character)) ?? pinHover(document, at(line, character), locale),
    complete: async (line: number, character: number) => pinCompletions(document, at(line, character), locale),
  });
}
