/** Explaining memory that ran out: from a terminal, a log that is open, a selection, or the clipboard. */
import * as vscode from "vscode";
import { saysOutOfMemory } from "../evidence/log/failures";
import type { EvidenceToHost } from "../server/evidenceProtocol";
import { type EditsResult, type ExplainParams, type ExplainResult, METHODS } from "../server/protocol";
import { applyEdits } from "./applyEdits";
import type { CurrentDocument } from "./currentDocument";
import { labelOf, looksLikeConfig } from "./documents";
import { EvidenceView, evidenceOptions, revealSource } from "./evidenceView";
import type { PreviewHost } from "./preview";
import type { Session } from "./session";
import { t } from "./words";

/** Texts that are longer are read from their end. Characters. */
const LONGEST = 8_000_000;
/** Configs that are offered to the server. */
const MOST_CONFIGS = 8;

interface Services {
  readonly context: vscode.ExtensionContext;
  readonly session: Session;
  readonly current: CurrentDocument;
  readonly previews: PreviewHost;
}

interface Shown {
  readonly panel: vscode.WebviewPanel;
  readonly view: EvidenceView;
  result: ExplainResult;
}

/** Owns the one page of explanations. */
export class FailureHost implements vscode.Disposable {
  private shown: Shown | undefined;

  constructor(private readonly services: Services) {}

  /** Explains a text and shows what it comes to. */
  async explain(text: string, label: string): Promise<void> {
    const { session } = this.services;
    const params: ExplainParams = { text: text.slice(-LONGEST), configs: this.configs() };
    const result = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: t("explaining") },
      () => session.request<ExplainResult>(METHODS.explain, params),
    );
    if (result.explanations.length === 0) {
      void vscode.window.showInformationMessage(t("noFailureInText"));
      return;
    }
    const shown = this.shown ?? this.open();
    shown.result = result;
    shown.panel.reveal(undefined, true);
    const { explanations, locale } = result;
    shown.view.show({ type: "explanations", label, explanations, locale });
  }

  dispose(): void {
    this.shown?.panel.dispose();
  }

  /** The document at hand first, then the others that are open and look like configs. */
  private configs(): string[] {
    const open = vscode.workspace.textDocuments.filter(looksLikeConfig).map(({ uri }) => uri.toString());
    const { uri } = this.services.current;
    return [...new Set([...(uri === undefined ? [] : [uri.toString()]), ...open])].slice(0, MOST_CONFIGS);
  }

  private open(): Shown {
    const { context } = this.services;
    const title = t("outOfMemory");
    const panel = vscode.window.createWebviewPanel(
      "vramlens.failure",
      title,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { ...evidenceOptions(context), enableFindWidget: true },
    );
    panel.iconPath = vscode.Uri.joinPath(context.extensionUri, "images", "icon.png");
    const view = new EvidenceView(context, panel, title, (message) => {
      this.act(message).catch((error) => view.show({ type: "outcome", ok: false, message: String(error) }));
    });
    const shown: Shown = { panel, view, result: { explanations: [], versions: {}, locale: "en" } };
    panel.onDidDispose(() => {
      view.dispose();
      if (this.shown === shown) this.shown = undefined;
    });
    this.shown = shown;
    return shown;
  }

  private async act(message: EvidenceToHost): Promise<void> {
    const { shown } = this;
    if (shown === undefined) return;
    if (message.type === "open") {
      await vscode.window.showTextDocument(vscode.Uri.parse(message.uri), { viewColumn: vscode.ViewColumn.One });
    } else if (message.type === "source") {
      if (await revealSource(message.file, message.line)) return;
      shown.view.show({
        type: "outcome",
        ok: false,
        message: t("notInWorkspace", message.file),
      });
    } else if (message.type === "apply" || message.type === "preview") {
      const advice = shown.result.explanations[message.explanation]?.advice[message.advice];
      if (advice === undefined || advice.edits.length === 0) return;
      const { versions } = shown.result;
      const edits: EditsResult = { ok: true, title: advice.title, create: [], edits: advice.edits, versions };
      const outcome = await (message.type === "apply" ? applyEdits(edits) : this.services.previews.show(edits));
      shown.view.show({ type: "outcome", ...outcome });
    }
  }
}

/** A text to explain, and what it is called. */
interface Found {
  readonly text: string;
  readonly label: string;
}

/** What the active editor shows: its selection, else all of it. */
function inEditor(): Found | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return undefined;
  const { document, selection } = editor;
  const label = labelOf(document.uri);
  const selected = document.getText(selection);
  if (saysOutOfMemory(selected)) return { text: selected, label };
  const all = document.getText();
  return saysOutOfMemory(all) ? { text: all, label } : undefined;
}

async function inClipboard(): Promise<Found | undefined> {
  const text = await vscode.env.clipboard.readText();
  return saysOutOfMemory(text) ? { text, label: t("fromClipboard") } : undefined;
}

async function typed(): Promise<Found | undefined> {
  const text = await vscode.window.showInputBox({
    title: t("explainOutMemory"),
    prompt: t("pasteMessageTraceback"),
    placeHolder: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. …",
    ignoreFocusOut: true,
  });
  return text === undefined ? undefined : { text, label: "" };
}

/** The command: a given text, else what is selected or open, else the clipboard, else what is typed. */
export async function explainFailure(host: FailureHost, argument: unknown): Promise<void> {
  const given = typeof argument === "string" ? { text: argument, label: "" } : undefined;
  const found = given ?? inEditor() ?? (await inClipboard()) ?? (await typed());
  if (found !== undefined) await host.explain(found.text, found.label);
}

interface FailureLink extends vscode.TerminalLink {
  readonly line: string;
}

/** Characters of a message that are a link. */
const LINKED = 60;

/** Links on the lines of a terminal that say that memory ran out. Nothing of a terminal is read before one is followed. */
export function failureLinks(host: FailureHost): vscode.Disposable {
  const provider: vscode.TerminalLinkProvider<FailureLink> = {
    provideTerminalLinks: ({ line }) => {
      if (!saysOutOfMemory(line)) return [];
      const start = Math.max(0, line.search(/\S/));
      return [
        {
          startIndex: start,
          length: Math.min(LINKED, line.length - start),
          tooltip: t("explainVramLens"),
          line,
        },
      ];
    },
    handleTerminalLink: async ({ line }) => {
      const output = await lastOutput();
      await host.explain(output.includes(line.trim()) ? output : line, t("fromTerminal"));
    },
  };
  return vscode.window.registerTerminalLinkProvider(provider);
}

/** What the last command of the active terminal printed, where the shell tells; the clipboard is left as it was. */
async function lastOutput(): Promise<string> {
  const before = await vscode.env.clipboard.readText();
  try {
    await vscode.commands.executeCommand("workbench.action.terminal.copyLastCommandOutput");
    return await vscode.env.clipboard.readText();
  } catch {
    return "";
  } finally {
    await vscode.env.clipboard.writeText(before);
  }
}
