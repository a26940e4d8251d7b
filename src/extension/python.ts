/**
 * A person's own Python, run as a task: the command is shown and asked for first, its output stands in a terminal, and the
 * notification ends it. Nothing of this is there in a workspace that is not trusted.
 */
import * as vscode from "vscode";
import type { ReportRun } from "../core/report/schema";
import {
  METHODS,
  type ReportParams,
  type ReportResult,
  type WhatIfParams,
  type WhatIfResult,
} from "../server/protocol";
import { labelOf } from "./documents";
import { besidePyTorch, checkArguments, checkSaid, commandLine, namesPlace } from "./ownModels";
import type { Session } from "./session";
import { t } from "./words";

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
  const stated = vscode.workspace.getConfiguration("vramlens", uri).get<string>("pythonPath", "").trim();
  if (stated !== "") return stated;
  const api = (await vscode.extensions.getExtension<PythonApi>(EXTENSION)?.activate())?.environments;
  const active = api?.getActiveEnvironmentPath(uri);
  const path = (await api?.resolveEnvironment?.(active))?.executable?.uri?.fsPath ?? active?.path;
  if (path !== undefined && path !== "") return path;
  return vscode.window.showInputBox({
    title: t("pythonToUse"),
    prompt: t("pythonHint"),
    value: "python3",
  });
}

/** A file of a trusted workspace's folder, and the Python that may run it. */
export interface Runnable {
  readonly folder: vscode.WorkspaceFolder;
  readonly python: string;
  /** Relative to the folder. */
  readonly file: string;
}

/** What may be run of a file; undefined where nothing may, which is said. */
export async function runnable(uri: vscode.Uri): Promise<Runnable | undefined> {
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  if (!vscode.workspace.isTrusted || folder === undefined || uri.scheme !== "file") {
    void vscode.window.showInformationMessage(t("trustedOnly"));
    return undefined;
  }
  const python = await interpreterOf(uri);
  if (python === undefined || python === "") return undefined;
  if (namesPlace(python) && !(await isThere(vscode.Uri.file(python)))) {
    void vscode.window.showWarningMessage(t("noPython", python));
    return undefined;
  }
  return { folder, python, file: vscode.workspace.asRelativePath(uri, false) };
}

function isThere(file: vscode.Uri): Thenable<boolean> {
  return vscode.workspace.fs.stat(file).then(
    () => true,
    () => false,
  );
}

/** Shows the command; whether the person asks for it to be run. */
export async function agreed({ folder, python }: Runnable, title: string, list: readonly string[]): Promise<boolean> {
  const run = t("run");
  const detail = t("importRuns", folder.uri.fsPath, commandLine(python, list));
  return (await vscode.window.showInformationMessage(title, { modal: true, detail }, run)) === run;
}

/** Runs what was agreed to. Returns the exit status; undefined: it has none. */
export async function runTask(
  context: vscode.ExtensionContext,
  { folder, python }: Runnable,
  title: string,
  list: readonly string[],
): Promise<number | undefined> {
  const path = vscode.Uri.joinPath(context.extensionUri, "python").fsPath;
  const environment = {
    PYTHONPATH: path,
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONIOENCODING: "utf-8",
    VRAM_LENS_LANGUAGE: vscode.env.language.toLowerCase().startsWith("zh") ? "zh-cn" : "en",
  };
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
      // One that could not be started has no process that ends.
      vscode.tasks.onDidEndTask((event) => {
        if (event.execution !== execution) return;
        listening.dispose();
        resolve(undefined);
      }),
      token.onCancellationRequested(() => execution.terminate()),
    );
  });
}

/** Runs a script for two steps on a device that is not there. */
export async function checkScript(context: vscode.ExtensionContext, session: Session, uri: vscode.Uri): Promise<void> {
  const able = await runnable(uri);
  const ranks = able && (await ranksOf(session, uri));
  if (able === undefined || ranks === undefined) return;
  const name = labelOf(uri);
  const title = t("checkAgainstPytorch", name);
  const said = await resultFile(context, "check.json");
  const list = checkArguments(able.file, ranks, said.fsPath);
  if (!(await agreed(able, title, list))) return;
  const status = await runTask(context, able, title, list);
  if (status === undefined) return;
  const measured = status === 0 ? checkSaid(await resultText(said)) : undefined;
  if (measured === undefined) {
    void vscode.window.showWarningMessage(t("notChecked", name));
    return;
  }
  const estimated = (await estimateOf(session, uri, ranks))?.perDevice?.allocatedPeakBytes;
  const panel = t("openPanel");
  if ((await vscode.window.showInformationMessage(besidePyTorch(name, measured, estimated, t), panel)) === panel)
    await vscode.commands.executeCommand("vramlens.openPanel", uri);
}

/** The estimate of a script's run as so many processes. */
async function estimateOf(session: Session, uri: vscode.Uri, ranks: number): Promise<ReportRun | undefined> {
  const run = await runOf(session, uri);
  if (run === undefined || run.devices.count === ranks) return run;
  const params: WhatIfParams = { uri: uri.toString(), runId: run.id, set: { world_size: String(ranks) } };
  return (await session.request<WhatIfResult>(METHODS.whatIf, params)).run ?? undefined;
}

async function runOf(session: Session, uri: vscode.Uri): Promise<ReportRun | undefined> {
  const params: ReportParams = { uri: uri.toString() };
  const result = await session.request<ReportResult | null>(METHODS.report, params);
  return result?.report.runs.find(({ id }) => id === result.runId);
}

/** A file of this extension's own that a command writes its result to. */
export async function resultFile(context: vscode.ExtensionContext, name: string): Promise<vscode.Uri> {
  await vscode.workspace.fs.createDirectory(context.globalStorageUri);
  const file = vscode.Uri.joinPath(context.globalStorageUri, name);
  await vscode.workspace.fs.delete(file).then(undefined, () => undefined); // of the time before
  return file;
}

/** What a command wrote there; empty where it wrote nothing. */
export async function resultText(file: vscode.Uri): Promise<string> {
  try {
    return Buffer.from(await vscode.workspace.fs.readFile(file)).toString("utf8");
  } catch {
    return "";
  }
}

/** As how many processes a script is to be run: asked where its run has several GPUs; undefined: it is not to be run. */
async function ranksOf(session: Session, uri: vscode.Uri): Promise<number | undefined> {
  const count = (await runOf(session, uri))?.devices.count ?? 1;
  if (count <= 1) return 1;
  const choices = [
    { label: t("firstOfProcesses", count), ranks: count },
    { label: t("oneProcess"), ranks: 1 },
  ];
  const title = t("checkAgainstPytorch", labelOf(uri));
  return (await vscode.window.showQuickPick(choices, { title }))?.ranks;
}
