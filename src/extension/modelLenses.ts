/** Lenses above classes of models: trace one, or when it was traced and what has changed since. */
import * as vscode from "vscode";
import { ownClasses, type TracedSource, tracedSources } from "./ownModels";
import { t } from "./words";

/** Minutes since a graph was written, as the lens says it. */
function ago(milliseconds: number): string {
  const minutes = Math.max(0, Math.round((Date.now() - milliseconds) / 60_000));
  if (minutes < 60) return t("minutesAgo", minutes);
  return minutes < 48 * 60 ? t("hoursAgo", Math.round(minutes / 60)) : t("daysAgo", Math.round(minutes / 1440));
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
    const trace = await this.traceOf(vscode.Uri.joinPath(folder, ".vramlens", "graphs", `${name}.json`));
    if (trace === undefined) return t("traceVramLens");
    const when = ago(trace.written);
    for (const { path, sha256 } of trace.sources) {
      if ((await sha256Of(vscode.Uri.joinPath(folder, path))) !== sha256) return t("tracedSourceChanged", when);
    }
    return t("tracedTraceAgain", when);
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
