/** What a run is put beside: the same file as the last commit has it, a plan, or another config. */
import * as vscode from "vscode";
import type { ReportEdit, ReportRun } from "../core/report/schema";
import {
  type EditedParams,
  METHODS,
  type ReportParams,
  type ReportResult,
  type WhatIfResult,
} from "../server/protocol";
import { labelOf, looksLikeConfig } from "./documents";
import type { Session } from "./session";
import { t } from "./words";

/** The part of VS Code's own Git extension that is used. */
interface Repository {
  show(ref: string, path: string): Promise<string>;
}
interface Git {
  getAPI(version: 1): { getRepository(uri: vscode.Uri): Repository | null };
}

export interface Against {
  readonly label: string;
  readonly run: ReportRun;
}

interface Choice extends vscode.QuickPickItem {
  readonly make?: () => Promise<Against | { readonly message: string }>;
}

/** Asks what to compare with; undefined when the person backs out. */
export async function chooseAgainst(
  session: Session,
  uri: vscode.Uri,
  runId: string,
): Promise<Against | { readonly message: string } | undefined> {
  const own = await reportOf(session, uri);
  const plans = own?.report.runs.find(({ id }) => id === runId)?.plans ?? [];
  const others = vscode.workspace.textDocuments.filter(
    (document) => document.uri.toString() !== uri.toString() && looksLikeConfig(document),
  );
  const edited = (label: string, edits: readonly ReportEdit[]) => async () => {
    const params: EditedParams = { uri: uri.toString(), runId, edits };
    const { run } = await session.request<WhatIfResult>(METHODS.edited, params);
    return run === null ? { message: t("noRunToCompare", label) } : { label, run };
  };
  const file = (other: vscode.Uri) => async () => {
    const found = await reportOf(session, other);
    const run = found?.report.runs.find(({ id }) => id === found.runId);
    return run === undefined ? { message: t("noRunToCompare", labelOf(other)) } : { label: labelOf(other), run };
  };
  const choices: Choice[] = [
    ...(repositoryOf(uri) === undefined
      ? []
      : [{ label: t("lastCommit"), make: async () => atHead(uri, (edits) => edited("HEAD", edits)()) }]),
    ...plans.map(({ title, says, edits }) => ({ label: title, description: says, make: edited(title, edits) })),
    ...others.map((document) => ({ label: labelOf(document.uri), make: file(document.uri) })),
    { label: t("anotherFile"), alwaysShow: true },
  ];
  const picked = await vscode.window.showQuickPick(choices, { title: t("compareRun") });
  if (picked === undefined) return undefined;
  if (picked.make !== undefined) return picked.make();
  const [chosen] = (await vscode.window.showOpenDialog({ title: t("compareRun") })) ?? [];
  return chosen === undefined ? undefined : file(chosen)();
}

function reportOf(session: Session, uri: vscode.Uri): Promise<ReportResult | null> {
  const params: ReportParams = { uri: uri.toString() };
  return session.request<ReportResult | null>(METHODS.report, params);
}

function repositoryOf(uri: vscode.Uri): Repository | undefined {
  const git = vscode.extensions.getExtension<Git>("vscode.git");
  return git?.isActive === true ? (git.exports.getAPI(1).getRepository(uri) ?? undefined) : undefined;
}

/** The document as the last commit has it, as one edit of what it is now. */
async function atHead(
  uri: vscode.Uri,
  make: (edits: readonly ReportEdit[]) => Promise<Against | { readonly message: string }>,
): Promise<Against | { readonly message: string }> {
  const before = await repositoryOf(uri)
    ?.show("HEAD", uri.fsPath)
    .catch(() => undefined);
  if (before === undefined) return { message: t("notInLastCommit") };
  const document = await vscode.workspace.openTextDocument(uri);
  const end = document.lineAt(document.lineCount - 1).range.end;
  const range = { start: { line: 0, character: 0 }, end: { line: end.line, character: end.character } };
  return make([{ uri: uri.toString(), range, newText: before }]);
}
