/**
 * Activation, the same in every extension host. `activate` itself only installs listeners and commands; the language
 * server starts when the first document that may be a training config is seen, or a command asks for it.
 */
import * as vscode from "vscode";
import { registerCommands } from "./commands";
import { CurrentDocument } from "./currentDocument";
import { looksLikeConfig } from "./documents";
import { FailureHost, failureLinks } from "./explainFailure";
import type { LocalCards } from "./localCard";
import { registerModelLenses } from "./modelLenses";
import { PanelHost } from "./panel";
import { PreviewHost } from "./preview";
import { registerRecordings } from "./recordings";
import { createRunsTree } from "./runsTree";
import { type CreateClient, Session } from "./session";
import { createStatusItem } from "./statusItem";
import { themeKind } from "./theme";
import { registerTools } from "./tools";

/** Quiet time before a document that is being typed is looked at again. */
const SNIFF_MS = 400;

let session: Session | undefined;

/** Called by the entries with the client that fits their host. */
export function activateShared(context: vscode.ExtensionContext, create: CreateClient, localCards?: LocalCards): void {
  const channel = vscode.window.createOutputChannel("VRAM Lens", { log: true });
  const started = new Session(context, channel, create);
  session = started;
  const current = new CurrentDocument();
  const previews = new PreviewHost();
  const failures = new FailureHost({ context, session: started, current, previews });
  const panel = new PanelHost(context, started, current, previews, localCards);
  const runs = createRunsTree(started);
  context.subscriptions.push(
    channel,
    started,
    current,
    previews,
    panel,
    failures,
    failureLinks(failures),
    registerRecordings(context, started, current),
    runs,
    registerCommands({ context, session: started, panel, channel, current, previews, failures, localCards, runs }),
    registerModelLenses(),
    registerTools(started),
    createStatusItem(started, current),
    startWhenNeeded(started),
    vscode.window.onDidChangeActiveColorTheme((theme) => started.themed(themeKind(theme))),
    vscode.workspace.onDidGrantWorkspaceTrust(() => started.trusted()),
    vscode.workspace.onDidCloseTextDocument((document) => started.forget(document.uri)),
    vscode.workspace.onDidCloseNotebookDocument((notebook) => started.forget(notebook.uri)),
  );
}

/** Called by the entries; resolves when the server has stopped. */
export async function deactivateShared(): Promise<void> {
  await session?.stop();
  session = undefined;
}

/** Watches documents until one of them needs the server, then stops watching. */
function startWhenNeeded(session: Session): vscode.Disposable {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (document: vscode.TextDocument) => {
    if (session.state !== "idle") return;
    if (!vscode.workspace.getConfiguration("vramlens", document.uri).get<boolean>("enable", true)) return;
    if (looksLikeConfig(document)) session.ensureStarted();
  };
  const lookAtAll = () => {
    for (const document of vscode.workspace.textDocuments) look(document);
  };
  const subscription = vscode.Disposable.from(
    vscode.workspace.onDidOpenTextDocument(look),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (session.state !== "idle") return;
      clearTimeout(timer);
      timer = setTimeout(() => look(document), SNIFF_MS);
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("vramlens.enable")) lookAtAll();
    }),
    session.onState((state) => {
      if (state === "running") subscription.dispose();
    }),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
  lookAtAll();
  return subscription;
}
