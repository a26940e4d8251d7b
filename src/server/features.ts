/** What editors ask for by standard LSP at a place of a document: hover, completion, code actions, links, hints, lenses. */
import {
  type CodeActionContext,
  CodeActionTriggerKind,
  type Connection,
  type TextDocuments,
} from "vscode-languageserver";
import type { TextDocument } from "vscode-languageserver-textdocument";
import { NEVER } from "./analyses";
import { codeActions } from "./codeActions";
import { toCompletionItems } from "./completion";
import type { Current } from "./current";
import { SOURCE } from "./diagnostics";
import { codeLenses, inlayHints } from "./hints";
import { toHover } from "./hover";
import type { Notebooks } from "./notebooks";
import { safely } from "./safely";
import type { Session } from "./session";

/** Has the plans of a document searched once nobody types into it. */
async function searchPlans(uri: string, current: Current): Promise<void> {
  try {
    if (await current.idle(uri, NEVER)) await current.get(uri, true, NEVER);
  } catch {
    // Who asks for the plans themselves is told.
  }
}

/** Answers what is asked of open documents. */
export function registerFeatures(
  connection: Connection,
  documents: TextDocuments<TextDocument>,
  notebooks: Notebooks,
  session: Session,
  current: Current,
): void {
  connection.onHover((params, token) =>
    safely(connection.console, "hover", token, null, async () => {
      const uri = params.textDocument.uri;
      const settings = await session.settings.get(uri);
      if (!settings.enable || !settings.hover) return null;
      const analysis = await current.get(uri, false, token);
      const content = (await analysis?.hover(params.position.line, params.position.character)) ?? null;
      if (content === null) return null;
      // Whoever reads that a run does not fit asks next what would: the next hover names the best plan, the light bulb has them.
      if (content.needsPlan && content.best === undefined) void searchPlans(uri, current);
      const { markdown, locale } = session.known;
      const { commands, pictures } = session;
      const said = settings.diagnostics ? content : { ...content, saidByFinding: false };
      const owner = current.owner(uri);
      return toHover(said, { uri: owner, commands, markdown, pictures, inCell: owner !== uri, locale });
    }),
  );
  connection.onCompletion((params, token) =>
    safely(connection.console, "completion", token, [], async () => {
      const uri = params.textDocument.uri;
      if (!(await session.settings.get(uri)).enable) return [];
      const analysis = await current.get(uri, false, token);
      const found = (await analysis?.complete?.(params.position.line, params.position.character)) ?? [];
      return toCompletionItems(found, session.known.markdown);
    }),
  );
  connection.onCodeAction((params, token) =>
    safely(connection.console, "code actions", token, [], async () => {
      const document = documents.get(params.textDocument.uri) ?? notebooks.cell(params.textDocument.uri);
      // The light bulb asks at every step of the cursor: away from our findings there is nothing to look for.
      if (document === undefined || isIdleLightBulb(params.context)) return [];
      const { only, triggerKind } = params.context;
      const isLightBulb = triggerKind === CodeActionTriggerKind.Automatic && only === undefined;
      if (isLightBulb && !(await current.idle(document.uri, token))) return [];
      const analysis = await current.settled(document.uri, true, token);
      if (analysis === undefined) return [];
      const { edits, locale } = session.known;
      const lineText = (line: number) =>
        document.getText({ start: { line, character: 0 }, end: { line: line + 1, character: 0 } });
      return codeActions(
        { uri: document.uri, languageId: document.languageId, lineCount: document.lineCount, lineText },
        analysis,
        {
          range: params.range,
          diagnostics: params.context.diagnostics,
          only: params.context.only,
          commands: session.commands,
          versionOf: (uri) => current.versionOf(uri) ?? null,
          support: edits,
          locale,
        },
      );
    }),
  );
  connection.onDocumentLinks((params, token) =>
    safely(connection.console, "document links", token, [], async () => {
      const analysis = await current.settled(params.textDocument.uri, false, token);
      return ((await analysis?.links()) ?? []).map(({ range, target, tooltip }) => ({ range, target, tooltip }));
    }),
  );
  connection.languages.inlayHint.on((params, token) =>
    safely(connection.console, "inlay hints", token, [], async () => {
      const uri = params.textDocument.uri;
      if (!(await session.settings.get(uri)).inlayHints) return [];
      const analysis = await current.settled(uri, false, token);
      return analysis === undefined ? [] : inlayHints(analysis, params.range, session.known.locale);
    }),
  );
  connection.onCodeLens((params, token) =>
    safely(connection.console, "code lens", token, [], async () => {
      const uri = params.textDocument.uri;
      if (!(await session.settings.get(uri)).codeLens) return [];
      const analysis = await current.settled(uri, false, token);
      if (analysis === undefined || !current.isLensCell(uri, analysis)) return [];
      return codeLenses(analysis, session.commands);
    }),
  );
}

/** Whether the client asks on its own, for any kind of action, at a place without a finding of ours. */
function isIdleLightBulb(context: CodeActionContext): boolean {
  return (
    context.triggerKind === CodeActionTriggerKind.Automatic &&
    context.only === undefined &&
    !context.diagnostics.some(({ source }) => source === SOURCE)
  );
}
