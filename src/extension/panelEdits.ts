/** What the panel's page asks to have written: a plan, tried values, a pin, the report as a file. */
import * as vscode from "vscode";
import type { PageToHost } from "../server/panelProtocol";
import {
  type EditsResult,
  METHODS,
  type PlanEditsParams,
  type SettleParams,
  type WhatIfParams,
} from "../server/protocol";
import { bytesOf } from "../terms/base64";
import { applyEdits, dirtyDocuments, type Outcome, saveEdited } from "./applyEdits";
import { labelOf } from "./documents";
import type { PreviewHost } from "./preview";
import type { Session } from "./session";
import { t } from "./words";

/** Where edits are asked for and shown. */
interface Host {
  readonly session: Session;
  readonly previews: PreviewHost;
}

type Written = Promise<Outcome | undefined>;

async function written(
  { session, previews }: Host,
  method: string,
  params: PlanEditsParams | WhatIfParams,
  preview: boolean,
): Written {
  const result = await session.request<EditsResult>(method, params);
  return preview ? previews.show(result) : applyEdits(result);
}

export async function writePlan(
  host: Host,
  uri: vscode.Uri | undefined,
  { runId, planIndex, title }: Omit<PlanEditsParams, "uri">,
  preview: boolean,
): Written {
  if (uri === undefined) return undefined;
  return written(host, METHODS.planEdits, { uri: uri.toString(), runId, planIndex, title }, preview);
}

export async function writeTried(
  host: Host,
  uri: vscode.Uri | undefined,
  { runId, set }: Omit<WhatIfParams, "uri">,
  preview: boolean,
): Written {
  if (uri === undefined) return undefined;
  return written(host, METHODS.whatIfEdits, { uri: uri.toString(), runId, set }, preview);
}

export async function writePin(
  { session }: Host,
  uri: vscode.Uri | undefined,
  { key, value }: Omit<SettleParams, "uri">,
): Written {
  if (uri === undefined) return undefined;
  const params: SettleParams = { uri: uri.toString(), key, value };
  const result = await session.request<EditsResult>(METHODS.settle, params);
  const dirty = dirtyDocuments();
  const outcome = await applyEdits(result);
  if (outcome.ok) await saveEdited(result, dirty);
  return outcome;
}

/** Puts the report on the clipboard, or into a file that the person names. */
export async function saveReport(
  uri: vscode.Uri | undefined,
  { format, text }: Extract<PageToHost, { type: "export" }>,
): Written {
  if (format === "copy") {
    await vscode.env.clipboard.writeText(text);
    return { ok: true, message: t("copied") };
  }
  const ending = format === "markdown" ? "md" : format;
  const base = uri?.path.replace(/\.[^./]*$/, "") ?? "/report";
  const proposed = uri?.scheme === "untitled" ? undefined : uri?.with({ path: `${base}.vram.${ending}` });
  const target = await vscode.window.showSaveDialog({
    ...(proposed === undefined ? {} : { defaultUri: proposed }),
    filters: { [ending.toUpperCase()]: [ending] },
  });
  if (target === undefined) return undefined;
  const bytes = format === "png" ? bytesOf(text) : new TextEncoder().encode(text);
  await vscode.workspace.fs.writeFile(target, bytes);
  return { ok: true, message: t("saved", labelOf(target)) };
}
