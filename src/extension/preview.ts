/** Looking at a plan before it is written: a diff of each file it changes, with an Apply button on the diff. */
import * as vscode from "vscode";
import { withEdits } from "../core/report/apply";
import type { ReportEdit } from "../core/report/schema";
import type { EditsResult } from "../server/protocol";
import { applyEdits, type Outcome } from "./applyEdits";
import { labelOf } from "./documents";
import { t } from "./words";

/** Scheme of the texts that a preview compares. */
export const PREVIEW_SCHEME = "vramlens-preview";

/** Where the document is shown, or any other text: a preview that was asked for in the panel must not cover it. */
function columnOf(uri: vscode.Uri): vscode.ViewColumn {
  const editors = vscode.window.visibleTextEditors;
  const own = editors.find(({ document }) => document.uri.toString() === uri.toString());
  return (own ?? editors[0])?.viewColumn ?? vscode.ViewColumn.Beside;
}

/** Keeps the texts of the preview that is open, and what applying it means. */
export class PreviewHost implements vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly registration: vscode.Disposable;
  private pending: EditsResult | undefined;

  constructor() {
    this.registration = vscode.workspace.registerTextDocumentContentProvider(PREVIEW_SCHEME, {
      onDidChange: this.changed.event,
      provideTextDocumentContent: (uri) => this.texts.get(uri.toString()) ?? "",
    });
  }

  /** Opens the diffs. */
  async show(result: EditsResult): Promise<Outcome> {
    if (!result.ok) return { ok: false, message: result.message };
    this.pending = result;
    const pairs: [vscode.Uri, vscode.Uri, vscode.Uri][] = [];
    for (const [uri, edits] of byDocument(result.edits)) {
      const target = vscode.Uri.parse(uri);
      const isNew = result.create.some((created) => vscode.Uri.parse(created).toString() === target.toString());
      const before = isNew ? this.put(target, "before", "") : target;
      const text = isNew ? "" : (await vscode.workspace.openTextDocument(target)).getText();
      pairs.push([target, before, this.put(target, "after", withEdits(text, edits))]);
    }
    const [first] = pairs;
    if (first === undefined) return { ok: false, message: t("nothingWouldChange") };
    if (pairs.length === 1) {
      const title = `${labelOf(first[0])}: ${result.title}`;
      const options = { preview: true, viewColumn: columnOf(first[0]) };
      await vscode.commands.executeCommand("vscode.diff", first[1], first[2], title, options);
    } else {
      await vscode.commands.executeCommand("vscode.changes", result.title, pairs);
    }
    return { ok: true, message: t("previewOpened") };
  }

  /** Applies what is previewed and closes the preview. */
  async apply(): Promise<Outcome> {
    const result = this.pending;
    if (result === undefined) return { ok: false, message: t("noPreviewOpen") };
    const outcome = await applyEdits(result);
    if (outcome.ok) {
      this.pending = undefined;
      await closePreviews();
    }
    return outcome;
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }

  /** A document of the preview beside a real one: same name, so that its language is known. */
  private put(target: vscode.Uri, side: "before" | "after", text: string): vscode.Uri {
    const uri = target.with({ scheme: PREVIEW_SCHEME, query: `${side}&${target.scheme}` });
    this.texts.set(uri.toString(), text);
    this.changed.fire(uri);
    return uri;
  }
}

function byDocument(edits: readonly ReportEdit[]): ReadonlyMap<string, readonly ReportEdit[]> {
  const documents = new Map<string, ReportEdit[]>();
  for (const edit of edits) documents.set(edit.uri, [...(documents.get(edit.uri) ?? []), edit]);
  return documents;
}

async function closePreviews(): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(({ input }) => isPreview(input));
  await vscode.window.tabGroups.close(tabs);
}

function isPreview(input: unknown): boolean {
  return input instanceof vscode.TabInputTextDiff && input.modified.scheme === PREVIEW_SCHEME;
}
