/** Tracing a model of a file: its example inputs are looked for and shown, then it is traced, and how is kept in `.vramlens.yaml`. */
import * as vscode from "vscode";
import {
  type EditsResult,
  type KeepTraceParams,
  type KeptTraceResult,
  METHODS,
  type ReportParams,
  type ReportResult,
  type SettleParams,
  type TraceParams,
} from "../server/protocol";
import { applyEdits, dirtyDocuments, saveEdited } from "./applyEdits";
import { labelOf } from "./documents";
import { commandLine, ownClasses, type TraceGiven, traceArguments, traceSaid } from "./ownModels";
import { agreed, type Runnable, resultFile, resultText, runnable, runTask } from "./python";
import type { Session } from "./session";
import { t } from "./words";

/** Traces a class of a file: the one that is named, else one that is chosen; where it defines none, the model that it trains. */
export async function traceModel(
  context: vscode.ExtensionContext,
  session: Session,
  uri: vscode.Uri,
  wanted?: string,
): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  const names = ownClasses(document.getText()).map(({ name }) => name);
  const chosen = wanted ?? (names.length > 1 ? await vscode.window.showQuickPick(names) : names[0]);
  if (chosen === undefined && names.length > 0) return;
  const able = await runnable(uri);
  if (able === undefined) return;
  const name = chosen ?? t("modelTrains", labelOf(uri));
  const asked: TraceParams = {
    folder: able.folder.uri.toString(),
    file: able.file,
    entry: chosen ?? "",
    script: chosen === undefined,
    arguments: "",
  };
  const standsIn = asked.script && (await hasStandIn(session, uri));
  const { kept } = await session.request<KeptTraceResult>(METHODS.keptTrace, asked);
  const said = await resultFile(context, "trace.json");
  const words = (given: TraceGiven) => traceArguments(able.file, chosen ?? "", given, { said: said.fsPath });
  const title = t("trace", name);
  let given: TraceGiven = kept ?? {};
  if (chosen !== undefined && kept === null) {
    const found = await inputsFound(context, able, chosen, said, words);
    if (found === undefined) return;
    given = { inputs: found };
  } else if (!(await agreed(able, title, words(given)))) return;
  const status = await runTask(context, able, title, words(given));
  if (status !== 0) {
    if (status !== undefined) void vscode.window.showWarningMessage(t("notTraced", name));
    return;
  }
  const graph = (await read(said)).name;
  if (graph === "") return;
  const params: KeepTraceParams = { ...asked, arguments: given.arguments ?? "", name: graph };
  await write(await session.request<EditsResult>(METHODS.keepTrace, params));
  if (!standsIn) return;
  const pin: SettleParams = { uri: uri.toString(), key: "model", value: `.vramlens/graphs/${graph}.json` };
  await write(await session.request<EditsResult>(METHODS.settle, pin));
}

/** Whether a script's run has a model that is no traced one: it takes the graph only when it is told to. */
async function hasStandIn(session: Session, uri: vscode.Uri): Promise<boolean> {
  const params: ReportParams = { uri: uri.toString() };
  const result = await session.request<ReportResult | null>(METHODS.report, params);
  const model = result?.report.runs.find(({ id }) => id === result.runId)?.model ?? null;
  return model !== null && model.source !== "trace";
}

const read = async (said: vscode.Uri) => traceSaid(await resultText(said));

/** Example inputs that a look at the class finds, as the person leaves them; undefined: nothing is to be traced. */
async function inputsFound(
  context: vscode.ExtensionContext,
  able: Runnable,
  name: string,
  said: vscode.Uri,
  words: (given: TraceGiven) => readonly string[],
): Promise<string | undefined> {
  const title = t("lookExampleInputs", name);
  const list = traceArguments(able.file, name, {}, { said: said.fsPath, show: true });
  if (!(await agreed(able, title, list))) return undefined;
  const status = await runTask(context, able, title, list);
  if (status === undefined) return undefined;
  const command = (inputs: string) => commandLine(able.python, words({ inputs }));
  return vscode.window.showInputBox({
    title: t("exampleInputs", name),
    prompt: t("inputSizes"),
    placeHolder: "idx=int64[B,S] x=float[B,3,I,I]",
    value: status === 0 ? (await read(said)).inputs : "",
    ignoreFocusOut: true,
    validateInput: (inputs) =>
      inputs.trim() === ""
        ? t("noExampleInputs")
        : { message: t("enterRuns", command(inputs)), severity: vscode.InputBoxValidationSeverity.Info },
  });
}

async function write(edits: EditsResult): Promise<void> {
  const dirty = dirtyDocuments();
  if (edits.ok && (await applyEdits(edits)).ok) await saveEdited(edits, dirty);
}
