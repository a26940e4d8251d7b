/** Inlay hints (what a key costs) and the one code lens (the document's total). Both are off by default. */

import { type CodeLens, type InlayHint, InlayHintKind, type Range } from "vscode-languageserver";
import type { ServedAnalysis } from "../analysis/analyzer";
import { runLine } from "../core/report/line";
import { gib } from "../terms/sizes";
import { comparePositions } from "./edits";
import { CLIENT_COMMANDS } from "./protocol";
import { mainRun } from "./status";
import { type Locale, type TextKey, text } from "./text";

/** Smaller parts get no hint: they would read as 0.0 GiB. Bytes. */
const SMALLEST_HINT = 0.05 * 2 ** 30;

/** Name of a component in the product's language; kinds this version does not know keep their own name. */
export function partName(locale: Locale, kind: string): string {
  const key = `part.${kind}`;
  return isPart(key) ? text(locale, key) : kind;
}

const PARTS: ReadonlySet<string> = new Set([
  "part.weights",
  "part.adapters",
  "part.gradients",
  "part.optimizer",
  "part.activations",
  "part.logits-and-loss",
  "part.temporaries",
  "part.communication",
  "part.buffers",
  "part.inputs",
]);

function isPart(key: string): key is TextKey {
  return PARTS.has(key);
}

/**
 * One hint after each key that a component of the peak is charged to. A component with several origins in the
 * document is shown once, at the first, so that the hints add up to no more than the peak.
 */
export function inlayHints(analysis: ServedAnalysis, within: Range, locale: Locale): InlayHint[] {
  const components = mainRun(analysis.runs)?.perDevice?.components ?? [];
  const at = new Map<string, { readonly range: Range; readonly parts: string[] }>();
  for (const component of components) {
    if (component.bytes < SMALLEST_HINT) continue;
    const origin = component.origins.find(({ uri }) => uri === analysis.uri);
    if (origin === undefined || !contains(within, origin.range)) continue;
    const key = JSON.stringify(origin.range.end);
    const hint = at.get(key) ?? { range: origin.range, parts: [] };
    hint.parts.push(`${partName(locale, component.kind)} ${gib(component.bytes)} GiB`);
    at.set(key, hint);
  }
  return [...at.values()].map(({ range, parts }) => ({
    position: range.end,
    label: parts.join(" + "),
    kind: InlayHintKind.Type,
    paddingLeft: true,
    tooltip: text(locale, "atPeak"),
  }));
}

function contains(outer: Range, inner: Range): boolean {
  return comparePositions(outer.start, inner.end) <= 0 && comparePositions(inner.end, outer.end) <= 0;
}

/**
 * The lens above the first line: its place never moves, only its words change. Without the panel's command it is text
 * alone.
 */
export function codeLenses(analysis: ServedAnalysis, commands: ReadonlySet<string>): CodeLens[] {
  const run = mainRun(analysis.runs);
  if (run === undefined) return [];
  const command = commands.has(CLIENT_COMMANDS.openPanel) ? CLIENT_COMMANDS.openPanel : "";
  return [
    {
      range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
      command: { title: runLine(run), command, arguments: [analysis.uri] },
    },
  ];
}
