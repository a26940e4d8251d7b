/** What a bug report needs to know: versions, place, settings, state. Never the text of a file. */
import * as vscode from "vscode";
import type { Session } from "./session";

/** Plain text for the clipboard. Paths are left out; English, as it is read by whoever fixes the bug. */
export function debugInfo(context: vscode.ExtensionContext, session: Session, uri: vscode.Uri | undefined): string {
  const manifest: { readonly version: string } = context.extension.packageJSON;
  const settings = vscode.workspace.getConfiguration("vramlens", uri ?? null);
  const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === uri?.toString());
  const status = uri && session.status(uri);
  const lines: readonly (readonly [string, unknown])[] = [
    ["VRAM Lens", manifest.version],
    ["Editor", `${vscode.env.appName} ${vscode.version} (${vscode.env.appHost}), ${vscode.env.language}`],
    ["Runs in", vscode.env.uiKind === vscode.UIKind.Web ? "browser" : "desktop"],
    ["Remote", vscode.env.remoteName ?? "no"],
    ["Trusted workspace", vscode.workspace.isTrusted],
    ["Workspace folders", vscode.workspace.workspaceFolders?.map((folder) => folder.uri.scheme).join(", ") ?? "none"],
    ["Analyzer", session.state],
    ["File", document && `${document.languageId}, ${document.lineCount} lines, ${document.uri.scheme}`],
    ["Answer", status && `${status.state}, ${status.because}, ${status.run?.verdict ?? "no run"}`],
    ["Settings", JSON.stringify(settings)],
  ];
  return `${lines.map(([name, value]) => `${name}: ${String(value ?? "none")}`).join("\n")}\n`;
}
