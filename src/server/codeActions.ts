/** Quick fixes, the fix-all action of safe fixes, suppression comments, and the way to all plans. */
import { type CodeAction, CodeActionKind, type Diagnostic, type Range } from "vscode-languageserver";
import type { FixContent, ServedAnalysis } from "../analysis/analyzer";
import type { ReportEdit } from "../core/report/schema";
import { VERDICT_FINDINGS } from "../terms/verdict-findings";
import { commentPrefix } from "./comments";
import { SOURCE } from "./diagnostics";
import { comparePositions, type EditSupport, overlaps, workspaceEdit } from "./edits";
import { CLIENT_COMMANDS, FIX_ALL_KIND } from "./protocol";
import { mainRun } from "./status";
import { type Locale, text } from "./text";

/** Codes whose fixes are a choice between alternatives: never part of fix-all. */
const CHOICES = VERDICT_FINDINGS;

/** Plans in the light bulb; the panel has all of them. */
const MOST_CHOICES = 4;

/** The open document, as far as code actions need it. */
export interface ActionDocument {
  readonly uri: string;
  readonly languageId: string;
  readonly lineCount: number;
  lineText(line: number): string;
}

export interface ActionContext {
  readonly range: Range;
  /** Diagnostics the client has at the range. */
  readonly diagnostics: readonly Diagnostic[];
  /** Kinds the client asks for; undefined = all. */
  readonly only: readonly string[] | undefined;
  /** Commands the client offers. */
  readonly commands: ReadonlySet<string>;
  readonly versionOf: (uri: string) => number | null;
  readonly support: EditSupport;
  readonly locale: Locale;
}

/** Code actions at a range; the preferred fix comes first, suppressions last. */
export async function codeActions(
  document: ActionDocument,
  analysis: ServedAnalysis,
  context: ActionContext,
): Promise<CodeAction[]> {
  const actions: CodeAction[] = [];
  if (wanted(context.only, CodeActionKind.QuickFix)) {
    const own = context.diagnostics.filter((diagnostic) => diagnostic.source === SOURCE);
    actions.push(...(await quickFixes(analysis, own, context)));
    actions.push(...showPlans(analysis, own, context));
    actions.push(...nameModel(analysis, own, context));
    actions.push(...suppressions(document, own, context));
  }
  // Offered only when asked for by name (on save, or from the source menu): in the light bulb it would be noise.
  if (context.only?.some((kind) => kind === CodeActionKind.Source || FIX_ALL_KIND.startsWith(kind)) === true) {
    const action = await fixAll(document, analysis, context);
    if (action !== undefined) actions.push(action);
  }
  return actions;
}

/** Whether the client asks for a kind: kinds are hierarchical, `refactor` includes `refactor.rewrite`. */
function wanted(only: readonly string[] | undefined, kind: string): boolean {
  return only === undefined || only.some((asked) => kind === asked || kind.startsWith(`${asked}.`));
}

async function quickFixes(
  analysis: ServedAnalysis,
  own: readonly Diagnostic[],
  context: ActionContext,
): Promise<CodeAction[]> {
  let plans = 0;
  const offered = (await analysis.fixes(context.range)).filter(
    ({ code }) => !CHOICES.has(code) || ++plans <= MOST_CHOICES,
  );
  const possible = offered.filter(({ pin }) => pin === undefined || context.commands.has(CLIENT_COMMANDS.pin));
  return possible.map((fix): CodeAction => {
    const solved = own.filter((diagnostic) => diagnostic.code === fix.code);
    const { title, pin } = fix;
    if (pin !== undefined) {
      const command = { title, command: CLIENT_COMMANDS.pin, arguments: [analysis.uri, pin.key, pin.value] };
      return {
        title,
        kind: CodeActionKind.QuickFix,
        ...(fix.preferred ? { isPreferred: true } : {}),
        diagnostics: solved,
        command,
      };
    }
    return {
      title: fix.title,
      kind: CodeActionKind.QuickFix,
      ...(fix.preferred ? { isPreferred: true } : {}),
      ...(solved.length > 0 ? { diagnostics: [...solved] } : {}),
      edit: workspaceEdit(fix.edits, {
        uri: analysis.uri,
        label: fix.title,
        safe: fix.safe,
        versionOf: context.versionOf,
        support: context.support,
        locale: context.locale,
      }),
    };
  });
}

function showPlans(analysis: ServedAnalysis, own: readonly Diagnostic[], context: ActionContext): CodeAction[] {
  const at = own.filter((diagnostic) => CHOICES.has(String(diagnostic.code)));
  const plans = mainRun(analysis.runs)?.plans.length ?? 0;
  if (at.length === 0 || plans === 0 || !context.commands.has(CLIENT_COMMANDS.openPanel)) return [];
  const title = text(context.locale, "allPlans");
  const command = { title, command: CLIENT_COMMANDS.openPanel, arguments: [analysis.uri] };
  return [{ title, kind: CodeActionKind.QuickFix, diagnostics: at, command }];
}

/** Assumptions that another code than the model's own was counted (core/uncertainty/code.ts). */
const STANDS_IN: ReadonlySet<string> = new Set(["relative", "branch"]);

/** Whether the range is where a script names a model that other code stands in for. */
function namesStandIn(analysis: ServedAnalysis, range: Range): boolean {
  return analysis.runs.some(
    ({ assumptions, settings }) =>
      assumptions.some(({ id }) => STANDS_IN.has(id)) &&
      settings.some(
        ({ name, uri, range: place }) =>
          name === "model" && uri === analysis.uri && place !== undefined && meets(place, range),
      ),
  );
}

function meets(a: Range, b: Range): boolean {
  return comparePositions(a.start, b.end) <= 0 && comparePositions(b.start, a.end) <= 0;
}

/** Ways to say which model it is, where nothing readable says it; what asks for more than an edit is the client's command. */
function nameModel(analysis: ServedAnalysis, own: readonly Diagnostic[], context: ActionContext): CodeAction[] {
  const of = (code: string) => own.filter((diagnostic) => diagnostic.code === code);
  const [unknown, remote] = [of("unknown-model"), of("remote-code")];
  // The code of a script can be traced; the name in a config cannot.
  const isScript = analysis.uri.endsWith(".py");
  // A graph that was traced for other sizes than the run's is traced again.
  const other = analysis.runs.some(({ model }) => model?.source === "trace") ? of("not-modelled") : [];
  const at = [...unknown, ...remote, ...other];
  const traces = isScript && (at.length > 0 || namesStandIn(analysis, context.range));
  const ways = [
    ...(unknown.length > 0 ? (["pointToModel", "chooseModel"] as const) : []),
    ...(traces ? (["traceModel"] as const) : []),
  ] as const;
  return ways.flatMap((name): CodeAction[] => {
    if (!context.commands.has(CLIENT_COMMANDS[name])) return [];
    const title = text(context.locale, name);
    const command = { title, command: CLIENT_COMMANDS[name], arguments: [analysis.uri] };
    return [{ title, kind: CodeActionKind.QuickFix, ...(at.length > 0 ? { diagnostics: at } : {}), command }];
  });
}

/** Comments that silence a finding at its line or in the file, in the words the analysis understands. */
function suppressions(document: ActionDocument, own: readonly Diagnostic[], context: ActionContext): CodeAction[] {
  const prefix = commentPrefix(document.languageId);
  if (prefix === undefined) return [];
  const actions: CodeAction[] = [];
  const seen = new Set<string>();
  for (const diagnostic of own) {
    const code = typeof diagnostic.code === "string" ? diagnostic.code : "";
    const line = diagnostic.range.start.line;
    if (code === "" || seen.has(code) || line >= document.lineCount) continue;
    seen.add(code);
    const indent = /^[ \t]*/.exec(document.lineText(line))?.[0] ?? "";
    const insert = (at: number, newText: string): ReportEdit => ({
      uri: document.uri,
      range: { start: { line: at, character: 0 }, end: { line: at, character: 0 } },
      newText,
    });
    const offers = [
      ["disableLine", insert(line, `${indent}${prefix} vramlens-disable-next-line ${code}\n`)],
      ["disableFile", insert(firstFreeLine(document), `${prefix} vramlens-disable ${code}\n`)],
    ] as const;
    for (const [key, edit] of offers) {
      const title = text(context.locale, key, code);
      const edited = workspaceEdit([edit], {
        uri: document.uri,
        label: title,
        safe: true,
        versionOf: context.versionOf,
        support: context.support,
        locale: context.locale,
      });
      actions.push({ title, kind: CodeActionKind.QuickFix, diagnostics: [diagnostic], edit: edited });
    }
  }
  return actions;
}

/** A `#!` line and a Python encoding line have to stay first. */
function firstFreeLine(document: ActionDocument): number {
  let line = 0;
  while (line < Math.min(2, document.lineCount) && /^#!|^#.*coding[:=]/.test(document.lineText(line))) line += 1;
  return line;
}

async function fixAll(
  document: ActionDocument,
  analysis: ServedAnalysis,
  context: ActionContext,
): Promise<CodeAction | undefined> {
  const whole: Range = { start: { line: 0, character: 0 }, end: { line: document.lineCount, character: 0 } };
  const edits: ReportEdit[] = [];
  for (const fix of await analysis.fixes(whole)) {
    if (
      fix.pin !== undefined ||
      !isSafe(fix, analysis.uri) ||
      fix.edits.some((edit) => edits.some((other) => overlaps(edit, other)))
    )
      continue;
    edits.push(...fix.edits);
  }
  if (edits.length === 0) return undefined;
  edits.sort((a, b) => comparePositions(a.range.start, b.range.start));
  const title = text(context.locale, "fixAll");
  return {
    title,
    kind: FIX_ALL_KIND,
    edit: workspaceEdit(edits, {
      uri: analysis.uri,
      label: title,
      safe: true,
      versionOf: context.versionOf,
      support: context.support,
      locale: context.locale,
    }),
  };
}

function isSafe(fix: FixContent, uri: string): boolean {
  return fix.safe && fix.preferred && !CHOICES.has(fix.code) && fix.edits.every((edit) => edit.uri === uri);
}
