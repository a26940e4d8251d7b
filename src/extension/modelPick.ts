/** Saying which model a config trains: a folder with its config.json, or a name of the catalogue; pinned beside the config. */
import * as vscode from "vscode";
import { type EditsResult, METHODS, type ModelsResult, type SettleParams } from "../server/protocol";
import { applyEdits, dirtyDocuments, saveEdited } from "./applyEdits";
import type { Session } from "./session";
import { t } from "./words";

/** Asks for a folder and pins it, relative to the pins file's folder where it lies below. */
export async function pointToModel(session: Session, uri: vscode.Uri | undefined): Promise<void> {
  if (uri === undefined) return;
  const picked = await vscode.window.showOpenDialog({
    canSelectFolders: true,
    canSelectFiles: false,
    title: t("modelFolder"),
    openLabel: t("useModel"),
  });
  const [folder] = picked ?? [];
  if (folder === undefined) return;
  const config = vscode.Uri.joinPath(folder, "config.json");
  const found = await Promise.resolve(vscode.workspace.fs.stat(config)).catch(() => undefined);
  if (found === undefined) {
    void vscode.window.showWarningMessage(t("noModelConfig", folder.path));
    return;
  }
  await pinFor(session, uri, "model", relativeFolder(uri, folder));
}

/** `./model` for a folder below the document's own, else its whole path. */
function relativeFolder(uri: vscode.Uri, folder: vscode.Uri): string {
  const own = vscode.Uri.joinPath(uri, "..").path;
  return folder.path.startsWith(`${own}/`) ? `.${folder.path.slice(own.length)}` : folder.fsPath;
}

interface ModelChoice extends vscode.QuickPickItem {
  readonly name: string;
}

/** Asks for a name of the catalogue and pins it. */
export async function chooseModel(session: Session, uri: vscode.Uri | undefined): Promise<void> {
  if (uri === undefined) return;
  const picked = await vscode.window.showQuickPick<ModelChoice>(catalogue(session), {
    title: t("modelToTrain"),
    placeHolder: t("publishedModel"),
    matchOnDescription: true,
  });
  if (picked !== undefined) await pinFor(session, uri, "model", picked.name);
}

/** Names of the catalogue, in its order. */
async function catalogue(session: Session): Promise<ModelChoice[]> {
  const { models } = await session.request<ModelsResult>(METHODS.models, {});
  return models.map(({ name, parameters }) => {
    const billions = parameters >= 1e9 ? `${(parameters / 1e9).toFixed(1)} B` : `${(parameters / 1e6).toFixed(0)} M`;
    return { label: name, description: billions, name };
  });
}

/** Writes a pin for a document and saves it, as a file that is only written in the editor has no effect elsewhere. */
export async function pinFor(
  session: Session,
  uri: vscode.Uri | undefined,
  key: unknown,
  value: unknown,
): Promise<void> {
  if (uri === undefined || typeof key !== "string" || typeof value !== "string") return;
  const params: SettleParams = { uri: uri.toString(), key, value };
  const edits = await session.request<EditsResult>(METHODS.settle, params);
  const dirty = dirtyDocuments();
  const outcome = await applyEdits(edits);
  if (outcome.ok) await saveEdited(edits, dirty);
  else void vscode.window.showWarningMessage(outcome.message);
}
