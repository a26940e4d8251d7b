/**
 * All runs of the workspace with their verdicts, in the explorer. What is open is there by itself; everything else comes when a
 * person asks for a check of all, as reading a whole workspace is nothing an editor should do unasked.
 */
import * as vscode from "vscode";
import { METHODS, type StatusRun, type SummaryResult, type UriParams } from "../server/protocol";
import { labelOf } from "./documents";
import type { Session } from "./session";
import { HEAD_LINES, mayBeConfig } from "./sniff";
import { rowText, summaryText, WORST_FIRST } from "./statusText";
import { t } from "./words";

const VIEW = "vramlens.runs";
const FILES = "**/*.{yaml,yml,json,jsonc,json5,hjson,toml,py,sh,slurm,sbatch,ipynb}";
const SKIPPED = "**/{node_modules,__pycache__,dist,venv,.venv,site-packages,wandb,checkpoints}/**";
const MOST_FILES = 5000;
/** Largest file that is looked into, bytes. */
const LARGEST = 1024 * 1024;
/** Language by ending, as the cheap look knows them. */
const LANGUAGES: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  yaml: "yaml",
  yml: "yaml",
  json: "json",
  jsonc: "jsonc",
  json5: "json5",
  hjson: "hjson",
  toml: "toml",
  py: "python",
  ipynb: "python",
  sh: "shellscript",
  slurm: "shellscript",
  sbatch: "shellscript",
});

/** One run of one file. */
interface Entry {
  readonly uri: vscode.Uri;
  readonly run: StatusRun;
}

class RunsTree implements vscode.TreeDataProvider<Entry> {
  private readonly emitter = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.emitter.event;
  /** Runs by file. */
  private readonly runs = new Map<string, readonly Entry[]>();

  constructor(session: Session) {
    session.onStatus(({ uri, state, run }) => {
      const at = vscode.Uri.parse(uri);
      if (state === "ready" && run !== null && run.usedPeakBytes !== null) this.put(at, [run]);
      else if (state === "not-recognised" || state === "off") this.put(at, []);
    });
  }

  put(uri: vscode.Uri, runs: readonly StatusRun[]): void {
    if (runs.length === 0) this.runs.delete(uri.toString());
    else
      this.runs.set(
        uri.toString(),
        runs.map((run) => ({ uri, run })),
      );
    this.changed();
  }

  /** What became of each run that is shown. */
  verdicts(): readonly StatusRun["verdict"][] {
    return this.getChildren().map(({ run }) => run.verdict);
  }

  clear(): void {
    this.runs.clear();
    this.changed();
  }

  changed(): void {
    this.emitter.fire(undefined);
  }

  getChildren(entry?: Entry): Entry[] {
    if (entry !== undefined) return [];
    const rank = ({ run }: Entry) => WORST_FIRST.indexOf(run.verdict);
    return [...this.runs.values()]
      .flat()
      .sort((a, b) => rank(a) - rank(b) || (labelOf(a.uri) < labelOf(b.uri) ? -1 : 1));
  }

  getTreeItem({ uri, run }: Entry): vscode.TreeItem {
    const name = labelOf(uri);
    const { description, tooltip, label } = rowText(name, run);
    const item = new vscode.TreeItem(name, vscode.TreeItemCollapsibleState.None);
    item.description = description;
    item.tooltip = tooltip;
    item.iconPath = ICONS[run.verdict];
    item.accessibilityInformation = { label };
    item.command = { command: "vscode.open", title: name, arguments: [uri] };
    item.contextValue = "run";
    return item;
  }
}

const ICONS: Readonly<Record<StatusRun["verdict"], vscode.ThemeIcon>> = {
  "does-not-fit": new vscode.ThemeIcon("error", new vscode.ThemeColor("testing.iconFailed")),
  tight: new vscode.ThemeIcon("warning", new vscode.ThemeColor("editorWarning.foreground")),
  fits: new vscode.ThemeIcon("pass", new vscode.ThemeColor("testing.iconPassed")),
  unknown: new vscode.ThemeIcon("question"),
};

/** The view and what checks the whole workspace for it. */
export interface Runs extends vscode.Disposable {
  checkAll(): Promise<void>;
}

export function createRunsTree(session: Session): Runs {
  const tree = new RunsTree(session);
  const view = vscode.window.createTreeView(VIEW, { treeDataProvider: tree });
  /** How many files the last check of all looked at; null before one, and while one goes on. */
  let checked: number | null = null;
  // Files are opened and edited after a check: what is summed up is what the view shows.
  const summed = tree.onDidChangeTreeData(() => {
    if (checked !== null) view.message = summaryText(tree.verdicts(), checked, t);
  });
  const checkAll = async (): Promise<void> => {
    // Who asks for all wants to see them, wherever the view is folded away.
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    await vscode.window.withProgress(
      { location: { viewId: VIEW }, title: t("checkingTrainingConfigs"), cancellable: false },
      () =>
        vscode.window.withProgress(
          { location: vscode.ProgressLocation.Notification, title: t("checkingTrainingConfigs"), cancellable: true },
          async (progress, token) => {
            const files = await vscode.workspace.findFiles(FILES, SKIPPED, MOST_FILES, token);
            checked = null;
            view.message = "";
            tree.clear();
            let done = 0;
            let found = 0;
            for (const uri of files) {
              if (token.isCancellationRequested) return;
              progress.report({
                increment: 100 / files.length,
                message: t("filesChecked", ++done, files.length, found),
              });
              if (!(await isWorthIt(uri))) continue;
              const params: UriParams = { uri: uri.toString() };
              const { runs } = await session.request<SummaryResult>(METHODS.summary, params, token);
              found += runs.length;
              if (runs.length > 0) tree.put(uri, runs);
            }
            checked = files.length;
            tree.changed();
          },
        ),
    );
  };
  return {
    checkAll,
    dispose: () => {
      summed.dispose();
      view.dispose();
    },
  };
}

/** The cheap look at a file that is not open. */
async function isWorthIt(uri: vscode.Uri): Promise<boolean> {
  const languageId = LANGUAGES[uri.path.slice(uri.path.lastIndexOf(".") + 1).toLowerCase()];
  if (languageId === undefined) return false;
  const stat = await Promise.resolve(vscode.workspace.fs.stat(uri)).catch(() => undefined);
  if (stat === undefined || stat.size > LARGEST) return false;
  const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
  return mayBeConfig({ path: uri.path, languageId, head: () => text.split("\n", HEAD_LINES).join("\n") });
}
