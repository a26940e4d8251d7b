/**
 * A person's own Python, run as a task: the command is shown and asked for first, its output stands in a terminal, and the
 * notification ends it. Nothing of this is there in a workspace that is not trusted.
 */
import * as vscode from "vscode";
import { labelOf } from "./documents";
import {
  checkArguments,
  commandLine,
  ownClasses,
  type TracedSource,
  traceArguments,
  tracedSources,
  traceScriptArguments,
} from "./ownModels";

const EXTENSION = "ms-python.python";

/** The part of the Python extension's interface that is used (vscode-python, src/client/api/types.ts). */
interface PythonApi {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string } | undefined;
    resolveEnvironment?(
      environment: unknown,
    ): Promise<{ readonly executable?: { readonly uri?: vscode.Uri } } | undefined>;
  };
}

/** The interpreter: the setting, else the Python extension's, else what is asked for. */
async function interpreterOf(uri: vscode.Uri): Promise<string | undefined> {
  const { t } = vscode.l10n;
  const stated = vscode.workspace.getConfiguration("vramlens", uri).get<string>("pythonPath", "").trim();
  if (stated !== "") return stated;
  const api = (await vscode.extensions.getExtension<PythonApi>(EXTENSION)?.activate())?.environments;
  const active = api?.getActiveEnvironmentPath(uri);
  const path = (await api?.resolveEnvironment?.(active))?.executable?.uri?.fsPath ?? active?.path;
  if (path !== undefined && path !== "") return path;
  return vscode.window.showInputBox({
    title: t("The Python that you train with"),
    prompt: t("Its path, or a name that PATH leads to. The setting vramlens.pythonPath keeps it."),
    value: "python3",
  });
}

/** Shows the command, and runs it in the folder once it is asked for. Returns the exit status; undefined: it did not run. */
async function runShown(
  context: vscode.ExtensionContext,
  uri: vscode.Uri,
  title: string,
  words: (file: string) => readonly string[],
): Promise<number | undefined> {
  const { t } = vscode.l10n;
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  if (!vscode.workspace.isTrusted || folder === undefined || uri.scheme !== "file") {
    void vscode.window.showInformationMessage(
      t("Code is only run in a trusted workspace, from a file of one of its folders."),
    );
    return undefined;
  }
  const python = await interpreterOf(uri);
  if (python === undefined || python === "") return undefined;
  const list = words(vscode.workspace.asRelativePath(uri, false));
  const run = t("Run");
  const detail = t(
    "In {0}:\n{1}\n\nThe file is imported, which runs it.",
    folder.uri.fsPath,
    commandLine(python, list),
  );
  if ((await vscode.window.showInformationMessage(title, { modal: true, detail }, run)) !== run) return undefined;
  const path = vscode.Uri.joinPath(context.extensionUri, "python").fsPath;
  const environment = { PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: "1", PYTHONIOENCODING: "utf-8" };
  const execution = new vscode.ProcessExecution(python, [...list], { cwd: folder.uri.fsPath, env: environment });
  const task = new vscode.Task({ type: "vramlens" }, folder, title, "VRAM Lens", execution);
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Silent, clear: true };
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title, cancellable: true },
    async (_, token) => ended(await vscode.tasks.executeTask(task), token),
  );
}

/** The exit status of a task, which the token ends. */
function ended(execution: vscode.TaskExecution, token: vscode.CancellationToken): Promise<number | undefined> {
  return new Promise((resolve) => {
    const listening = vscode.Disposable.from(
      vscode.tasks.onDidEndTaskProcess((event) => {
        if (event.execution !== execution) return;
        listening.dispose();
        resolve(event.exitCode);
      }),
      token.onCancellationRequested(() => execution.terminate()),
    );
  });
}

/** Traces a class of a file: the one that is named, else one that is chosen; where it defines none, the model that it calls. */
export async function traceModel(context: vscode.ExtensionContext, uri: vscode.Uri, wanted?: string): Promise<void> {
  const { t } = vscode.l10n;
  const document = await vscode.workspace.openTextDocument(uri);
  const names = ownClasses(document.getText()).map(({ name }) => name);
  const chosen = wanted ?? (names.length > 1 ? await vscode.window.showQuickPick(names) : names[0]);
  if (chosen === undefined && names.length > 0) return;
  const name = chosen ?? t("the model that {0} trains", labelOf(uri));
  const status = await runShown(context, uri, t("Trace {0}", name), (file) =>
    chosen === undefined ? traceScriptArguments(file) : traceArguments(file, chosen),
  );
  if (status !== undefined && status !== 0)
    void vscode.window.showWarningMessage(t("{0} was not traced; the terminal says why.", name));
}

/** Runs a script for two steps on a device that is not there. */
export async function checkScript(context: vscode.ExtensionContext, uri: vscode.Uri): Promise<void> {
  const { t } = vscode.l10n;
  await runShown(context, uri, t("Check {0} against PyTorch", labelOf(uri)), checkArguments);
}

/** Minutes since a graph was written, as the lens says it. */
function ago(milliseconds: number): string {
  const minutes = Math.max(0, Math.round((Date.now() - milliseconds) / 60_000));
  const { t } = vscode.l10n;
  if (minutes < 60) return t("{0} min ago", minutes);
  return minutes < 48 * 60 ? t("{0} h ago", Math.round(minutes / 60)) : t("{0} days ago", Math.round(minutes / 1440));
}

/** The SHA-256 of a file; undefined where it cannot be read. */
async function sha256Of(uri: vscode.Uri): Promise<string | undefined> {
  try {
    const content = new Uint8Array(await vscode.workspace.fs.readFile(uri));
    return Buffer.from(await globalThis.crypto.subtle.digest("SHA-256", content)).toString("hex");
  } catch {
    return undefined;
  }
}

/** Larger graphs are not read for a lens. Bytes. */
const LARGEST_GRAPH = 24 * 1024 * 1024;

/** When a graph was written, and which files it was traced from. */
interface Trace {
  readonly written: number;
  readonly sources: readonly TracedSource[];
}

/** A lens above every class of a model: trace it, or when it was traced, and whether its source is another one by now. */
class ModelLenses implements vscode.CodeLensProvider {
  private readonly traces = new Map<string, Trace>();

  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const folder = vscode.workspace.getWorkspaceFolder(document.uri);
    const enabled = vscode.workspace.getConfiguration("vramlens", document.uri).get<boolean>("enable", true);
    if (!vscode.workspace.isTrusted || folder === undefined || !enabled) return [];
    return Promise.all(
      ownClasses(document.getText()).map(async ({ name, line }) => {
        const title = await this.title(folder.uri, name);
        const command = { title, command: "vramlens.traceModel", arguments: [document.uri, name] };
        return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), command);
      }),
    );
  }

  private async title(folder: vscode.Uri, name: string): Promise<string> {
    const { t } = vscode.l10n;
    const trace = await this.traceOf(vscode.Uri.joinPath(folder, ".vramlens", "graphs", `${name}.json`));
    if (trace === undefined) return t("Trace for VRAM Lens");
    const when = ago(trace.written);
    for (const { path, sha256 } of trace.sources) {
      if ((await sha256Of(vscode.Uri.joinPath(folder, path))) !== sha256)
        return t("Traced {0}, the source has changed since: trace again", when);
    }
    return t("Traced {0}: trace again", when);
  }

  private async traceOf(graph: vscode.Uri): Promise<Trace | undefined> {
    const key = graph.toString();
    try {
      const { mtime, size } = await vscode.workspace.fs.stat(graph);
      const known = this.traces.get(key);
      if (known?.written === mtime) return known;
      const text = size > LARGEST_GRAPH ? "" : Buffer.from(await vscode.workspace.fs.readFile(graph)).toString("utf8");
      const found = { written: mtime, sources: tracedSources(text) };
      this.traces.set(key, found);
      return found;
    } catch {
      this.traces.delete(key);
      return undefined;
    }
  }
}

/** The lenses of files on disk. */
export function registerModelLenses(): vscode.Disposable {
  return vscode.languages.registerCodeLensProvider({ language: "python", scheme: "file" }, new ModelLenses());
}
